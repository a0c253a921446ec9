package sprat

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rq"
)

// arrival is a vector on its way into an index: put by a caller, or moved by
// maintenance.
type arrival struct {
	key      string
	vector   []float32 // as given; the caller's memory
	metadata []byte
	item     []byte // the records, not yet sealed with slot and generation
	keyIn    bool   // the key stands in the record
	metaIn   bool   // so does the metadata
	entries  []posting.Entry
	posts    []uint32 // the posting of each entry; the first is the primary
	terms    []string // of the metadata, for the filter rows

	// move says that the vector is taken from the slot old, and only if it still
	// lives there.
	move bool
	old  deadSlot
}

// router computes where vectors go. It holds the scratch memory of one goroutine.
type router struct {
	ix     *Index
	v      *version
	inner  []float32
	rotate []float32
	center []float32
	query  rq.Query
	near   []centroids.Neighbor
	open   []centroids.Neighbor // of near, those that take members
	chosen []centroids.Neighbor
	route  centroids.Workspace
	coder  rq.Workspace
}

func newRouter(ix *Index) *router {
	return &router{ix: ix, rotate: make([]float32, ix.layout.D), center: make([]float32, ix.layout.D)}
}

// use makes the router work on a version, which the caller holds.
func (r *router) use(v *version) {
	r.v = v
	r.inner = v.space.inner()
}

// choose finds the postings of a vector: the nearest that takes members, then
// copies by the SOAR rule. The result is valid until the next call; it is empty
// when there is no such posting.
func (r *router) choose(vector []float32) []centroids.Neighbor {
	r.v.space.data(r.rotate, vector, r.inner)
	r.query.Reset(r.rotate)
	total := r.v.set.Len()
	for n := min(centroids.RouteCandidates, total); n > 0; n = min(4*n, total) {
		r.near = r.v.set.Nearest(r.near, &r.query, n, &r.route)
		r.open = r.open[:0]
		for _, c := range r.near {
			if p := r.v.postings.At(int(c.ID)); p.flags&draining == 0 && len(r.open) < centroids.RouteCandidates {
				r.open = append(r.open, c)
			}
		}
		if len(r.open) >= min(centroids.RouteCandidates, total) || n == total {
			break
		}
	}
	r.chosen = r.v.set.Route(r.chosen[:0], r.rotate, r.open, r.ix.row.Copies, centroids.RouteLambda, &r.route)
	return r.chosen
}

// place sets the postings and entries of an arrival. codes backs the codes and is
// returned with what was added. False says that the index has no posting to put
// into.
func (r *router) place(a *arrival, codes []byte) ([]byte, bool) {
	chosen := r.choose(a.vector)
	a.entries, a.posts = a.entries[:0], a.posts[:0]
	size := r.ix.layout.CodeSize()
	for i, c := range chosen {
		codes = slices.Grow(codes, size)
		code := codes[len(codes) : len(codes)+size : len(codes)+size]
		codes = codes[:len(codes)+size]
		r.v.set.Decode(c.Row, r.center)
		f := r.ix.layout.Coder().Encode(code, r.rotate, r.center, &r.coder)
		a.entries = append(a.entries, posting.Entry{Primary: i == 0, Factors: f, Code: code})
		a.posts = append(a.posts, c.ID)
	}
	return codes, len(chosen) > 0
}

// record encodes the records of an arrival, whose rotated vector is at hand, into
// item.
func (r *router) record(a *arrival, item []byte) {
	ix := r.ix
	a.item = item
	a.keyIn, a.metaIn = ix.records.Encode(item[:ix.records.Bytes], 0, 0, []byte(a.key), a.metadata, a.vector)
	if ix.refine != nil {
		ix.refine.Encode(item[ix.records.Bytes:], 0, r.rotate, &r.coder)
	}
}

