package sprat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
)

// VerifyReport is what Verify found.
type VerifyReport struct {
	Index    string `json:"index"`
	Postings int    `json:"postings"` // read
	Entries  int64  `json:"entries"`  // of extents and deltas, stale ones included
	Stale    int64  `json:"stale"`    // entries of vectors that are gone
	Records  int64  `json:"records"`
	Landed   int64  `json:"landed"` // of records, not in their slots yet
	Keys     int64  `json:"keys"`
	// FilterRows counts the rows of the filter index; 0 while it is being made.
	FilterRows int64 `json:"filter_rows"`
	// Faults counts the violated invariants; Problems describes the first ones.
	Faults   int64    `json:"faults"`
	Problems []string `json:"problems,omitempty"`
	// NearestViolations is the share of vectors whose primary posting is not the
	// one with the nearest centroid. It costs recall, not correctness.
	NearestViolations float64 `json:"nearest_violations"`
	// CopiesMean is the number of live entries per vector.
	CopiesMean float64 `json:"copies_mean"`
}

// OK says that every invariant holds.
func (r *VerifyReport) OK() bool { return r.Faults == 0 }

// maxProblems bounds the descriptions in a report.
const maxProblems = 100

// Verify reads the whole index, as one moment had it, and checks its invariants:
//
//   - every posting's bytes are what was written, no two extents overlap, and its
//     centroid is the one in memory;
//   - every live slot has exactly one primary entry of its generation, no entry
//     twice in a posting, and no entry names a slot that was never given out;
//   - every live record's bytes are what was written, at home or landed, its key
//     leads to its slot and generation, and its refine record describes its vector;
//   - every key of the catalog leads to a live slot of its own, and there are as
//     many as vectors;
//   - the filter rows are those of the documents of the live slots;
//   - the index's directory holds no file that nothing names.
//
// Damage is reported, not returned; errors are the context's and those that
// keep Verify from going on. It holds 21 bytes of memory a slot. Writers may go on
// meanwhile; the space that they free is reused when Verify is done.
func (ix *Index) Verify(ctx context.Context, progress func(step string, done, total int64)) (*VerifyReport, error) {
	leave, err := ix.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	var keys *catalog.KeyCursor
	var rows *catalog.FilterCursor
	held, err := ix.together(func() (err error) {
		if keys, err = ix.store.catalog.Keys(ix.row.ID, 0, 1, nil); err == nil {
			if rows, err = ix.store.catalog.FilterRows(ix.row.ID); err != nil {
				err = errors.Join(err, keys.Close())
			}
		}
		return err
	})
	if err != nil {
		return nil, publicError(err)
	}
	defer held.release()
	slots := held.state.Slots
	v := &verifier{
		ix: ix, v: held, ctx: inBackground(ctx), progress: progress, report: VerifyReport{Index: ix.Name()},
		primary: make([]uint32, slots), lastSeen: make([]uint32, slots), keyed: make([]uint32, slots),
		filters: ix.newFilterCheck(held, rows),
	}
	err = errors.Join(v.keys(keys), keys.Close())
	for _, step := range []func() error{v.postings, v.records, v.filterRows, v.refines, v.files} {
		if err == nil {
			err = step()
		}
	}
	err = errors.Join(err, rows.Close())
	if err != nil {
		return nil, publicError(err)
	}
	if n := v.report.Records; n > 0 {
		v.report.NearestViolations = float64(v.misplaced) / float64(n)
		v.report.CopiesMean = float64(v.report.Entries-v.report.Stale) / float64(n)
	}
	return &v.report, nil
}

type verifier struct {
	ix       *Index
	v        *version
	ctx      context.Context
	progress func(string, int64, int64)
	report   VerifyReport

	primary   []uint32 // by slot: its primary posting + 1
	lastSeen  []uint32 // by slot: the last posting that named it + 1
	keyed     []uint32 // by slot: hash of the key that leads to it, never 0
	rows      map[uint32]int32
	misplaced int64
	filters   *filterCheck // nil when the filter rows are not whole
}

// filterRows checks the filter rows against the documents, which were read.
func (v *verifier) filterRows() error {
	err := v.filters.compare(v.ctx, v.v, v.fault)
	if v.filters != nil {
		v.report.FilterRows = v.filters.Rows
	}
	return err
}

func (v *verifier) fault(format string, args ...any) {
	v.report.Faults++
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, fmt.Sprintf(format, args...))
	}
}

