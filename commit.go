package sprat

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/cow"
	"github.com/spratdb/sprat/posting"
)

// txn is a change of an index under way: a new version in the making, the batch
// that makes it durable, and what becomes free by it. It belongs to the holder of
// writer.mu.
//
// The order in commit is the one durability rule: raw bytes are written and
// synced first, then one batch names them, then the version is published. An
// error before the batch leaves everything as it was.
type txn struct {
	w        *writer
	base     *version
	postings *cow.Editor[postingRow]
	runs     *cow.Editor[run]
	set      *centroids.Set
	space    *space
	calib    *calibration
	segments []*segment
	state    catalog.State
	batch    *catalog.Batch

	dirty  map[uint32]bool            // runs that changed
	deltas map[uint32][]posting.Entry // entries to add, by posting
	order  []uint32                   // keys of deltas, in the order of their first entry

	homes    []home          // records that are written to their slots at once
	opened   map[uint32]bool // runs that were given to a posting by this change
	landings []landing
	landed   map[*segment]int // change of the live records of each segment
	active   *segment
	landEnd  int64
	created  []*segment
	groups   []keptGroup // written to segments,
	bufs     [][]byte    // with these bytes

	dead    []deadSlot
	freed   []uint32 // runs that have free slots by this change
	filters filterEdits
	extents []posting.Extent // given up
	taken   []posting.Extent // allocated, to be given back when the change fails
}

// begin starts a change; the caller holds writer.mu.
func (w *writer) begin() *txn {
	v := w.ix.current.Load()
	t := &txn{
		w: w, base: v, postings: v.postings.Edit(), runs: v.runs.Edit(), set: v.set, space: v.space, calib: v.calib,
		segments: v.segments, state: v.state, batch: w.ix.store.catalog.NewBatch(),
		dirty: map[uint32]bool{}, opened: map[uint32]bool{}, deltas: map[uint32][]posting.Entry{}, landed: map[*segment]int{}, active: w.active,
	}
	if t.active != nil {
		t.landEnd = (t.active.size + landingAlign - 1) / landingAlign * landingAlign
	}
	t.state.Seq++
	return t
}

// landingAlign keeps the groups of two commits out of one block: nothing that
// was acknowledged is ever written again.
const landingAlign = 4096

// add puts an entry into the delta of a posting.
func (t *txn) add(p uint32, e posting.Entry) {
	if _, ok := t.deltas[p]; !ok {
		t.order = append(t.order, p)
	}
	t.deltas[p] = append(t.deltas[p], e)
	t.state.Entries++
}

// commit makes the change durable and visible, or undoes it.
func (t *txn) commit() error {
	if err := t.w.usable(); err != nil {
		return t.undo(err)
	}
	if err := t.w.land(t); err != nil {
		return t.undo(err)
	}
	if err := t.w.writeHomes(t.homes); err != nil {
		return t.undo(err)
	}
	t.gather()
	if err := t.gatherFilters(); err != nil {
		return t.undo(err)
	}
	if err := t.w.ix.store.room(2*int64(t.batch.Len()) + catalogReserve); err != nil {
		return t.undo(err)
	}
	t.w.publishing.Lock()
	defer t.w.publishing.Unlock()
	t.w.ix.filterLog.note(t.state.Seq, t.filters.changed) // before anybody can read the rows
	batch := t.batch
	t.batch = nil
	if err := batch.Commit(); err != nil {
		// Whether the batch will be there after a restart is not known: nothing that
		// it names may be given back, and what is in memory must not go on from here.
		t.w.broken.Store(&writeFault{fmt.Errorf("a commit failed in a way that only a restart settles: %w", err)})
		return err
	}
	t.publish()
	return nil
}

// gather puts the rows of what changed into the batch.
func (t *txn) gather() {
	id, l := t.w.ix.row.ID, &t.w.ix.layout
	for i, p := range t.order {
		t.batch.PutDelta(id, p, t.state.Seq, posting.AppendEntries(nil, l, t.deltas[p]))
		if i%64 == 63 {
			runtime.Gosched() // as prepare does
		}
	}
	for r := range t.dirty {
		x := t.runs.At(int(r))
		t.batch.PutRun(id, r, x.row())
	}
	for _, d := range t.w.overflow {
		t.batch.DeleteOverflow(id, d.slot, d.gen)
	}
	t.batch.PutState(id, t.state)
}

func (x *run) row() catalog.RunRow {
	row := catalog.RunRow{Owner: x.owner, Live: x.live, Landed: x.landed, Generations: x.gens}
	if x.places != nil {
		row.Landings = *x.places
	}
	return row
}

