package sprat

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/posting/lire"
)

// upkeep keeps the postings of an index in shape behind its writers: it folds
// deltas, cuts postings that have grown too large, gives up those that have become
// too small, re-places vectors that another posting has come nearer to, and gives
// space back. The protocol stands in package posting/lire. One goroutine does all
// of it, step by step; each step commits by itself, and what is left to do is found
// from the directory and the deltas, so a restart forgets nothing.
type upkeep struct {
	w     *writer
	queue *lire.Queue

	ctx  context.Context
	end  context.CancelFunc
	done sync.WaitGroup
	kick chan struct{} // one token: there may be something to do
	// manual keeps the goroutine from starting: a test steps by hand.
	manual bool

	entries atomic.Int64 // in deltas, about
	hurried atomic.Int64 // callers that wait for all to be done
	crowded atomic.Bool  // what the indexes keep in memory is past the limit
	purge   wish         // every dead entry shall go
	order   wish         // scattered records shall be brought together
	written atomic.Int64 // when the last group committed, Unix nanoseconds

	// Of the goroutine, or of the test that steps; held during a step, and by a
	// repair, which wants none.
	stepping sync.Mutex
	sweep    sweep
	pulled   int64  // length of the posting file at which gaps were last filled
	pulledAt uint64 // state.Changes of then
	// blind says that a posting was left out because it could not be read. Rounds
	// of one step run side by side.
	blind atomic.Bool
	// noVacate is until when no vectors are moved out of the end of the record
	// files because one could not be read, Unix nanoseconds.
	noVacate atomic.Int64

	tidy tidying
	fill filling

	calibrating chan error // of the calibration under way, nil when there is none

	mu struct {
		sync.Mutex
		worst   float64       // urgency of the posting most in need of a cut
		fault   error         // why the last step failed; nil after one that did not
		stepped chan struct{} // closed and replaced after each step
		steps   uint64
		idle    bool // the last step found nothing to do, and nothing runs beside
		beside  bool // the last step found nothing to do but to wait for what runs beside
	}
}

// wish is something that the upkeep does only when somebody asks for it.
type wish struct {
	asked atomic.Int64 // callers that wait for it
	done  atomic.Int64 // how often it was done
}

const (
	// idleDelay is how long after the last write what is left in deltas is folded.
	idleDelay = 500 * time.Millisecond
	// longRest is how long the upkeep of an index that nobody writes to rests.
	longRest = 10 * time.Second
	// faultDelay is how long the upkeep waits after an error before it tries again.
	faultDelay = 500 * time.Millisecond
	// maxPaceDelay bounds the wait of one call that is merely slowed.
	maxPaceDelay = 2 * time.Second
	// roundPostings is how many postings one step works on.
	roundPostings = 16
	// pressure is the share of the delta budget from which deltas are folded
	// whatever their size.
	pressure = 0.35
)

func newUpkeep(w *writer) *upkeep {
	u := &upkeep{w: w, queue: lire.NewQueue(), kick: make(chan struct{}, 1), manual: w.ix.store.hooks.manual}
	u.ctx, u.end = context.WithCancel(inBackground(context.Background()))
	u.mu.stepped = make(chan struct{})
	return u
}

// start looks at what earlier processes left undone, then runs until stop.
func (u *upkeep) start() {
	v := u.w.ix.acquire()
	defer v.release()
	for id := range v.postings.Len() {
		p := v.postings.At(id)
		// What a bulk build made stays as it is until it changes.
		if p.exists() && p.delta.Len() > 0 {
			u.entries.Add(int64(p.delta.Len()))
			u.consider(uint32(id), &p)
		}
	}
	if u.manual {
		return
	}
	u.done.Go(u.run)
}

// stop ends the goroutine after the step under way.
func (u *upkeep) stop() {
	u.end()
	u.done.Wait()
}

func (u *upkeep) run() {
	timer := time.NewTimer(idleDelay)
	defer timer.Stop()
	for u.ctx.Err() == nil {
		did, err := u.step(u.ctx)
		wait := time.Duration(0)
		switch {
		case u.ctx.Err() != nil:
			return
		case err != nil:
			u.w.ix.store.log.Error("maintenance step failed", "index", u.w.ix.Name(), "err", err)
			if wait = faultDelay; u.w.usable() != nil {
				wait = longRest
			}
		case did == "":
			wait = u.restFor()
		}
		if wait == 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-u.ctx.Done():
		case <-timer.C:
		case <-u.kick:
		}
	}
}

// restFor is how long the upkeep rests after it found nothing to do. While what it
// left alone may become due it looks often; later only for the sake of what queries
// hold on to.
func (u *upkeep) restFor() time.Duration {
	if u.calibrating == nil && time.Since(time.Unix(0, u.written.Load())) > 2*tidyDelay {
		return longRest
	}
	return idleDelay
}

