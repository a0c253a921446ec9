package sprat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rq/simd"
)

// Put inserts vectors, and replaces those whose keys exist, all of them or none.
// When it returns they are durable and every later Get, List and Query sees them.
// A key may occur once in a call. The records are not kept. Errors: ErrInvalid (a
// *RowError names the record), ErrMemoryLimit, ErrClosed, the context's, and the
// volume's: a *iopath.WriteError names the file, and errors.Is(err,
// syscall.ENOSPC) says that the volume is full; a later Put succeeds when there is
// room again.
//
//  1. route each vector to its nearest posting and copies, encode it against each;
//  2. wait for the group under way, then, as one change with those that wait too:
//  3. give each vector a slot of a run of its primary posting;
//  4. append the records to a landing segment, and sync it;
//  5. commit one batch: keys, runs of slots, entries; older slots die in it;
//  6. publish.
func (ix *Index) Put(ctx context.Context, records []Record) error {
	leave, err := ix.changeable()
	if err != nil {
		return err
	}
	defer leave()
	if err := ix.checkRecords(records); err != nil {
		return err
	}
	if len(records) == 0 {
		return nil
	}
	w := ix.writer
	if err := w.fits(len(records)); err != nil {
		return err
	}
	if err := w.pace(ctx, len(records)); err != nil {
		return publicError(err)
	}
	r := &request{puts: make([]arrival, len(records))}
	for i := range records {
		r.puts[i] = arrival{key: records[i].Key, vector: records[i].Vector, metadata: records[i].Metadata}
	}
	return publicError(w.deliver(ctx, r))
}

// deliver prepares a request and submits it, again when the index lost its last
// posting in between or when a posting had no room for it.
func (w *writer) deliver(ctx context.Context, r *request) error {
	for {
		err := w.prepare(ctx, r)
		if err == nil {
			err = w.submit(r)
		}
		switch {
		case errors.Is(err, errCrowded):
			err = w.awaitCut(ctx, r.crowd)
		case errors.Is(err, errNoPosting):
			err = w.bootstrap(r.puts)
		default:
			return err
		}
		if err != nil {
			return err
		}
		*r = request{puts: r.puts, direct: r.direct, fresh: r.fresh}
	}
}

// checkRecords refuses a call before anything of it is done.
func (ix *Index) checkRecords(records []Record) error {
	keys := make(map[string]struct{}, len(records))
	for i := range records {
		rec := &records[i]
		err := checkKey(rec.Key)
		if err == nil {
			err = checkVector("vector", ix.metric, ix.row.Dimension, rec.Vector)
		}
		if err == nil {
			err = checkMetadata(rec.Metadata)
		}
		if _, twice := keys[rec.Key]; err == nil && twice {
			err = invalid("key", "each key once in a call", "%.64q again", rec.Key)
		}
		if err != nil {
			return &RowError{Row: int64(i), Key: rec.Key, Err: err}
		}
		keys[rec.Key] = struct{}{}
	}
	return nil
}

// fits refuses a call that needs more memory than half of what the store has to
// spare.
func (w *writer) fits(n int) error {
	ix := w.ix
	each := int64(ix.itemBytes()*2 + ix.row.Copies*(2*ix.layout.EntryBytes()+96) + 256)
	if limit := ix.store.opts.MemoryLimit; w.upkeep.crowded.Load() {
		return &MemoryLimitError{What: "keeping what the indexes have grown to", Limit: limit,
			Needed: max(limit+1, baseMemory+ix.store.memoryHeld())}
	}
	free := (ix.store.opts.MemoryLimit - baseMemory) / 2
	if need := int64(n) * each; need > max(free, 16<<20) {
		return &MemoryLimitError{What: fmt.Sprintf("a call of %d vectors", n), Limit: ix.store.opts.MemoryLimit,
			Needed: ix.store.opts.MemoryLimit - free + need}
	}
	return nil
}