// publish replaces the present version. What only older ones name is kept until
// nobody holds them.
func (t *txn) publish() {
	w := t.w
	w.overflow = w.overflow[:0]
	for _, p := range t.order {
		row := t.postings.Ref(int(p))
		row.delta, row.seqs = row.delta.Append(&w.ix.layout, t.deltas[p]), append(row.seqs, t.state.Seq)
	}
	old := t.base
	gone := garbage{version: old, extents: t.extents, dead: t.dead}
	for s, n := range t.landed {
		s.landed += n
	}
	if w.active = t.active; w.active != nil {
		w.active.size = t.landEnd
	}
	segments := t.segments
	for _, s := range t.segments {
		if s.landed == 0 && (s != w.active || s.size > segmentKeep) {
			if s == w.active {
				w.active = nil
			}
			segments = slices.DeleteFunc(slices.Clone(segments), func(x *segment) bool { return x == s })
			gone.segments = append(gone.segments, s)
		}
	}
	for i, g := range t.groups {
		w.keepLanded(g.segment, landedGroup{g.off, t.bufs[i]})
	}
	v := &version{space: t.space, calib: t.calib, set: t.set, postings: t.postings.Done(), runs: t.runs.Done(),
		segments: segments, state: t.state}
	w.ix.current.Store(v)
	for _, r := range t.freed {
		x := v.runs.At(int(r))
		w.slots.consider(v, r, &x)
	}
	w.gone = append(w.gone, gone)
	w.reclaim()
}

// segmentKeep is the size up to which an active segment without live records is
// filled further.
const segmentKeep = 8 << 20

// undo gives back what the change had taken and returns err.
func (t *txn) undo(err error) error {
	w := t.w
	for _, e := range t.taken {
		err = errors.Join(err, w.extents.Free(e))
	}
	w.slots.letGo(t.base, t.dead)
	for r := range t.dirty {
		if int(r) < t.base.runs.Len() {
			x := t.base.runs.At(int(r))
			w.slots.consider(t.base, r, &x)
		}
	}
	for _, s := range t.created {
		err = errors.Join(err, s.close(), w.ix.store.engine.Remove(s.path))
	}
	if t.batch != nil {
		err = errors.Join(err, t.batch.Discard())
	}
	return err
}

// garbage is what a commit made free, once no version up to and with the one it
// replaced is held.
type garbage struct {
	version  *version
	extents  []posting.Extent
	dead     []deadSlot
	segments []*segment
}

// reclaim makes free what no held version names. The caller holds writer.mu.
func (w *writer) reclaim() {
	n := 0
	now := w.ix.current.Load()
	for ; n < len(w.gone) && w.gone[n].version.holders.Load() == 0; n++ {
		g := &w.gone[n]
		for _, e := range g.extents {
			w.warn("free an extent", w.extents.Free(e))
		}
		w.slots.letGo(now, g.dead)
		if now.state.Overflows > 0 {
			w.overflow = append(w.overflow, g.dead...)
		}
		for _, s := range g.segments {
			w.forget(s)
			w.warn("remove a landing segment", errors.Join(s.close(), w.ix.store.engine.Remove(s.path)))
		}
	}
	w.gone = slices.Delete(w.gone, 0, n)
}

// forget lets go of what is in memory of a segment.
func (w *writer) forget(s *segment) {
	w.kept = slices.DeleteFunc(w.kept, func(k keptGroup) bool {
		if k.segment == s {
			w.keptBytes -= k.bytes
		}
		return k.segment == s
	})
}

// newExtent allocates an extent of the posting file for a change; the bytes go
// there before the change commits.
func (w *writer) newExtent(bytes int) (posting.Extent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.extents.Alloc(uint32(bytes))
}

// giveBack frees extents of a change that was not made.
func (w *writer) giveBack(extents []posting.Extent) {
	if w.usable() != nil {
		return // a restart finds out what is free
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range extents {
		w.warn("free an extent", w.extents.Free(e))
	}
}

// nextTag is a number that no extent of the index has had since it was opened.
func (w *writer) nextTag() uint32 { return w.tag.Add(1) }

func (w *writer) warn(what string, err error) { w.ix.store.warn(what, err) }

// writeFault is why an index takes no more changes.
type writeFault struct{ err error }

// usable fails when the index takes no changes.
func (w *writer) usable() error {
	if f := w.broken.Load(); f != nil {
		return f.err
	}
	return nil
}
