package sprat

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
)

// calibrationDue says that an index has enough postings for a stop rule and has
// none, or that so many of its vectors are new that its rule may be of other data.
func calibrationDue(v *version) bool {
	if v.set.Len() < 2*minFitPostings {
		return false
	}
	return v.state.Calibrated == 0 && !v.calib.Fitted || 4*v.state.Changes >= 3*max(v.state.Calibrated, 1)
}

// stepCalibrate fits the stop rules anew when that is due. It takes a pass over
// all records, so it runs beside the other steps; by hand it is a step of its own.
func (u *upkeep) stepCalibrate(ctx context.Context) (string, error) {
	if u.calibrating != nil {
		select {
		case err := <-u.calibrating:
			u.calibrating = nil
			return "calibrated", err
		default:
			return "", nil
		}
	}
	v := u.w.ix.current.Load()
	if !calibrationDue(v) {
		return "", nil
	}
	if u.manual {
		return "calibrate", u.w.ix.recalibrate(ctx)
	}
	u.calibrating = make(chan error, 1)
	done := u.calibrating
	u.done.Go(func() {
		done <- u.w.ix.recalibrate(ctx)
		u.wake()
	})
	return "calibrate", nil
}

// recalibrate fits the stop rules to a sample of the live vectors, as calibrate
// does for a bulk build: exact neighbours by a pass over all records, the postings
// that hold them by a pass over all postings, then the measured queries.
func (ix *Index) recalibrate(ctx context.Context) error {
	v := ix.acquire()
	defer v.release()
	c := &calibrator{slotOf: func(row uint64) uint32 { return uint32(row) }}
	if err := ix.sampleLive(ctx, v, c); err != nil {
		return err
	}
	if err := ix.observeLive(ctx, v, c); err != nil {
		return err
	}
	holders, err := ix.holdersOf(ctx, v, c)
	if err != nil {
		return err
	}
	cal := &calibration{Rule: defaultStopRule}
	sample := c.survey(v.set, func(row uint64) []uint32 { return holders[uint32(row)] })
	if len(sample) >= calibrationQueries/4 {
		cal.fit(sample)
		if err := cal.measure(ctx, ix, c); err != nil {
			return err
		}
	}
	return ix.writer.keepCalibration(cal, v.state)
}

// sampleLive gives the calibrator a sample of the live vectors, the same for the
// same state.
func (ix *Index) sampleLive(ctx context.Context, v *version, c *calibrator) error {
	rng := rand.New(rand.NewPCG(v.state.Seq, 2))
	var entries []posting.Entry
	seen := uint64(0)
	err := v.eachLive(func(slot uint32, gen uint8) error {
		e := posting.Entry{Slot: slot, Generation: gen}
		if seen++; len(entries) < calibrationQueries {
			entries = append(entries, e)
		} else if i := rng.Uint64N(seen); i < calibrationQueries {
			entries[i] = e
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if err != nil {
		return err
	}
	places, vectors := make([]recordPlace, len(entries)), make([][]float32, len(entries))
	for i, e := range entries {
		if places[i], err = ix.recordPlace(v, e.Slot, e.Generation); err != nil {
			return err
		}
	}
	err = ix.readSound(ctx, places, func(i int, rec *rescore.Record) {
		vectors[i] = make([]float32, ix.row.Dimension)
		rec.Vector(vectors[i])
	})
	for i, x := range vectors {
		if x != nil {
			c.rows, c.raw = append(c.rows, uint64(entries[i].Slot)), append(c.raw, x...)
		}
	}
	if err == nil {
		c.prepare(v.space, func(uint64) bool { return true })
	}
	return err
}

// readSound is readNear for those of the records that can be read; the others are
// noted as damaged.
func (ix *Index) readSound(ctx context.Context, places []recordPlace, f func(i int, rec *rescore.Record)) error {
	return ix.walkNear(ctx, places, ix.records.Bytes, func(i int, data []byte, err error) error {
		var rec rescore.Record
		if err == nil {
			rec, err = ix.decodeRecord(data, &places[i])
		}
		switch {
		case err == nil:
			f(i, &rec)
		case lasting(err):
			ix.damage.slot(places[i].slot, err)
		default:
			return err
		}
		return nil
	})
}

// eachLive calls f with every live slot, ascending.
func (v *version) eachLive(f func(slot uint32, gen uint8) error) error {
	for r := range v.runs.Len() {
		x := v.runs.At(r)
		for i := range catalog.RunSlots {
			if x.live>>i&1 != 0 {
				if err := f(uint32(r*catalog.RunSlots+i), x.gens[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// observeLive shows the calibrator every live vector. What cannot be read is left
// out.
func (ix *Index) observeLive(ctx context.Context, v *version, c *calibrator) error {
	var o observer
	var window []recordPlace
	vec, rotated, inner := make([]float32, ix.row.Dimension), make([]float32, ix.layout.D), v.space.inner()
	flush := func() error {
		err := ix.readSound(ctx, window, func(i int, rec *rescore.Record) {
			rec.Vector(vec)
			v.space.data(rotated, vec, inner)
			c.observe(&o, rotated, uint64(window[i].slot))
		})
		window = window[:0]
		return err
	}
	err := v.eachLive(func(slot uint32, gen uint8) error {
		p, err := ix.recordPlace(v, slot, gen)
		if err != nil {
			return err
		}
		if window = append(window, p); len(window) < verifyAhead {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	c.merge(&o)
	return err
}

// holdersOf finds the postings that hold the neighbours of the sample.
func (ix *Index) holdersOf(ctx context.Context, v *version, c *calibrator) (map[uint32][]uint32, error) {
	holders := map[uint32][]uint32{}
	for i := range c.best {
		for _, slot := range c.best[i].row[:c.best[i].n] {
			holders[slot] = nil
		}
	}
	note := func(id, slot uint32, gen uint8) {
		if h, wanted := holders[slot]; wanted && v.alive(slot, gen) {
			holders[slot] = append(h, id)
		}
	}
	ids := slices.DeleteFunc(v.postingIDs(), ix.damage.bad)
	err := ix.eachPostingRaw(ctx, v, ids, func(id uint32, e posting.Extent, data []byte, err error) error {
		var p posting.View
		if err == nil {
			p, err = ix.layout.Parse(data, id)
			err = posting.Located(err, ix.path(postingsFile), e.Offset())
		}
		if err != nil {
			return ix.writer.upkeep.setAside(id, err)
		}
		for i := range p.N {
			note(id, p.Slot(i), p.Generation(i))
		}
		row := v.postings.At(int(id))
		for i := range row.delta.Len() {
			note(id, row.delta.Slot(i), row.delta.Generation(i))
		}
		return nil
	})
	return holders, err
}

// keepCalibration commits a calibration that was made from the state was.
func (w *writer) keepCalibration(cal *calibration, was catalog.State) error {
	ix := w.ix
	text, err := json.Marshal(cal)
	if err != nil {
		return err
	}
	ix.store.writeMu.Lock() // the row is shared with SetDials
	defer ix.store.writeMu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	row, err := ix.store.catalog.Index(ix.row.Bucket, ix.row.Name)
	if err != nil {
		return err
	}
	row.Calibration = text
	t := w.begin()
	t.batch.PutIndex(row)
	t.calib = cal
	t.state.Calibrated = max(was.Vectors, 1)
	t.state.Changes -= min(was.Changes, t.state.Changes)
	return t.commit()
}
