package sprat

import (
	"container/heap"
	"math/bits"
	"slices"

	"github.com/spratdb/sprat/internal/catalog"
)

// lastGeneration is the generation of a slot that is not given out again until a
// sweep has made sure that no entry of its earlier vectors is left.
const lastGeneration = 255

// slotAllocator knows which slots may be given out. A slot is free when it is not
// live, no query can still read what it held, and its generation can rise. Runs
// belong to postings, so that the records of near vectors are neighbours on the
// volume; a run without any live slot belongs to nobody. It is guarded by
// writer.mu, and what it knows follows from the runs of the catalog.
type slotAllocator struct {
	open  map[uint32][]uint32 // runs that have free slots, by the posting that owns them
	empty runHeap             // runs that belong to nobody
	held  map[uint32]uint16   // by run: dead slots that a query may still read

	ceiling uint32 // see limit
	search  uint32 // runs below it have no free slots
}

// runHeap gives the lowest run first, so that the end of the files gets free.
type runHeap struct {
	runs []uint32
	in   map[uint32]bool
}

// Len, Less, Swap, Push and Pop make a heap of it.
func (h *runHeap) Len() int           { return len(h.runs) }
func (h *runHeap) Less(i, j int) bool { return h.runs[i] < h.runs[j] }

// Swap exchanges two runs.
func (h *runHeap) Swap(i, j int) { h.runs[i], h.runs[j] = h.runs[j], h.runs[i] }

// Push appends a run.
func (h *runHeap) Push(x any) { h.runs = append(h.runs, x.(uint32)) }

// Pop removes the last run.
func (h *runHeap) Pop() any {
	last := len(h.runs) - 1
	r := h.runs[last]
	h.runs = h.runs[:last]
	return r
}

func (h *runHeap) add(r uint32) {
	if !h.in[r] {
		h.in[r] = true
		heap.Push(h, r)
	}
}

// newSlotAllocator learns what is free in a version that nobody reads yet.
func newSlotAllocator(v *version) *slotAllocator {
	a := &slotAllocator{open: map[uint32][]uint32{}, held: map[uint32]uint16{}}
	a.empty.in = map[uint32]bool{}
	for r := range v.runs.Len() {
		x := v.runs.At(r)
		a.consider(v, uint32(r), &x)
	}
	return a
}

// consider files a run under what it has to give.
func (a *slotAllocator) consider(v *version, r uint32, x *run) {
	free := a.free(r, x)
	switch {
	case free == 0 || a.empty.in[r]:
	case x.live == 0 && a.held[r] == 0:
		a.empty.add(r)
	case x.owner < uint32(v.postings.Len()) && exists(v, x.owner) && !slices.Contains(a.open[x.owner], r):
		a.open[x.owner] = append(a.open[x.owner], r)
	}
}

// free is the mask of the slots of a run that may be given out.
func (a *slotAllocator) free(r uint32, x *run) uint16 {
	free := ^x.live &^ a.held[r]
	for m := free; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros16(m); x.gens[i] == lastGeneration {
			free &^= 1 << i
		}
	}
	return free
}

// take gives out a slot to a vector whose primary posting is p; fresh, one of a
// run that this change has given to p.
func (t *txn) take(p uint32, fresh bool) (slot uint32, gen uint8) {
	a := t.w.slots
	for i := len(a.open[p]) - 1; i >= 0; i-- {
		r := a.open[p][i]
		x := t.runs.At(int(r))
		// What an undone change had opened is not p's after all.
		free := a.free(r, &x)
		if free == 0 || x.owner != p || int(r) >= t.runs.Len() {
			a.close(p, i)
		} else if (r < a.ceiling || a.ceiling == 0) && (!fresh || t.opened[r]) {
			return t.birth(r, bits.TrailingZeros16(free))
		}
	}
	if r, free := t.anyBelow(); free != 0 {
		return t.birth(r, bits.TrailingZeros16(free))
	}
	r := t.emptyRun()
	t.own(r, p)
	x := t.runs.At(int(r))
	return t.birth(r, bits.TrailingZeros16(a.free(r, &x)))
}

