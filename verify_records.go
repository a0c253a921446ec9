package sprat

import (
	"errors"
	"hash/crc32"
	"math"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

// verifyAhead is how many records Verify reads together.
const verifyAhead = 1024

// live calls f with the places of all live records, in the order of their slots,
// a window at a time.
func (v *verifier) live(step string, f func(places []recordPlace) error) error {
	var window []recordPlace
	flush := func(at int) error {
		v.progress(step, int64(at)*catalog.RunSlots, int64(v.v.state.Slots))
		err := f(window)
		window = window[:0]
		return errors.Join(err, v.ctx.Err())
	}
	for r := range v.v.runs.Len() {
		x := v.v.runs.At(r)
		for i := range catalog.RunSlots {
			if x.live>>i&1 == 0 {
				continue
			}
			p, err := v.ix.recordPlace(v.v, uint32(r*catalog.RunSlots+i), x.gens[i])
			if err != nil {
				v.fault("%v", err)
				v.filters.unread(uint32(r*catalog.RunSlots + i))
				continue
			}
			window = append(window, p)
		}
		if len(window) >= verifyAhead {
			if err := flush(r); err != nil {
				return err
			}
		}
	}
	return flush(v.v.runs.Len())
}

// records checks the vector record of every live slot.
func (v *verifier) records() error {
	ix := v.ix
	vec, inner, rotated := make([]float32, ix.row.Dimension), v.v.space.inner(), make([]float32, ix.layout.D)
	var q rq.Query
	var ws centroids.Workspace
	var near []centroids.Neighbor
	center := make([]float32, ix.layout.D)
	return v.live("records", func(places []recordPlace) error {
		return ix.walkNear(v.ctx, places, ix.records.Bytes, func(i int, data []byte, err error) error {
			p := &places[i]
			var rec rescore.Record
			if err == nil {
				rec, err = ix.decodeRecord(data, p)
			}
			if err != nil {
				v.fault("record of slot %d: %v", p.slot, err)
				v.filters.unread(p.slot)
				return v.ctx.Err()
			}
			v.report.Records++
			if p.file != ix.recordsFile {
				v.report.Landed++
			}
			if err := v.record(p, &rec); err != nil {
				return err
			}
			rec.Vector(vec)
			v.v.space.data(rotated, vec, inner)
			q.Reset(rotated)
			near = v.v.set.Nearest(near, &q, 1, &ws)
			v.place(p.slot, rotated, near, center)
			return v.ctx.Err()
		})
	})
}

// place checks the primary posting of a slot against the nearest centroid.
func (v *verifier) place(slot uint32, rotated []float32, near []centroids.Neighbor, center []float32) {
	p := v.primary[slot]
	if p == 0 {
		v.fault("slot %d is in no posting as primary", slot)
		return
	}
	if len(near) == 0 || near[0].ID == p-1 {
		return
	}
	// Equal centroids share their members, and distances are rounded.
	v.v.set.Decode(near[0].Row, center)
	least := simd.L2F32(rotated, center)
	v.v.set.Decode(v.rows[p-1], center)
	if simd.L2F32(rotated, center) > least*(1+1e-3) {
		v.misplaced++
	}
}

// keyHash tells keys apart well enough to notice a record of another key.
func keyHash(key []byte) uint32 { return crc32.Checksum(key, castagnoli) | 1 }

// record checks that the key of a record leads to its slot, and that what did not
// fit into it is there.
func (v *verifier) record(p *recordPlace, rec *rescore.Record) error {
	key, err := v.ix.wholeKey(rec, p.slot)
	doc := rec.Metadata
	if err == nil && rec.MetaElsewhere {
		doc, err = v.ix.wholeMetadata(rec, p.slot)
	}
	if v.filters.document(p.slot, doc); err != nil {
		v.filters.unread(p.slot)
	}
	switch {
	case errors.Is(err, ErrCorrupt):
		v.fault("%v", err)
	case err != nil:
		return err
	case v.keyed[p.slot] == 0:
		v.fault("no key leads to slot %d, which holds key %.64q", p.slot, key)
	case v.keyed[p.slot] != keyHash(key):
		v.fault("the key that leads to slot %d is not %.64q, as its record says", p.slot, key)
	}
	return nil
}

// refines checks the refine record of every live slot.
func (v *verifier) refines() error {
	ix := v.ix
	if ix.refine == nil {
		return nil
	}
	var refiner rescore.Refiner
	var q rq.Query
	q.Reset(make([]float32, ix.layout.D))
	return v.live("refine records", func(places []recordPlace) error {
		ix.toRefines(places)
		return ix.walkNear(v.ctx, places, ix.refine.Bytes, func(i int, data []byte, err error) error {
			p := &places[i]
			var est float32
			if err == nil {
				est, _, err = refiner.Estimate(ix.refine, data, p.slot, &q)
				err = rescore.Located(err, p.file.Path(), p.off)
			}
			if err != nil {
				v.fault("refine record of slot %d: %v", p.slot, err)
			} else if math.IsNaN(float64(est)) || math.IsInf(float64(est), 0) {
				v.fault("refine record of slot %d: length² %v", p.slot, est)
			}
			return v.ctx.Err()
		})
	})
}

// toRefines makes the places of refine records of those of vector records.
func (ix *Index) toRefines(places []recordPlace) {
	for i := range places {
		p := &places[i]
		if p.file == ix.recordsFile {
			p.file, p.off = ix.refineFile, ix.refine.Offset(p.slot)
			continue
		}
		p.off += int64(ix.records.Bytes)
		if p.mem != nil {
			p.mem = p.mem[ix.records.Bytes:]
		}
	}
}