// prepare routes and encodes the vectors of a request, which is most of the work
// of a put, outside of all locks. As many goroutines do so at one time as there
// are processors, and each lets others run after every vector, so that queries do
// not wait behind a long batch.
func (w *writer) prepare(ctx context.Context, r *request) error {
	ix := w.ix
	v := ix.acquire()
	defer v.release()
	rt := newRouter(ix)
	rt.use(v)
	size, each := ix.itemBytes(), ix.row.Copies*ix.layout.CodeSize()
	r.buf = make([]byte, size*len(r.puts))
	r.codes = make([]byte, 0, each*len(r.puts))
	var err error
	if r.old, err = w.oldTerms(ctx, r.replaced); err != nil {
		return err
	}
	entries := make([]posting.Entry, len(r.puts)*ix.row.Copies)
	posts := make([]uint32, len(r.puts)*ix.row.Copies)
	leave, err := ix.store.compute.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for i := range r.puts {
		a := &r.puts[i]
		n := ix.row.Copies
		a.entries, a.posts = entries[i*n:i*n:(i+1)*n], posts[i*n:i*n:(i+1)*n]
		var ok bool
		if r.codes, ok = rt.place(a, r.codes); !ok {
			return errNoPosting
		}
		a.terms = ix.filterTerms(a.metadata)
		rt.record(a, r.buf[i*size:(i+1)*size])
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return nil
}

// replaced yields the keys whose vectors a request may replace.
func (r *request) replaced(yield func(key string) bool) {
	for i := range r.puts {
		if !r.puts[i].move && !yield(r.puts[i].key) {
			return
		}
	}
}

// errNoPosting says that an index has no posting that takes members.
var errNoPosting = errors.New("no posting takes members")

// placed is what a group of requests did to a key so far.
type placed struct {
	catalog.Placement
	gone bool
}

// apply makes the changes of a request in a transaction. The group it belongs to
// commits as one, in the order of the requests, so a key of two requests ends as
// the later one has it.
func (t *txn) apply(r *request, seen map[string]placed) error {
	for _, key := range r.deletes {
		at, found, err := t.find(key, seen)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		t.kill(at.Slot)
		if err := t.filterDeath(at, r.old[key]); err != nil {
			return err
		}
		t.state.Changes++
		t.batch.DeleteKey(t.w.ix.row.ID, []byte(key))
		seen[key] = placed{gone: true}
		r.deleted++
	}
	for i := range r.puts {
		if err := t.put(r, &r.puts[i], seen); err != nil {
			return err
		}
		if i%8 == 7 {
			runtime.Gosched() // as prepare does
		}
	}
	return nil
}

// find is where the vector of a key lives, within the group.
func (t *txn) find(key string, seen map[string]placed) (p catalog.Placement, found bool, err error) {
	if at, ok := seen[key]; ok {
		return at.Placement, !at.gone, nil
	}
	p, err = t.w.ix.store.catalog.Placement(t.w.ix.row.ID, []byte(key))
	if errors.Is(err, catalog.ErrNotFound) {
		return p, false, nil
	}
	if err == nil && p.Slot >= uint32(min(t.state.Slots, 1<<32-1)) {
		err = t.w.ix.inCatalog(errors.New("a key leads to a slot that was never given out"))
	}
	return p, err == nil, err
}

// put brings one vector in: a fresh slot, its entries, and the death of the slot
// that its key led to.
func (t *txn) put(r *request, a *arrival, seen map[string]placed) error {
	at, found, err := t.find(a.key, seen)
	if err != nil {
		return err
	}
	if a.move {
		if !found || at.Slot != a.old.slot || at.Generation != a.old.gen {
			return nil // deleted or replaced meanwhile
		}
		r.moved++
	} else {
		t.state.Changes++
		t.state.Untidy++
	}
	if !t.stillThere(a) {
		if err := t.reroute(r, a); err != nil {
			return err
		}
	}
	if found {
		known := r.old[a.key]
		if a.move { // the document is the same
			known = knownTerms{at, a.terms, true}
		}
		t.kill(at.Slot)
		if err := t.filterDeath(at, known); err != nil {
			return err
		}
	}
	slot, gen := t.take(a.posts[0], r.fresh[a.posts[0]])
	t.filterBirth(slot, a.terms)
	ix, id := t.w.ix, t.w.ix.row.ID
	ix.records.Seal(a.item[:ix.records.Bytes], slot, gen)
	if ix.refine != nil {
		ix.refine.Seal(a.item[ix.records.Bytes:], slot)
	}
	if r.direct {
		t.homes = append(t.homes, home{slot: slot, gen: gen, item: a.item})
	} else {
		place, err := t.placeItem(a.item)
		if err != nil {
			return err
		}
		t.runLanded(slot, place)
	}
	for i, p := range a.posts {
		a.entries[i].Slot, a.entries[i].Generation = slot, gen
		t.add(p, a.entries[i])
	}
	if !a.keyIn {
		t.batch.PutLongKey(id, slot, gen, []byte(a.key))
		t.state.Overflows++
	}
	if !a.metaIn {
		t.batch.PutLongMetadata(id, slot, gen, a.metadata)
		t.state.Overflows++
	}
	now := catalog.Placement{Slot: slot, Generation: gen}
	t.batch.PutKey(id, []byte(a.key), now)
	seen[a.key] = placed{Placement: now}
	return nil
}

// runLanded notes where the records of a slot have landed.
func (t *txn) runLanded(slot uint32, place catalog.Landing) {
	r, i := runOf(slot)
	x := t.runs.Ref(r)
	places := new([catalog.RunSlots]catalog.Landing) // older versions keep theirs
	if x.places != nil {
		*places = *x.places
	}
	places[i] = place
	x.places, x.landed = places, x.landed|1<<i
}

// stillThere says that all postings of an arrival take members.
func (t *txn) stillThere(a *arrival) bool {
	for _, p := range a.posts {
		if x := t.postings.At(int(p)); !x.exists() || x.flags&draining != 0 {
			return false
		}
	}
	return len(a.posts) > 0
}

// reroute places an arrival anew, because a posting that it was to go to is gone
// since it was prepared.
func (t *txn) reroute(r *request, a *arrival) error {
	rt := newRouter(t.w.ix)
	// What else this transaction changed has no bearing on where a vector goes.
	rt.use(t.base)
	var ok bool
	if r.codes, ok = rt.place(a, r.codes[:len(r.codes):len(r.codes)]); !ok {
		r.stale = true
		return errNoPosting
	}
	return nil
}