// wake tells the goroutine that there may be something to do.
func (u *upkeep) wake() {
	select {
	case u.kick <- struct{}{}:
	default:
	}
}

// noticed takes in what a group of writers has changed.
func (u *upkeep) noticed(t *txn) {
	u.noticedEntries(t)
	u.written.Store(time.Now().UnixNano())
	u.wake()
}

// noticedEntries takes in what a change has added to deltas.
func (u *upkeep) noticedEntries(t *txn) {
	v := u.w.ix.current.Load()
	for _, id := range t.order {
		u.entries.Add(int64(len(t.deltas[id])))
		if p := v.postings.At(int(id)); p.exists() {
			u.consider(id, &p)
		}
	}
}

// extentEntries is the number of entries of a posting's extent.
func (ix *Index) extentEntries(e posting.Extent) int { return ix.layout.Capacity(int(e.Bytes)) }

// consider queues a posting that needs something.
func (u *upkeep) consider(id uint32, p *postingRow) {
	ix := u.w.ix
	urgency := ix.limits.Urgency(lire.Shape{Extent: ix.extentEntries(p.extent), Delta: p.delta.Len()})
	if urgency > 0 {
		u.queue.Add(id, urgency)
	}
	if urgency > 1 {
		u.mu.Lock()
		u.mu.worst = max(u.mu.worst, urgency)
		u.mu.Unlock()
	}
}

// deltaBudget is the memory, in bytes, that entries outside of extents may take.
func (ix *Index) deltaBudget() int64 { return ix.store.writeShare(6, 256<<20) }

// writeShare is an index's share of a part of the memory limit, in bytes: 1/part of
// what is not for the program itself, at most most, divided among the indexes.
func (s *Store) writeShare(part, most int64) int64 {
	indexes := max(s.indexCount.Load(), 1)
	return max(min((s.opts.MemoryLimit-baseMemory)/part, most)/indexes, 256<<10)
}

// deltaLoad is the share of the budget that is used. Memory of a delta is up to
// twice its entries.
func (u *upkeep) deltaLoad() float64 {
	bytes := u.entries.Load() * int64(u.w.ix.layout.EntryBytes()+1)
	return 1.5 * float64(bytes) / float64(u.w.ix.deltaBudget())
}

// debt is how far the upkeep is behind, 1 being as far as it may be, or the error
// that keeps it from going on.
func (u *upkeep) debt() (float64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	// A posting of one and a half times the size at which it is cut, three times its
	// target, is as large as any may get. Writers stop a little before that, for the
	// groups under way and what a cut moves to its neighbours.
	debt := max(u.deltaLoad(), 2.5*(u.mu.worst-1))
	if u.mu.fault != nil && debt >= 1 {
		return debt, u.mu.fault
	}
	return debt, nil
}

// await waits for the time given, or, when blocked, for the next step.
func (u *upkeep) await(ctx context.Context, wait time.Duration, blocked bool) error {
	u.mu.Lock()
	stepped := u.mu.stepped
	u.mu.Unlock()
	u.wake()
	var after <-chan time.Time
	if !blocked {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		after, stepped = timer.C, nil
	}
	select {
	case <-after:
	case <-stepped:
	case <-ctx.Done():
		return ctx.Err()
	case <-u.ctx.Done():
		return ErrClosed
	}
	return nil
}

// step does the most urgent thing and says in a word what it did; "" when there
// is nothing to do.
func (u *upkeep) step(ctx context.Context) (did string, err error) {
	u.stepping.Lock()
	defer u.stepping.Unlock()
	for _, try := range []func(context.Context) (string, error){
		u.stepRecheck, u.stepQueue, u.stepChecks, u.stepPressed, u.stepDrains, u.stepSweep, u.stepFilters, u.stepCalibrate, u.stepVacate, u.stepIdle, u.stepPullDown, u.stepTidy,
	} {
		// After a commit of unknown outcome not a byte more is written: a batch that
		// may be durable names some.
		if err = u.w.usable(); err != nil {
			break
		}
		if did, err = try(ctx); did != "" || err != nil {
			break
		}
	}
	if err != nil && u.ctx.Err() != nil {
		err = ErrClosed // and not that the step was cut off by that
	}
	u.newWorst()
	u.mu.Lock()
	defer u.mu.Unlock()
	nothing := did == "" && err == nil
	u.mu.fault, u.mu.idle, u.mu.beside = publicError(err), nothing && u.calibrating == nil, nothing && u.calibrating != nil
	u.mu.steps++
	close(u.mu.stepped)
	u.mu.stepped = make(chan struct{})
	return did, err
}