// close takes run i from the open ones of p.
func (a *slotAllocator) close(p uint32, i int) {
	if a.open[p] = slices.Delete(a.open[p], i, i+1); len(a.open[p]) == 0 {
		delete(a.open, p)
	}
}

// anyBelow finds a run with free slots below the ceiling, whoever owns it, while
// the end of the files is being vacated.
func (t *txn) anyBelow() (r uint32, free uint16) {
	a := t.w.slots
	for ; a.ceiling > 0 && a.search < a.ceiling && int(a.search) < t.runs.Len(); a.search++ {
		x := t.runs.At(int(a.search))
		if free := a.free(a.search, &x); free != 0 && x.live != 0 {
			return a.search, free
		}
	}
	return 0, 0
}

// limit has slots given out below a run only, as far as there are any; 0 lifts
// the limit.
func (a *slotAllocator) limit(run uint32) { a.ceiling, a.search = run, 0 }

// emptyRun takes the lowest run that belongs to nobody, or a new one.
func (t *txn) emptyRun() uint32 {
	a := t.w.slots
	for a.empty.Len() > 0 {
		r := heap.Pop(&a.empty).(uint32)
		delete(a.empty.in, r)
		if int(r) >= t.runs.Len() {
			continue // the files were cut shorter
		}
		x := t.runs.At(int(r))
		if x.live == 0 && a.free(r, &x) != 0 {
			t.dirty[r] = true
			return r
		}
	}
	r := uint32(t.runs.Len())
	if t.state.Slots%catalog.RunSlots != 0 {
		t.dirty[r-1] = true // which slots of it live follows from the number of slots no more
	}
	t.runs.Resize(int(r) + 1)
	t.state.Slots = uint64(r+1) * catalog.RunSlots
	return r
}

// own gives a run to a posting.
func (t *txn) own(r, p uint32) {
	t.runs.Ref(int(r)).owner = p
	t.dirty[r], t.opened[r] = true, true
	a := t.w.slots
	a.open[p] = append(a.open[p], r)
}

// birth makes slot i of a run live.
func (t *txn) birth(r uint32, i int) (slot uint32, gen uint8) {
	x := t.runs.Ref(int(r))
	x.live |= 1 << i
	x.gens[i]++
	t.dirty[r] = true
	t.state.Vectors++
	return r*catalog.RunSlots + uint32(i), x.gens[i]
}

// kill ends the vector in a slot. Its records stay where they are for the
// queries that still see it: not even this change may give the slot out again.
func (t *txn) kill(slot uint32) {
	r, i := runOf(slot)
	x := t.runs.Ref(r)
	if x.landed>>i&1 != 0 {
		t.unland(x, int(i))
	}
	x.live &^= 1 << i
	t.dirty[uint32(r)] = true
	t.dead = append(t.dead, deadSlot{slot, x.gens[i]})
	t.w.slots.hold(t.dead[len(t.dead)-1:])
	t.state.Vectors--
	t.state.Deaths++
}

// unland forgets where the records of slot i of a run had landed.
func (t *txn) unland(x *run, i int) {
	for _, s := range t.segments {
		if s.id == x.places[i].Segment {
			t.landed[s]--
		}
	}
	if x.landed &^= 1 << i; x.landed == 0 {
		x.places = nil
	}
}

// deadSlot is a slot that is free when nobody can read it any more.
type deadSlot struct {
	slot uint32
	gen  uint8
}

// hold keeps dead slots from being given out.
func (a *slotAllocator) hold(dead []deadSlot) {
	for _, d := range dead {
		r, i := runOf(d.slot)
		a.held[uint32(r)] |= 1 << i
	}
}

// letGo makes dead slots free, given the present version.
func (a *slotAllocator) letGo(v *version, dead []deadSlot) {
	for _, d := range dead {
		r, i := runOf(d.slot)
		if a.held[uint32(r)] &^= 1 << i; a.held[uint32(r)] == 0 {
			delete(a.held, uint32(r))
		}
		if r < v.runs.Len() {
			x := v.runs.At(r)
			a.consider(v, uint32(r), &x)
		}
	}
}
