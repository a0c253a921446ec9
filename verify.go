package sprat

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
)

// VerifyReport is what Verify found.
type VerifyReport struct {
	Index    string `json:"index"`
	Postings int    `json:"postings"` // read
	Entries  int64  `json:"entries"`
	Records  int64  `json:"records"`
	Keys     int64  `json:"keys"`
	// Faults counts the violated invariants; Problems describes the first ones.
	Faults   int64    `json:"faults"`
	Problems []string `json:"problems,omitempty"`
	// NearestViolations is the share of vectors whose primary posting is not the
	// one with the nearest centroid. It costs recall, not correctness.
	NearestViolations float64 `json:"nearest_violations"`
}

// OK says that every invariant holds.
func (r *VerifyReport) OK() bool { return r.Faults == 0 }

// maxProblems bounds the descriptions in a report.
const maxProblems = 100

// Verify reads the whole index and checks its invariants:
//
//   - every posting's bytes are what was written, and its centroid is the one in
//     memory;
//   - every live slot has exactly one primary entry and no entry twice in a
//     posting, and no entry names a slot that was never given out;
//   - every record's bytes are what was written, its key leads to its slot, and
//     its refine record describes its vector;
//   - every key of the catalog leads to a slot of its own.
//
// Damage is reported, not returned; errors are the context's and those that
// keep Verify from going on. It holds 9 bytes of memory a slot.
func (ix *Index) Verify(ctx context.Context, progress func(step string, done, total int64)) (*VerifyReport, error) {
	ix.users.RLock()
	defer ix.users.RUnlock()
	if ix.closed {
		return nil, ErrClosed
	}
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	v := &verifier{
		ix: ix, ctx: ctx, progress: progress, report: VerifyReport{Index: ix.Name()},
		primary: make([]uint32, ix.row.Slots), lastSeen: make([]uint32, ix.row.Slots),
	}
	for _, step := range []func() error{v.postings, v.records, v.refines, v.keys} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if n := v.report.Records; n > 0 {
		v.report.NearestViolations = float64(v.misplaced) / float64(n)
	}
	return &v.report, nil
}

type verifier struct {
	ix       *Index
	ctx      context.Context
	progress func(string, int64, int64)
	report   VerifyReport

	primary   []uint32 // by slot: its primary posting + 1
	lastSeen  []uint32 // by slot: the last posting that named it + 1
	misplaced int64
}

func (v *verifier) fault(format string, args ...any) {
	v.report.Faults++
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, fmt.Sprintf(format, args...))
	}
}

func (v *verifier) postings() error {
	ix, total := v.ix, int64(v.ix.directory.Len())
	if ix.centroidsFault != nil {
		v.fault("%s could not be used and was rebuilt from the postings: %v", ix.path(centroidsFile), ix.centroidsFault)
	}
	err := ix.eachPostingRaw(func(id uint32, e posting.Extent, data []byte, err error) error {
		v.report.Postings++
		v.progress("postings", int64(v.report.Postings), total)
		var p posting.View
		if err == nil {
			p, err = ix.layout.Parse(data, id)
			err = posting.Located(err, ix.path(postingsFile), e.Offset())
		}
		if err != nil {
			v.fault("posting %d: %v", id, err)
			return v.ctx.Err()
		}
		row, ok := ix.centroids.Row(id)
		if !ok {
			v.fault("posting %d has no centroid in memory", id)
		} else if code, scale, _ := ix.centroids.Code(row); string(code) != string(p.Centroid.Code) || scale != p.Centroid.Scale {
			v.fault("posting %d: its centroid differs from the one in memory", id)
		}
		v.entries(id, &p)
		return v.ctx.Err()
	})
	if err != nil {
		return err
	}
	if v.report.Postings != ix.centroids.Len() {
		v.fault("%d postings in the directory, %d centroids in memory", v.report.Postings, ix.centroids.Len())
	}
	if uint64(v.report.Entries) != ix.row.Entries {
		v.fault("%d posting entries, the catalog says %d", v.report.Entries, ix.row.Entries)
	}
	return nil
}

func (v *verifier) entries(id uint32, p *posting.View) {
	for i := range p.N {
		v.report.Entries++
		slot := p.Slot(i)
		if uint64(slot) >= v.ix.row.Slots {
			v.fault("posting %d names slot %d of %d", id, slot, v.ix.row.Slots)
			continue
		}
		if v.lastSeen[slot] == id+1 {
			v.fault("posting %d names slot %d twice", id, slot)
		}
		v.lastSeen[slot] = id + 1
		if i >= p.Primaries {
			continue
		}
		if v.primary[slot] != 0 {
			v.fault("slot %d is primary in postings %d and %d", slot, v.primary[slot]-1, id)
		}
		v.primary[slot] = id + 1
	}
}

