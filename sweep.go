package sprat

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spratdb/sprat/internal/catalog"
)

// sweep is a walk over all postings that finds those that hold too many entries
// of dead slots. It belongs to the upkeep's goroutine.
type sweep struct {
	under  bool
	next   int    // posting id to go on from
	deaths uint64 // counted when it began
	purge  bool   // rewrite every posting that holds any dead entry
	// retired are slots that may be given out again when no entry of them is
	// left: their generation would wrap.
	retired []uint32
	// cut, when not 0, is the run from which on the record files shall end: no
	// entry may name a slot of those runs when they come back.
	cut int
}

// purging says that every dead entry has to go.
func (s *sweep) purging() bool { return s.under && (s.purge || s.cut > 0 || len(s.retired) > 0) }

// sweepDue says that a fifth of all entries may be dead. Each death leaves as
// many as there are copies.
func sweepDue(v *version, copies int) bool {
	return 5*v.state.Deaths*uint64(copies) > v.state.Entries && v.state.Deaths > 0
}

// sweepPostings is how many postings one step of a sweep looks at.
const sweepPostings = 4 * roundPostings

// stepSweep begins a sweep when one is due, and goes on with it.
func (u *upkeep) stepSweep(ctx context.Context) (string, error) {
	ix := u.w.ix
	v := ix.acquire()
	defer v.release()
	s := &u.sweep
	if !s.under {
		cut := 0
		if ix.damage.anyPosting() == nil { // who knows what those name
			cut = u.w.emptyTail()
		}
		purge := u.purge.asked.Load() > 0
		if !sweepDue(v, ix.row.Copies) && !purge && cut == 0 {
			return "", nil
		}
		*s = sweep{under: true, deaths: v.state.Deaths, purge: purge, retired: v.retired(), cut: cut}
		u.blind.Store(false)
		u.w.limitSlots(uint32(cut))
	}
	var ids []uint32
	for ; s.next < v.postings.Len() && len(ids) < sweepPostings; s.next++ {
		if exists(v, uint32(s.next)) {
			ids = append(ids, uint32(s.next))
		}
	}
	if len(ids) > 0 {
		did, err := u.round(ctx, ids, s.purge)
		if err != nil {
			s.next = int(ids[0]) // again
		}
		return cmp.Or(did, "sweep"), err
	}
	unseen := u.unseen()
	if unseen != nil { // entries of any slot may be left
		s.retired, s.cut = nil, 0
	}
	err := u.endSweep()
	if err == nil {
		switch {
		case s.purge && unseen != nil:
			err = fmt.Errorf("what is dead cannot be purged: %w", unseen)
		case s.purge:
			u.purge.done.Add(1)
		}
		*s = sweep{}
		u.w.limitSlots(0)
	}
	return "swept", err
}

// unseen is why the sweep that ends has not seen every posting, nil when it has.
func (u *upkeep) unseen() error {
	if !u.blind.Load() {
		return nil
	}
	return cmp.Or(u.w.ix.damage.anyPosting(), errUnread)
}

// errUnread is of a posting that could not be read and now can.
var errUnread = errors.New("a posting could not be read for a while")

// retired are the dead slots of the last generation.
func (v *version) retired() []uint32 {
	var out []uint32
	for r := range v.runs.Len() {
		x := v.runs.At(r)
		for i := range catalog.RunSlots {
			if x.live>>i&1 == 0 && x.gens[i] == lastGeneration {
				out = append(out, uint32(r*catalog.RunSlots+i))
			}
		}
	}
	return out
}

// endSweep counts the deaths that the sweep has seen as done, and gives the
// retired slots back.
func (u *upkeep) endSweep() error {
	w, s := u.w, &u.sweep
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	t.state.Deaths -= min(t.state.Deaths, s.deaths)
	for _, slot := range s.retired {
		r, i := runOf(slot)
		x := t.runs.At(r)
		if r < t.runs.Len() && x.live>>i&1 == 0 && x.gens[i] == lastGeneration {
			t.runs.Ref(r).gens[i] = 0
			t.dirty[uint32(r)] = true
			t.freed = append(t.freed, uint32(r))
		}
	}
	if err := w.overflowLeft(t); err != nil {
		return t.undo(err)
	}
	cut := s.cut > 0 && t.cutRuns(s.cut)
	if err := t.commit(); err != nil {
		return err
	}
	if len(s.retired) > 0 {
		w.ix.store.cache.clear() // it may hold a block of slot and generation
	}
	if !cut {
		return nil
	}
	return w.trim(s.cut)
}

// overflowLeft removes the long keys and metadata of vectors that died before
// the last restart.
func (w *writer) overflowLeft(t *txn) error {
	if t.state.Overflows == 0 {
		return nil
	}
	return w.ix.store.catalog.Overflows(w.ix.row.ID, func(slot uint32, gen uint8) error {
		r, i := runOf(slot)
		if x := t.runs.At(r); !(x.live>>i&1 != 0 && x.gens[i] == gen) && w.slots.held[uint32(r)]>>i&1 == 0 {
			t.batch.DeleteOverflow(w.ix.row.ID, slot, gen)
		}
		return nil
	})
}
