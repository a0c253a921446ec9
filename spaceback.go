package sprat

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"time"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
)

const (
	// looseExtents is the share of the posting file in gaps above which postings
	// from its end are written into the gaps.
	looseExtents = 0.25
	// looseSlots is the share of dead slots above which vectors from the end of
	// the record files are moved to free slots before it.
	looseSlots = 0.3
	// looseLeast is the space, in bytes, that is worth the trouble.
	looseLeast = 1 << 20
)

// stepPullDown writes the last postings of the file into gaps, then cuts the file.
func (u *upkeep) stepPullDown(ctx context.Context) (string, error) {
	w := u.w
	w.mu.Lock()
	w.reclaim()
	end, free := w.extents.End(), w.extents.FreeBytes()
	w.mu.Unlock()
	changes := w.ix.current.Load().state.Changes
	if float64(free) > looseExtents*float64(end) && free > looseLeast && (end < u.pulled || changes != u.pulledAt) {
		// While nobody writes, only as long as the file gets shorter: it may be that
		// nothing fits, and that what is written anew takes the end in turns.
		u.pulled, u.pulledAt = end, changes
		_, err := u.runRound(ctx, u.lastPostings(sweepPostings), &round{rewrite: true})
		return "pull down", err
	}
	size, err := w.ix.postingsFile.Size()
	if err != nil || size <= end {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.extents.End() >= size || len(w.gone) > 0 {
		return "", nil
	}
	return "cut postings", w.postings.Truncate(max(w.extents.End(), posting.ExtentAlign))
}

// lastPostings are the n postings that lie last in the file.
func (u *upkeep) lastPostings(n int) []uint32 {
	v := u.w.ix.acquire()
	defer v.release()
	ids := v.postingIDs()
	block := func(id uint32) uint32 { p := v.postings.At(int(id)); return p.extent.Block }
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(block(b), block(a)) })
	return ids[:min(len(ids), n)]
}

// stepVacate moves vectors of the last runs to free slots before them, so that a
// sweep can cut the record files.
func (u *upkeep) stepVacate(ctx context.Context) (string, error) {
	w, ix := u.w, u.w.ix
	if !u.unhurried() || time.Now().UnixNano() < u.noVacate.Load() {
		return "", nil
	}
	v := ix.acquire()
	defer v.release()
	loose := v.state.Slots - v.state.Vectors
	if float64(loose) <= looseSlots*float64(v.state.Slots) || int64(loose)*int64(ix.itemBytes()) <= looseLeast {
		return "", nil
	}
	want := int(float64(v.state.Vectors)*1.1)/catalog.RunSlots + 1
	entries := v.lastLive(want, min(vacateBatch, w.freeBelow(want)))
	if len(entries) == 0 {
		return "", nil
	}
	members, _, err := ix.readMembers(ctx, v, entries)
	if err != nil {
		if lasting(err) { // what cannot be read cannot be moved: not now again
			u.noVacate.Store(time.Now().Add(damageDelay).UnixNano())
		}
		return "", err
	}
	w.limitSlots(uint32(want))
	defer w.limitSlots(0)
	return "vacate", u.replace(ctx, members, request{direct: true})
}

// freeBelow counts the slots that may be given out in the runs before first. While
// a snapshot or a long query holds an older version there may be none, and what is
// moved then only goes to a new end of the files.
func (w *writer) freeBelow(first int) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reclaim()
	v := w.ix.current.Load()
	for r := range min(first, v.runs.Len()) {
		// A run that nothing lives in is given out as a whole, or not yet.
		if x := v.runs.At(r); x.live != 0 || w.slots.held[uint32(r)] == 0 {
			n += bits.OnesCount16(w.slots.free(uint32(r), &x))
		}
	}
	return n
}

// vacateBatch is how many vectors one step moves: the more at one time, the fewer
// postings are written for each.
const vacateBatch = 8 * moveBatch

// lastLive lists about n live slots of the runs from first on, the last ones.
func (v *version) lastLive(first, n int) []posting.Entry {
	var out []posting.Entry
	for r := v.runs.Len() - 1; r >= first && len(out) < n; r-- {
		x := v.runs.At(r)
		for i := range catalog.RunSlots {
			if x.live>>i&1 != 0 {
				out = append(out, posting.Entry{Slot: uint32(r*catalog.RunSlots + i), Generation: x.gens[i]})
			}
		}
	}
	return out
}

// limitSlots has slots given out below a run, while what lies behind is emptied.
func (w *writer) limitSlots(run uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots.limit(run)
}

// emptyTail returns the run from which on the record files hold nothing that
// anyone can read, when that is worth a cut, else 0.
func (w *writer) emptyTail() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reclaim()
	v := w.ix.current.Load()
	n := v.runs.Len()
	for ; n > 1; n-- {
		if x := v.runs.At(n - 1); x.live != 0 || w.slots.held[uint32(n-1)] != 0 {
			break
		}
	}
	slots := (v.runs.Len() - n) * catalog.RunSlots
	if int64(slots)*int64(w.ix.itemBytes()) <= looseLeast || float64(slots) <= looseSlots/4*float64(v.state.Slots) {
		return 0
	}
	return n
}

// cutRuns takes the runs from n on out of the index, if they are still empty.
func (t *txn) cutRuns(n int) bool {
	for r := n; r < t.runs.Len(); r++ {
		if x := t.runs.At(r); x.live != 0 || t.w.slots.held[uint32(r)] != 0 {
			return false
		}
	}
	t.runs.Resize(n)
	t.state.Slots = uint64(n) * catalog.RunSlots
	t.batch.DeleteRuns(t.w.ix.row.ID, uint32(n))
	for r := range t.dirty {
		if int(r) >= n {
			delete(t.dirty, r)
		}
	}
	return true
}

// trim cuts the record files behind their first runs.
func (w *writer) trim(runs int) error {
	ix, slots := w.ix, uint32(runs*catalog.RunSlots)
	shorten := func(u interface {
		Size() (int64, error)
		Truncate(int64) error
	}, to int64) error {
		size, err := u.Size()
		if err != nil || size <= to {
			return err
		}
		return u.Truncate(to)
	}
	if err := shorten(w.records, ix.records.Offset(slots)); err != nil || ix.refine == nil {
		return err
	}
	return shorten(w.refine, ix.refine.Offset(slots))
}
