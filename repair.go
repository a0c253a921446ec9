package sprat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
)

// RepairReport is what Repair did.
type RepairReport struct {
	Index string `json:"index"`
	// Dropped counts the postings that could not be read and were removed; their
	// vectors are among the re-placed.
	Dropped int `json:"dropped_postings"`
	// Replaced counts the vectors that were placed anew from their records.
	Replaced int `json:"replaced"`
	// Lost counts the vectors whose records could not be read: their keys are
	// gone from the index, and LostKeys names the first of them.
	Lost     int      `json:"lost"`
	LostKeys []string `json:"lost_keys,omitempty"`
	// Orphans counts live slots that no key led to; they are free again.
	Orphans int `json:"orphans"`
	// Fixed describes what else was put right.
	Fixed []string `json:"fixed,omitempty"`
}

// Changed says that anything was wrong.
func (r *RepairReport) Changed() bool {
	return r.Dropped+r.Replaced+r.Lost+r.Orphans+len(r.Fixed) > 0
}

// maxLostKeys bounds the keys that a report names.
const maxLostKeys = 1000

// Repair puts an index right, as far as its bytes allow: postings that cannot be
// read are dropped and their vectors placed anew from their records; so are
// vectors that no posting holds, or whose refine record is damaged. A vector whose
// record cannot be read is lost: its key is removed, and the report says so. An
// index that could not be opened is opened without what is damaged in the catalog's
// rows and file headers first. What is sound is not touched. Errors: ErrNotFound,
// ErrClosed, the context's, and those of the volume; a damaged catalog database is
// beyond Repair.
func (s *Store) Repair(ctx context.Context, bucket, name string) (*RepairReport, error) {
	if s.opts.ReadOnly {
		return nil, invalid("store", "a store opened for writing", "a read-only one")
	}
	report := &RepairReport{Index: fullName(bucket, name)}
	ix, err := s.Index(bucket, name)
	if errors.Is(err, ErrCorrupt) {
		ix, err = s.reopenLeniently(bucket, name, report)
	}
	if err != nil {
		return nil, err
	}
	leave, err := ix.changeable()
	if err != nil {
		return nil, err
	}
	defer leave()
	u := ix.writer.upkeep
	u.stepping.Lock() // maintenance would meet the same damage
	defer u.stepping.Unlock()
	r := &repair{ix: ix, ctx: inBackground(ctx), report: report}
	if err := r.run(); err != nil {
		return report, publicError(err)
	}
	return report, nil
}

// repair is one run of Repair.
type repair struct {
	ix     *Index
	ctx    context.Context
	report *RepairReport
	v      *version

	primaries []uint8 // by slot: live primary entries
	copies    []uint8 // by slot: live entries
	keyed     []bool  // by slot: a key leads to it
	wrong     map[uint32]bool
	lost      map[uint32]bool
	broken    []uint32 // postings that cannot be read
	deadKeys  []string // keys that lead to no live slot
}

func (r *repair) run() error {
	r.v = r.ix.acquire()
	defer r.v.release()
	slots := r.v.state.Slots
	r.primaries, r.copies, r.keyed = make([]uint8, slots), make([]uint8, slots), make([]bool, slots)
	r.wrong, r.lost = map[uint32]bool{}, map[uint32]bool{}
	for _, step := range []func() error{r.readPostings, r.readKeys, r.readRecords, r.readRefines, r.remove, r.replace, r.recount, r.repairFilters} {
		if err := step(); err != nil {
			return err
		}
	}
	if f := r.ix.centroidsFault; f != nil {
		r.fixed("the centroids file was made again: %v", f)
		r.ix.centroidsFault = nil
		set := r.ix.current.Load().set
		if err := r.ix.saveCentroids(set); err != nil {
			return err
		}
	}
	r.ix.damage.reset()
	return nil
}

func (r *repair) fixed(format string, args ...any) {
	r.report.Fixed = append(r.report.Fixed, fmt.Sprintf(format, args...))
}

// readPostings counts the entries of every live slot in postings that can be read.
func (r *repair) readPostings() error {
	ix := r.ix
	return ix.eachPostingRaw(r.ctx, r.v, r.v.postingIDs(), func(id uint32, e posting.Extent, data []byte, err error) error {
		var p posting.View
		if err == nil {
			p, err = ix.layout.Parse(data, id)
		}
		if err != nil {
			r.broken = append(r.broken, id)
			return r.ctx.Err()
		}
		for i := range p.N {
			r.entry(p.Slot(i), p.Generation(i), i < p.Primaries)
		}
		row := r.v.postings.At(int(id))
		for i := range row.delta.Len() {
			r.entry(row.delta.Slot(i), row.delta.Generation(i), row.delta.Primary(i))
		}
		return r.ctx.Err()
	})
}

func (r *repair) entry(slot uint32, gen uint8, primary bool) {
	if uint64(slot) >= r.v.state.Slots || !r.v.alive(slot, gen) {
		return
	}
	if r.copies[slot]++; primary {
		r.primaries[slot]++
	}
}

// readKeys finds the keys that lead nowhere.
func (r *repair) readKeys() error {
	return r.ix.store.catalog.Placements(r.ix.row.ID, func(key []byte, p catalog.Placement) error {
		if uint64(p.Slot) >= r.v.state.Slots || !r.v.alive(p.Slot, p.Generation) || r.keyed[p.Slot] {
			r.deadKeys = append(r.deadKeys, string(key))
			return r.ctx.Err()
		}
		r.keyed[p.Slot] = true
		return r.ctx.Err()
	})
}

