package sprat

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/posting/lire"
	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

// member is a live entry with all that is known of its vector.
type member struct {
	entry    posting.Entry
	key      []byte // nil when it is in the catalog
	metadata []byte
	metaFar  bool      // the metadata is in the catalog
	vector   []float32 // as given
}

// cutting is a posting that is being divided.
type cutting struct {
	members []member
	lire    lire.Members
	parts   []lire.Part
	ids     []uint32 // of the children
}

// readMembers reads the vector records of entries, neighbours on the volume
// together, and fills in members and their rotated vectors.
func (ix *Index) readMembers(ctx context.Context, v *version, entries []posting.Entry) ([]member, lire.Members, error) {
	places := make([]recordPlace, len(entries))
	for i := range entries {
		var err error
		if places[i], err = ix.recordPlace(v, entries[i].Slot, entries[i].Generation); err != nil {
			return nil, lire.Members{}, err
		}
	}
	dim, d := ix.row.Dimension, ix.layout.D
	raw := make([]float32, len(entries)*dim)
	m := lire.Members{D: d, Vectors: make([]float32, len(entries)*d), Primary: make([]bool, len(entries))}
	out, inner := make([]member, len(entries)), v.space.inner()
	err := ix.readNear(ctx, places, func(i int, rec *rescore.Record) error {
		x := &out[i]
		*x = member{entry: entries[i], vector: raw[i*dim : (i+1)*dim], metaFar: rec.MetaElsewhere}
		rec.Vector(x.vector)
		if !rec.KeyElsewhere {
			x.key = slices.Clone(rec.Key)
		}
		x.metadata = slices.Clone(rec.Metadata)
		v.space.data(m.Vectors[i*d:(i+1)*d], x.vector, inner)
		m.Primary[i] = x.entry.Primary
		runtime.Gosched() // as prepare does
		return nil
	})
	return out, m, err
}

// prepareCut reads the members of a posting and divides them.
func (r *round) prepareCut(ctx context.Context, j *job) error {
	ix := r.u.w.ix
	c := &cutting{}
	var err error
	if c.members, c.lire, err = ix.readMembers(ctx, r.v, j.live); err != nil {
		return err
	}
	leave, err := ix.store.compute.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	c.parts, err = lire.Cut(ctx, c.lire, ix.row.CentroidBits, ix.limits, ix.row.RotationSeed+uint64(j.id))
	if err != nil {
		return err
	}
	c.ids = r.u.w.reserve(len(c.parts))
	j.cut = c
	return nil
}

// reserve gives out posting ids. Those of a change that is not made are lost.
func (w *writer) reserve(n int) []uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := max(w.reserved, w.ix.current.Load().state.NextPosting)
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = next + uint32(i)
	}
	w.reserved = next + uint32(n)
	return ids
}

// writeChildren encodes each part's members against its centroid and writes its
// extent.
func (r *round) writeChildren(b *posting.Builder, j *job) error {
	ix, c, d := r.u.w.ix, j.cut, r.u.w.ix.layout.D
	coder, size := ix.layout.Coder(), ix.layout.CodeSize()
	var ws rq.Workspace
	for k, part := range c.parts {
		entries, codes := make([]posting.Entry, len(part.Members)), make([]byte, len(part.Members)*size)
		for i, m := range part.Members {
			e := c.members[m].entry
			e.Code = codes[i*size : (i+1)*size]
			e.Factors = coder.Encode(e.Code, c.lire.Vectors[m*d:(m+1)*d], part.Decoded, &ws)
			entries[i] = e
			runtime.Gosched() // as prepare does
		}
		if err := r.writeExtent(b, j, c.ids[k], part.Centroid, entries); err != nil {
			return err
		}
	}
	return nil
}

// newCentroids is an empty builder of the index's geometry.
func newCentroids(ix *Index) *centroids.Builder {
	b, err := centroids.NewBuilder(ix.layout.D, ix.layout.CentroidBits)
	if err != nil {
		panic(fmt.Errorf("geometry of an open index: %w", err)) // was checked when it was opened
	}
	return b
}