// stepQueue works on the most urgent postings. A posting to cut is worked on
// with few others: its members come into memory.
func (u *upkeep) stepQueue(ctx context.Context) (string, error) {
	var ids []uint32
	cuts := 0
	for len(ids) < 4*roundPostings && cuts < 16 {
		id, urgency, ok := u.queue.Pop()
		if !ok {
			break
		}
		if urgency > 1 {
			cuts++
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return "", nil
	}
	did, err := u.rounds(ctx, ids, false)
	if err != nil {
		for _, id := range ids { // to be found again
			u.queue.Add(id, 1)
		}
		return did, err
	}
	return cmp.Or(did, "look"), nil
}

// newWorst finds the posting most in need of a cut.
func (u *upkeep) newWorst() {
	ix := u.w.ix
	v := ix.acquire()
	defer v.release()
	worst := 0
	for id := range v.postings.Len() {
		if p := v.postings.At(id); p.delta.Len() > 0 && !ix.damage.bad(uint32(id)) {
			worst = max(worst, ix.extentEntries(p.extent)+p.delta.Len())
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.worst = float64(worst) / float64(ix.limits.Split)
	ix.store.divide(false)
	u.crowded.Store(baseMemory+ix.store.memoryHeld() > ix.store.opts.MemoryLimit)
}

// stepPressed folds the largest deltas when they take too much memory.
func (u *upkeep) stepPressed(ctx context.Context) (string, error) {
	if u.deltaLoad() < pressure {
		return "", nil
	}
	return u.foldLargest(ctx)
}

// stepIdle folds what is left in deltas when nobody has written for a while.
func (u *upkeep) stepIdle(ctx context.Context) (string, error) {
	if !u.unhurried() {
		return "", nil
	}
	return u.foldLargest(ctx)
}

// unhurried says that nobody has written for a while, or that somebody waits for
// all to be done.
func (u *upkeep) unhurried() bool {
	return time.Since(time.Unix(0, u.written.Load())) >= idleDelay || u.hurried.Load() > 0 || u.manual
}

func (u *upkeep) foldLargest(ctx context.Context) (string, error) {
	v := u.w.ix.acquire()
	var ids []uint32
	size := map[uint32]int{}
	for id := range v.postings.Len() {
		if p := v.postings.At(id); p.delta.Len() > 0 && !u.w.ix.damage.bad(uint32(id)) {
			ids = append(ids, uint32(id))
			size[uint32(id)] = p.delta.Len()
		}
	}
	v.release()
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b)) })
	if len(ids) == 0 {
		return "", nil
	}
	return u.rounds(ctx, ids[:min(len(ids), 4*roundPostings)], true)
}

// rounds works on postings in a few rounds side by side, so that some compute while
// others wait for the volume; in one while there are queries.
func (u *upkeep) rounds(ctx context.Context, ids []uint32, pressed bool) (string, error) {
	if len(ids) < 2 || u.manual || !u.w.ix.store.compute.quiet() {
		return u.round(ctx, ids, pressed)
	}
	var did [4]string
	g, ctx := errgroup.WithContext(ctx)
	for i := range did {
		var part []uint32
		for k := i; k < len(ids); k += len(did) {
			part = append(part, ids[k])
		}
		g.Go(func() (err error) {
			did[i], err = u.round(ctx, part, pressed)
			return err
		})
	}
	err := g.Wait()
	return cmp.Or(did[:]...), err
}

// Settle waits until the maintenance of the index has nothing left to do: deltas
// are folded, postings within their limits, freed space is given back. What could
// not be read is tried once more. Writers that go on meanwhile prolong it. Errors:
// the context's, ErrClosed, and what keeps maintenance from going on.
func (ix *Index) Settle(ctx context.Context) error {
	leave, err := ix.changeable()
	if err != nil {
		return err
	}
	defer leave()
	u := ix.writer.upkeep
	u.tryAgain()
	u.hurried.Add(1)
	defer u.hurried.Add(-1)
	for steps := 0; ; steps++ {
		u.mu.Lock()
		stepped, idle, beside, fault := u.mu.stepped, u.mu.idle, u.mu.beside, u.mu.fault
		u.mu.Unlock()
		switch {
		case steps < 2: // the first may have begun before the latest change
		case fault != nil:
			return fault
		case idle:
			return nil
		}
		if !beside || steps < 2 { // what runs beside wakes the upkeep when it is done
			u.wake()
		}
		if err := u.wait(ctx, stepped); err != nil {
			return err
		}
	}
}

// awaitStep waits for the end of a step; it returns the error that keeps steps
// from being done.
func (u *upkeep) awaitStep(ctx context.Context) error {
	u.mu.Lock()
	stepped, fault := u.mu.stepped, u.mu.fault
	u.mu.Unlock()
	if fault != nil {
		return fault
	}
	u.wake()
	return u.wait(ctx, stepped)
}

// wait waits for a step to end.
func (u *upkeep) wait(ctx context.Context, stepped <-chan struct{}) error {
	select {
	case <-stepped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-u.ctx.Done():
		return ErrClosed
	}
}