// readRecords finds the live slots whose records are lost, and those that are not
// in as many postings as they should be.
func (r *repair) readRecords() error {
	ix := r.ix
	// Fewer than half of its copies, and a vector is hard to find.
	least := uint8(min(ix.row.Copies, r.v.set.Len()-len(r.broken)) / 2)
	return r.windows(func(places []recordPlace) error {
		return ix.walkNear(r.ctx, places, ix.records.Bytes, func(i int, data []byte, err error) error {
			p := &places[i]
			if err == nil {
				_, err = ix.decodeRecord(data, p)
			}
			switch slot := p.slot; {
			case err != nil && !lasting(err):
				return err
			case err != nil:
				r.lost[slot] = true
			case r.primaries[slot] != 1 || r.copies[slot] < least:
				r.wrong[slot] = true
			}
			return r.ctx.Err()
		})
	})
}

// readRefines finds the live slots whose refine records are damaged.
func (r *repair) readRefines() error {
	ix := r.ix
	if ix.refine == nil {
		return nil
	}
	var refiner rescore.Refiner
	var q rq.Query
	q.Reset(make([]float32, ix.layout.D))
	return r.windows(func(places []recordPlace) error {
		ix.toRefines(places)
		return ix.walkNear(r.ctx, places, ix.refine.Bytes, func(i int, data []byte, err error) error {
			if err == nil {
				_, _, err = refiner.Estimate(ix.refine, data, places[i].slot, &q)
			}
			if err != nil && !lasting(err) {
				return err
			}
			if err != nil {
				r.wrong[places[i].slot] = true
			}
			return r.ctx.Err()
		})
	})
}

// windows calls f with the places of all live records, some at a time. A slot
// whose landing segment is missing is lost.
func (r *repair) windows(f func([]recordPlace) error) error {
	var window []recordPlace
	err := r.v.eachLive(func(slot uint32, gen uint8) error {
		p, err := r.ix.recordPlace(r.v, slot, gen)
		if err != nil {
			r.lost[slot] = true
			return nil
		}
		if window = append(window, p); len(window) < verifyAhead {
			return nil
		}
		err = f(window)
		window = window[:0]
		return err
	})
	if err == nil {
		err = f(window)
	}
	return err
}

// remove takes out what cannot be put right: broken postings, keys that lead
// nowhere, lost vectors and slots that nothing leads to.
func (r *repair) remove() error {
	keys := r.deadKeys
	err := r.ix.store.catalog.Placements(r.ix.row.ID, func(key []byte, p catalog.Placement) error {
		if uint64(p.Slot) < r.v.state.Slots && r.lost[p.Slot] && r.v.alive(p.Slot, p.Generation) {
			keys = append(keys, string(key))
		}
		return r.ctx.Err()
	})
	if err != nil {
		return err
	}
	r.report.Lost = len(keys)
	r.report.LostKeys = slices.Clone(keys[:min(len(keys), maxLostKeys)])
	r.report.Dropped = len(r.broken)
	w := r.ix.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	for _, key := range keys {
		// A writer may have put the key anew since it was found.
		now, err := r.ix.store.catalog.Placement(r.ix.row.ID, []byte(key))
		if err == nil && !(t.base.alive(now.Slot, now.Generation) && !r.lost[now.Slot]) {
			t.batch.DeleteKey(r.ix.row.ID, []byte(key))
		}
	}
	for slot := range r.lost {
		was, _ := r.v.generation(slot)
		if now, live := t.base.generation(slot); live && now == was {
			t.kill(slot)
			t.filterLoss(slot)
		}
	}
	err = r.v.eachLive(func(slot uint32, gen uint8) error {
		if now, live := t.base.generation(slot); !r.keyed[slot] && !r.lost[slot] && live && now == gen {
			t.kill(slot)
			t.filterLoss(slot)
			r.report.Orphans++
			delete(r.wrong, slot)
		}
		return nil
	})
	for _, id := range r.broken {
		if p := t.postings.At(int(id)); p.exists() {
			t.drop(id, &p)
		}
	}
	if err == nil && len(r.broken) > 0 {
		t.set, err = t.set.With(nil, r.broken...)
	}
	if err != nil {
		return t.undo(err)
	}
	return t.commit()
}

// replace places anew what postings do not hold as they should.
func (r *repair) replace() error {
	slots := make([]uint32, 0, len(r.wrong))
	for slot := range r.wrong {
		if !r.lost[slot] {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	r.report.Replaced = len(slots)
	for len(slots) > 0 {
		n := min(directBatch, len(slots))
		entries := make([]posting.Entry, n)
		for i, slot := range slots[:n] {
			gen, _ := r.v.generation(slot)
			entries[i] = posting.Entry{Slot: slot, Generation: gen}
		}
		members, _, err := r.ix.readMembers(r.ctx, r.v, entries)
		if err != nil {
			return err
		}
		if err := r.ix.writer.upkeep.replace(r.ctx, members, request{direct: true}); err != nil {
			return err
		}
		slots = slots[n:]
	}
	return nil
}

// recount puts the counters of the index right.
func (r *repair) recount() error {
	w := r.ix.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	var vectors, entries, postings uint64
	for id := range t.postings.Len() {
		if p := t.postings.At(id); p.exists() {
			postings++
			entries += uint64(w.ix.extentEntries(p.extent) + p.delta.Len())
		}
	}
	err := w.ix.current.Load().eachLive(func(uint32, uint8) error { vectors++; return nil })
	s := &t.state
	if err != nil || s.Vectors == vectors && s.Entries == entries && s.Postings == postings {
		return t.undo(err)
	}
	r.fixed("counters: %d vectors, %d entries, %d postings; they said %d, %d, %d", vectors, entries, postings, s.Vectors, s.Entries, s.Postings)
	s.Vectors, s.Entries, s.Postings = vectors, entries, postings
	return t.commit()
}