func (v *verifier) records() error {
	ix := v.ix
	vec, inner, rotated := make([]float32, ix.row.Dimension), ix.space.inner(), make([]float32, ix.space.d())
	var q rq.Query
	var ws centroids.Workspace
	var near []centroids.Neighbor
	return ix.eachRecordRun(ix.recordsFile, ix.records.Stride, func(r recordRun, err error) error {
		v.progress("records", int64(r.end), int64(ix.row.Slots))
		if err != nil {
			v.fault("records of slots %d-%d: %v", r.first, r.end-1, err)
			return v.ctx.Err()
		}
		for slot := r.first; slot < r.end; slot++ {
			off := ix.records.Offset(slot)
			rec, err := ix.records.Decode(r.data[off-r.off:], slot)
			if err != nil {
				v.fault("%v", rescore.Located(err, ix.path(recordsFile), off))
				continue
			}
			v.report.Records++
			if err := v.key(slot, &rec); err != nil {
				return err
			}
			rec.Vector(vec)
			ix.space.data(rotated, vec, inner)
			q.Reset(rotated)
			near = ix.centroids.Nearest(near, &q, 4, &ws)
			v.place(slot, near)
		}
		return v.ctx.Err()
	})
}

// place checks the primary posting of a slot against its nearest centroids.
func (v *verifier) place(slot uint32, near []centroids.Neighbor) {
	p := v.primary[slot]
	if p == 0 {
		v.fault("slot %d is in no posting as primary", slot)
		return
	}
	for _, n := range near {
		// Equal centroids share their members, and distances are rounded.
		if n.DistSq <= near[0].DistSq*(1+1e-3) && n.ID == p-1 {
			return
		}
	}
	v.misplaced++
}

// key checks that the key of a record leads to its slot.
func (v *verifier) key(slot uint32, rec *rescore.Record) error {
	key := rec.Key
	if rec.KeyElsewhere {
		var err error
		if key, err = v.ix.store.catalog.LongKey(v.ix.row.ID, slot); errors.Is(err, catalog.ErrNotFound) {
			v.fault("the key of slot %d is missing from the catalog", slot)
			return nil
		} else if err != nil {
			return err
		}
	}
	if rec.MetaElsewhere {
		if _, err := v.ix.store.catalog.LongMetadata(v.ix.row.ID, slot); errors.Is(err, catalog.ErrNotFound) {
			v.fault("the metadata of slot %d is missing from the catalog", slot)
		} else if err != nil {
			return err
		}
	}
	p, err := v.ix.store.catalog.Placement(v.ix.row.ID, key)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		v.fault("key %q of slot %d is missing from the catalog", key, slot)
	case err != nil:
		return err
	case p.Slot != slot:
		v.fault("key %q leads to slot %d, its record is in slot %d", key, p.Slot, slot)
	}
	return nil
}

// refines checks the bytes of every refine record.
func (v *verifier) refines() error {
	ix := v.ix
	if ix.refine == nil {
		return nil
	}
	var refiner rescore.Refiner
	var q rq.Query
	q.Reset(make([]float32, ix.space.d()))
	return ix.eachRecordRun(ix.refineFile, ix.refine.Stride, func(r recordRun, err error) error {
		v.progress("refine records", int64(r.end), int64(ix.row.Slots))
		if err != nil {
			v.fault("refine records of slots %d-%d: %v", r.first, r.end-1, err)
			return v.ctx.Err()
		}
		for slot := r.first; slot < r.end; slot++ {
			off := ix.refine.Offset(slot)
			est, _, err := refiner.Estimate(ix.refine, r.data[off-r.off:], slot, &q)
			if err != nil {
				v.fault("%v", rescore.Located(err, ix.path(refineFile), off))
			} else if math.IsNaN(float64(est)) || math.IsInf(float64(est), 0) {
				v.fault("refine record of slot %d: length² %v", slot, est)
			}
		}
		return v.ctx.Err()
	})
}

// keys checks that every key of the catalog has a slot of its own.
func (v *verifier) keys() error {
	seen := make([]bool, v.ix.row.Slots)
	err := v.ix.store.catalog.Placements(v.ix.row.ID, func(key []byte, p catalog.Placement) error {
		v.report.Keys++
		switch {
		case uint64(p.Slot) >= v.ix.row.Slots:
			v.fault("key %q leads to slot %d of %d", key, p.Slot, v.ix.row.Slots)
		case seen[p.Slot]:
			v.fault("key %q leads to slot %d, as another key does", key, p.Slot)
		default:
			seen[p.Slot] = true
		}
		return v.ctx.Err()
	})
	if err == nil && uint64(v.report.Keys) != v.ix.row.Vectors {
		v.fault("%d keys in the catalog, which counts %d vectors", v.report.Keys, v.ix.row.Vectors)
	}
	return err
}