// bootstrap gives an index without postings its first, at the mean of the
// vectors that are about to come. An index that never held any also learns the
// scale of its data here.
func (w *writer) bootstrap(puts []arrival) error {
	ix := w.ix
	ix.store.writeMu.Lock() // the row is shared with SetDials
	defer ix.store.writeMu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	v := ix.current.Load()
	if v.set.Len() > v.drainingCount() {
		return nil // somebody else did
	}
	t := w.begin()
	if v.state.NextPosting == 0 {
		row, err := ix.store.catalog.Index(ix.row.Bucket, ix.row.Name)
		if err != nil {
			return t.undo(err)
		}
		row.Scale, row.MaxNormSq = firstScale(ix.metric, puts)
		if t.space, err = rowSpace(row, ix.metric); err != nil {
			return t.undo(err)
		}
		t.batch.PutIndex(row)
	}
	id, err := t.firstPosting(puts)
	if err != nil {
		return t.undo(err)
	}
	t.state.NextPosting = id + 1
	t.state.Postings++
	return t.commit()
}

// drainingCount is the number of postings that take no members.
func (v *version) drainingCount() int {
	n := 0
	for id := range v.postings.Len() {
		if p := v.postings.At(id); p.exists() && p.flags&draining != 0 {
			n++
		}
	}
	return n
}

// normSlack is how much longer than the longest vector of its first call those
// that follow may be before an index of dot products estimates them badly.
const normSlack = 1.25

// firstScale derives the scale of an index from the first vectors put; see space.
func firstScale(m Metric, puts []arrival) (scale, maxNormSq float64) {
	if m == Cosine {
		return 1, 1
	}
	longest := 0.0
	for i := range puts {
		longest = max(longest, simd.SumSqF64(puts[i].vector))
	}
	scale = powerScale(longest)
	if longest == 0 {
		return scale, 1
	}
	return scale, longest * scale * scale * normSlack * normSlack
}

// firstPosting writes an empty posting at the mean of the vectors.
func (t *txn) firstPosting(puts []arrival) (uint32, error) {
	ix := t.w.ix
	sum, rotated, inner := make([]float64, ix.layout.D), make([]float32, ix.layout.D), t.space.inner()
	for i := range puts {
		t.space.data(rotated, puts[i].vector, inner)
		for j, x := range rotated {
			sum[j] += float64(x)
		}
	}
	for j := range rotated {
		rotated[j] = float32(sum[j] / math.Max(1, float64(len(puts))))
	}
	id := t.state.NextPosting
	add, err := centroids.NewBuilder(ix.layout.D, ix.layout.CentroidBits)
	if err == nil {
		err = add.Add(id, rotated)
	}
	if err == nil {
		t.set, err = t.set.With(add)
	}
	if err != nil {
		return 0, err
	}
	r, _ := t.set.Row(id)
	c := centroidOf(t.set, r)
	data, used := posting.NewBuilder(ix.layout).Encode(id, c)
	e, err := t.w.extents.Alloc(uint32(used))
	if err != nil {
		return 0, err
	}
	t.taken = append(t.taken, e)
	if _, err = t.w.postings.WriteAt(data, e.Offset()); err == nil {
		err = t.w.postings.Sync()
	}
	*t.postings.Ref(int(id)) = postingRow{extent: e, tag: t.w.nextTag()}
	t.batch.PutExtent(ix.row.ID, id, appendDirectoryRow(nil, e, 0))
	t.batch.PutCentroid(ix.row.ID, id, appendCentroidRow(nil, c))
	return id, err
}

// Delete removes the vectors of the keys and returns how many there were. Keys
// that are not there are no error; a key may occur more than once. The change is
// durable and visible when it returns, all of it or nothing. Errors: as for Put.
func (ix *Index) Delete(ctx context.Context, keys []string) (int, error) {
	leave, err := ix.changeable()
	if err != nil {
		return 0, err
	}
	defer leave()
	for i, key := range keys {
		if err := checkKey(key); err != nil {
			return 0, &RowError{Row: int64(i), Key: key, Err: err}
		}
	}
	if err := ctx.Err(); err != nil || len(keys) == 0 {
		return 0, err
	}
	for {
		old, err := ix.writer.oldTerms(ctx, slices.Values(keys))
		if err != nil {
			return 0, publicError(err)
		}
		r := &request{deletes: keys, old: old}
		if err := ix.writer.submit(r); !errors.Is(err, errNoPosting) { // of a put of the same group
			return r.deleted, publicError(err)
		}
	}
}
