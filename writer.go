package sprat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/posting/lire"
)

// writer is the changing side of an index: it commits what callers put and
// delete, several calls in one group, and keeps the postings in shape behind
// them.
//
// mu is held while a group commits, which takes two syncs, and while maintenance
// publishes a step; it guards everything below it. publishing is held for the
// last part of a commit, from the batch to the new version: who needs the catalog
// and a version of the same moment reads both under it.
type writer struct {
	ix *Index

	queue struct {
		sync.Mutex
		waiting []*request
	}
	mu         sync.Mutex
	publishing sync.RWMutex

	extents  *posting.Allocator
	slots    *slotAllocator
	active   *segment
	gone     []garbage
	overflow []deadSlot // whose long keys and metadata the next batch removes
	reserved uint32     // posting ids below it are given out
	tag      atomic.Uint32

	kept      []keptGroup // landed groups in memory, the oldest first
	keptBytes int64

	postings *iopath.Updater
	records  *iopath.Updater
	refine   *iopath.Updater

	broken  atomic.Pointer[writeFault]
	upkeep  *upkeep
	started bool // counted among the open indexes of the store
}

// request is what one caller wants changed, all of it or nothing.
type request struct {
	puts    []arrival
	deletes []string
	buf     []byte // backs the items
	codes   []byte // backs the codes

	// direct has the records written to their slots at once, without landing, for
	// puts that lie together. fresh names postings whose vectors take runs of their
	// own.
	direct bool
	fresh  map[uint32]bool

	old map[string]knownTerms // of what it replaces or deletes, as it was a moment ago

	deleted int  // of deletes, how many keys were there
	moved   int  // of puts that are moves, how many still applied
	crowded bool // by the posting crowd; the caller waits for its cut and starts again
	crowd   uint32
	stale   bool // the index had no posting to put into; the caller starts again
	done    bool
	err     error
}

// prepareWriter makes what changes an index need, before anything can.
func (ix *Index) prepareWriter() error {
	if ix.store.opts.ReadOnly {
		return nil
	}
	v := ix.current.Load()
	var used []posting.Extent
	for id := range v.postings.Len() {
		if p := v.postings.At(id); p.exists() {
			used = append(used, p.extent)
		}
	}
	extents, err := posting.NewAllocator(used)
	if err != nil {
		return ix.inCatalog(err)
	}
	w := &writer{ix: ix, extents: extents, slots: newSlotAllocator(v)}
	w.upkeep = newUpkeep(w)
	open := func(u **iopath.Updater, name string) error {
		var err error
		*u, err = ix.store.engine.OpenUpdate(ix.path(name))
		return err
	}
	err = errors.Join(open(&w.postings, postingsFile), open(&w.records, recordsFile))
	if err == nil && ix.refine != nil {
		err = open(&w.refine, refineFile)
	}
	if err == nil {
		err = w.trim(v.runs.Len()) // a cut that a crash has kept from the files
	}
	if err == nil {
		err = w.clearSegments()
	}
	if err != nil {
		return errors.Join(err, w.close())
	}
	ix.writer = w
	return nil
}

// start begins the upkeep of the index.
func (w *writer) start() {
	if w != nil {
		w.ix.store.indexCount.Add(1)
		w.started = true
		w.upkeep.start()
	}
}

// stop ends the upkeep and waits for the step under way.
func (w *writer) stop() {
	if w != nil {
		w.upkeep.stop()
	}
}

// close closes the files; no call is in progress.
func (w *writer) close() error {
	if w == nil {
		return nil
	}
	if w.started {
		w.ix.store.indexCount.Add(-1)
	}
	var errs []error
	for i := range w.gone {
		for _, s := range w.gone[i].segments {
			errs = append(errs, s.close(), w.ix.store.engine.Remove(s.path))
		}
	}
	if w.active != nil && w.active.landed == 0 && w.usable() == nil {
		errs = append(errs, w.ix.store.engine.Remove(w.active.path))
	}
	for _, u := range []*iopath.Updater{w.postings, w.records, w.refine} {
		if u != nil {
			errs = append(errs, u.Close())
		}
	}
	return errors.Join(errs...)
}

// submit has a request committed, together with those that wait at the moment.
func (w *writer) submit(r *request) error {
	w.queue.Lock()
	w.queue.waiting = append(w.queue.waiting, r)
	w.queue.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.done { // whoever had the lock before may have taken it along
		w.queue.Lock()
		group := w.queue.waiting
		w.queue.waiting = nil
		w.queue.Unlock()
		w.commitGroup(group)
	}
	return r.err
}

// commitGroup commits requests in their order, as one change.
func (w *writer) commitGroup(group []*request) {
	t := w.begin()
	var err error
	seen := map[string]placed{} // what the group has done to keys so far
	waits := 0
	for _, r := range group {
		if err != nil {
			break
		}
		if r.crowd, r.crowded = t.crowdedBy(r); r.crowded {
			waits++
			continue
		}
		err = t.apply(r, seen)
	}
	if waits == len(group) {
		err = errCrowded
	}
	if err == nil {
		err = t.commit()
	} else {
		err = t.undo(err)
	}
	for _, r := range group {
		r.done = true
		if r.err = err; r.crowded && err == nil {
			r.err = errCrowded
		}
	}
	if err == nil {
		w.upkeep.noticed(t)
	}
}

// changeable enters a call that changes the index.
func (ix *Index) changeable() (leave func(), err error) {
	ix.users.RLock()
	switch err = ix.ended(); {
	case err != nil:
	case ix.writer == nil:
		err = invalid("store", "a store opened for writing", "a read-only one")
	default:
		err = ix.writer.usable()
	}
	if err != nil {
		ix.users.RUnlock()
		return nil, err
	}
	return ix.users.RUnlock, nil
}

// pace slows a caller down who is about to add n vectors, when the upkeep falls
// behind: then the delay grows, and at last the caller waits until it has caught
// up. A failing upkeep is the caller's error, not a wait without end.
func (w *writer) pace(ctx context.Context, n int) error {
	tries := 0             // the step under way may have begun before it was over
	for !w.upkeep.manual { // nobody would catch up
		debt, err := w.upkeep.debt()
		if err != nil && tries == 2 {
			return fmt.Errorf("maintenance cannot go on, and %w", err)
		}
		if err != nil { // what kept it from going on may be over: have it try again
			tries++
		}
		wait := lire.Pace(debt)
		if wait == 0 {
			return nil
		}
		blocked := wait == lire.Block
		if !blocked {
			wait = min(wait*time.Duration(n), maxPaceDelay)
		}
		if err := w.upkeep.await(ctx, wait, blocked); err != nil || !blocked {
			return err
		}
	}
	return nil
}
