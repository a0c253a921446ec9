package sprat

import (
	"context"
	"errors"
)

// A stream in the order of its data puts group after group into the same few
// postings, faster than they are cut, and what slows writers down on the whole
// (writer.pace) learns of it a group late. So the group itself keeps the bound: a
// posting that is due to be cut takes no more than mostPosting entries, and a call
// that would bring more waits until it has been cut.

// mostPosting is the bound of a posting, in multiples of its target. A single call
// may bring more than that to one posting that was not due to be cut.
const mostPosting = 3

// errCrowded says that a call has to wait for the cut of request.crowd.
var errCrowded = errors.New("a posting takes no more until it is cut")

// crowdedBy looks for a posting that has no room for a request.
func (t *txn) crowdedBy(r *request) (id uint32, crowded bool) {
	limits, damage := t.w.ix.limits, &t.w.ix.damage
	if t.w.upkeep.manual { // nobody would cut it
		return 0, false
	}
	brings := make(map[uint32]int)
	for i := range r.puts {
		if r.puts[i].move { // of maintenance, which must go on
			return 0, false
		}
		for _, p := range r.puts[i].posts {
			brings[p]++
		}
	}
	for p, n := range brings {
		x := t.postings.At(int(p))
		has := t.w.ix.extentEntries(x.extent) + x.delta.Len() + len(t.deltas[p])
		if x.exists() && has > limits.Split && has+n > mostPosting*limits.Target && !damage.bad(p) {
			return p, true
		}
	}
	return 0, false
}

// awaitCut waits until a posting is no longer what it was when a request met it,
// or does not take members any more.
func (w *writer) awaitCut(ctx context.Context, id uint32) error {
	row := func() postingRow {
		v := w.ix.acquire()
		defer v.release()
		if int(id) >= v.postings.Len() {
			return postingRow{}
		}
		return v.postings.At(int(id))
	}
	before := row()
	if before.exists() {
		w.upkeep.consider(id, &before)
	}
	for faults := 0; ; {
		now := row()
		if !now.exists() || now.tag != before.tag || now.flags != before.flags || w.ix.damage.bad(id) {
			return nil
		}
		err := w.upkeep.awaitStep(ctx)
		if err == nil {
			continue
		}
		if faults++; ctx.Err() != nil || faults > 2 {
			return err
		}
		if err := w.upkeep.await(ctx, 0, true); err != nil { // it tries again by itself
			return err
		}
	}
}