// split replaces a posting by its children. What came into its delta meanwhile
// goes to the nearest child each.
func (t *txn) split(ctx context.Context, r *round, j *job, now *postingRow, adds *centroids.Builder) error {
	ix, c, id := t.w.ix, j.cut, t.w.ix.row.ID
	late := now.delta.From(j.row.delta.Len())
	j.late = late.Len()
	flags := unchecked
	if r.v.set.Len() < replaceBelow {
		flags |= replaceAll
	}
	t.drop(j.id, now)
	biggest := 0
	for k, part := range c.parts {
		if err := adds.AddCode(c.ids[k], part.Centroid.Code, part.Centroid.Scale, part.Centroid.NormSq); err != nil {
			return err
		}
		row := postingRow{extent: j.extents[k], flags: flags, tag: t.w.nextTag()}
		*t.postings.Ref(int(c.ids[k])) = row
		t.batch.PutExtent(id, c.ids[k], appendDirectoryRow(nil, row.extent, flags))
		t.batch.PutCentroid(id, c.ids[k], appendCentroidRow(nil, part.Centroid))
		t.state.Entries += uint64(j.counts[k])
		t.state.Postings++
		t.state.NextPosting = max(t.state.NextPosting, c.ids[k]+1)
		if j.counts[k] > j.counts[biggest] {
			biggest = k
		}
	}
	t.inherit(j.id, c, biggest)
	return t.splitLate(ctx, c, late, ix)
}

// replaceBelow is the number of postings below which a cut places all members
// anew: their copies were chosen among too few.
const replaceBelow = 16

// inherit gives the runs of a posting that was cut to its children: those with
// free slots to the biggest, and every other to the child that has most members in
// it, which gets the slots that become free there. The latter is not worth a row
// of the catalog: after a restart such a run belongs to nobody until a fold finds
// it (adopt).
func (t *txn) inherit(from uint32, c *cutting, biggest int) {
	a := t.w.slots
	for _, r := range a.open[from] {
		if x := t.runs.At(int(r)); int(r) < t.runs.Len() && x.owner == from {
			t.own(r, c.ids[biggest])
		}
	}
	delete(a.open, from)
	most, heir := map[uint32]int{}, map[uint32]uint32{}
	for k, part := range c.parts {
		count := map[uint32]int{}
		for _, m := range part.Members {
			e := &c.members[m].entry
			if r := e.Slot / catalog.RunSlots; e.Primary && t.runs.At(int(r)).owner == from {
				count[r]++
			}
		}
		for r, n := range count {
			if n > most[r] {
				most[r], heir[r] = n, c.ids[k]
			}
		}
	}
	for r, id := range heir {
		t.runs.Ref(int(r)).owner = id
	}
}

// splitLate encodes entries that came late against the nearest child each. Their
// records are read while the index takes no writes; there are few.
func (t *txn) splitLate(ctx context.Context, c *cutting, late posting.Delta, ix *Index) error {
	var entries []posting.Entry
	for i := range late.Len() {
		if e := late.Entry(i); t.base.alive(e.Slot, e.Generation) {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	_, m, err := ix.readMembers(ctx, t.base, entries)
	if err != nil {
		return err
	}
	var ws rq.Workspace
	for i, e := range entries {
		v := m.Vectors[i*m.D : (i+1)*m.D]
		best := 0
		for k := range c.parts {
			if simd.L2F32(v, c.parts[k].Decoded) < simd.L2F32(v, c.parts[best].Decoded) {
				best = k
			}
		}
		e.Code = make([]byte, ix.layout.CodeSize())
		e.Factors = ix.layout.Coder().Encode(e.Code, v, c.parts[best].Decoded, &ws)
		t.add(c.ids[best], e)
	}
	return nil
}