// keys checks that every key of the catalog has a live slot of its own.
func (v *verifier) keys(cur *catalog.KeyCursor) error {
	for cur.Next() {
		v.report.Keys++
		p := cur.Placement()
		switch {
		case uint64(p.Slot) >= v.v.state.Slots:
			v.fault("key %.64q leads to slot %d of %d", cur.Key(), p.Slot, v.v.state.Slots)
		case !v.v.alive(p.Slot, p.Generation):
			v.fault("key %.64q leads to slot %d, generation %d, which is not live", cur.Key(), p.Slot, p.Generation)
		case v.keyed[p.Slot] != 0:
			v.fault("key %.64q leads to slot %d, as another key does", cur.Key(), p.Slot)
		default:
			v.keyed[p.Slot] = keyHash(cur.Key())
		}
		if err := v.ctx.Err(); err != nil {
			return err
		}
	}
	if uint64(v.report.Keys) != v.v.state.Vectors {
		v.fault("%d keys in the catalog, which counts %d vectors", v.report.Keys, v.v.state.Vectors)
	}
	return nil
}

func (v *verifier) postings() error {
	ix, ids := v.ix, v.v.postingIDs()
	if ix.centroidsFault != nil {
		v.fault("%s could not be used and was rebuilt from the postings: %v", ix.path(centroidsFile), ix.centroidsFault)
	}
	var extents []posting.Extent
	v.rows = v.centroidRows()
	err := ix.eachPostingRaw(v.ctx, v.v, ids, func(id uint32, e posting.Extent, data []byte, err error) error {
		v.report.Postings++
		v.progress("postings", int64(v.report.Postings), int64(len(ids)))
		extents = append(extents, e)
		var p posting.View
		if err == nil {
			p, err = ix.layout.Parse(data, id)
			err = posting.Located(err, ix.path(postingsFile), e.Offset())
		}
		if err != nil {
			v.fault("posting %d: %v", id, err)
			return v.ctx.Err()
		}
		if row, ok := v.rows[id]; !ok {
			v.fault("posting %d has no centroid in memory", id)
		} else if code, scale, _ := v.v.set.Code(row); string(code) != string(p.Centroid.Code) || scale != p.Centroid.Scale {
			v.fault("posting %d: its centroid differs from the one in memory", id)
		}
		v.entries(id, &p)
		return v.ctx.Err()
	})
	if err != nil {
		return err
	}
	if _, err := posting.NewAllocator(extents); err != nil {
		v.fault("extents of postings: %v", err)
	}
	if v.report.Postings != v.v.set.Len() || uint64(v.report.Postings) != v.v.state.Postings {
		v.fault("%d postings in the directory, %d centroids in memory, the catalog counts %d",
			v.report.Postings, v.v.set.Len(), v.v.state.Postings)
	}
	if uint64(v.report.Entries) != v.v.state.Entries {
		v.fault("%d posting entries, the catalog says %d", v.report.Entries, v.v.state.Entries)
	}
	return nil
}

// centroidRows are the rows of the centroid set by posting id.
func (v *verifier) centroidRows() map[uint32]int32 {
	rows := make(map[uint32]int32, v.v.set.Len())
	for row := range int32(v.v.set.Len()) {
		rows[v.v.set.ID(row)] = row
	}
	return rows
}

// entries checks the entries of a posting's extent and delta.
func (v *verifier) entries(id uint32, p *posting.View) {
	for i := range p.N {
		v.entry(id, p.Slot(i), p.Generation(i), i < p.Primaries)
	}
	row := v.v.postings.At(int(id))
	for i := range row.delta.Len() {
		v.entry(id, row.delta.Slot(i), row.delta.Generation(i), row.delta.Primary(i))
	}
}

func (v *verifier) entry(id, slot uint32, gen uint8, primary bool) {
	v.report.Entries++
	if uint64(slot) >= v.v.state.Slots {
		v.fault("posting %d names slot %d of %d", id, slot, v.v.state.Slots)
		return
	}
	if !v.v.alive(slot, gen) {
		v.report.Stale++
		return
	}
	if v.lastSeen[slot] == id+1 {
		v.fault("posting %d names slot %d twice", id, slot)
	}
	v.lastSeen[slot] = id + 1
	if !primary {
		return
	}
	if v.primary[slot] != 0 {
		v.fault("slot %d is primary in postings %d and %d", slot, v.primary[slot]-1, id)
	}
	v.primary[slot] = id + 1
}

// named says that a landing segment is one of the version's.
func (v *verifier) named(name string) bool {
	return slices.ContainsFunc(v.v.segments, func(x *segment) bool { return segmentName(x.id) == name })
}

// files checks that the index's directory holds nothing but what is named.
func (v *verifier) files() error {
	entries, err := os.ReadDir(v.ix.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == postingsFile, name == recordsFile, name == refineFile, name == centroidsFile:
		case strings.HasPrefix(name, segmentPrefix) && (v.ix.writer != nil || v.named(name)): // may be of a later version
		default:
			v.fault("%s belongs to nothing", v.ix.path(name))
		}
	}
	return nil
}
