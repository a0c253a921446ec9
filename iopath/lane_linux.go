package iopath

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// lane is a small ring without an owner, for the caller who is alone. Handing a
// wave to an owner and being woken by it costs two changes of thread, which on
// an idle engine is most of the processor time of a small wave and much of its
// latency. So a wave that finds no read in flight is submitted by its caller,
// who then waits in the kernel itself, in Batch.Next. Under load the owners'
// rings are cheaper, because they serve many callers with one call, and there
// the lane does not come into play: something is always in flight.
//
// The lane belongs to one batch from Submit until its last read has completed.
// mu is held for every use of the ring; it is contended only when somebody else
// has to finish a batch's reads, after Release and in Close.
type lane struct {
	busy atomic.Bool // a batch has it, or it is closed

	mu sync.Mutex
	slots
	closed bool
}

// laneSlots bounds the waves that a lane takes. Larger ones share the cost of
// the hand-over among enough reads.
const laneSlots = 64

// laneLook is how often a caller that waits in the kernel looks whether its
// context has ended; a device answers sooner.
const laneLook = 5 * time.Millisecond

// openLane makes the lane, nil where the kernel does not grant another ring: it
// saves time and nothing depends on it.
func openLane(e *Engine, open openRing) *lane {
	n := min(laneSlots, e.info.Depth)
	r, err := open(uint32(n), anyThread)
	if err != nil {
		return nil
	}
	l := new(lane)
	l.init(e, r, n)
	l.files.ring, l.memory.ring = maxRings, maxRings
	return l
}

// try submits a wave of the batch if the lane is free, or is the batch's
// already, and no other read is in flight.
func (l *lane) try(b *Batch, w wave) bool {
	if l == nil || w.n > int64(len(l.reads)) {
		return false
	}
	if b.driver == nil {
		if l.e.gate.inside.Load() != 0 || !l.busy.CompareAndSwap(false, true) {
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.enterGate(int(w.n)) {
		if l.flying() == 0 {
			l.part(b)
		}
		return false
	}
	b.driver = l
	l.e.counters.laned.Add(1)
	for r := w.head; r != nil; {
		next := r.next
		r.next = nil
		l.admit(r)
		r = next
	}
	l.settle()
	l.e.counters.enters.Add(1)
	_ = l.ring.enter(noWait) // what is not taken goes with the next call
	return true
}

// enterGate takes n places and as many slots, or none.
func (l *lane) enterGate(n int) bool {
	g := &l.e.gate
	if l.closed || n > len(l.spare) || g.inside.Load() != int64(l.flying()) {
		return false
	}
	got := g.enter(n)
	if got < n {
		g.leave(got)
		return false
	}
	return true
}

// drive waits in the kernel for reads of the batch.
func (l *lane) drive(ctx context.Context, b *Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	if l.flying() > 0 {
		n, _ = l.hear() // what came back with Submit, as from the page cache, costs no call
	}
	for n == 0 && l.flying() > 0 {
		timeout := time.Duration(0)
		if ctx.Done() != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			timeout = laneLook
			if deadline, ok := ctx.Deadline(); ok {
				timeout = max(min(timeout, time.Until(deadline)), time.Microsecond)
			}
		}
		n = l.listen(timeout)
	}
	if l.flying() == 0 {
		l.part(b)
	}
	return nil
}

// listen waits for events, at most for the timeout, and works them off.
func (l *lane) listen(timeout time.Duration) int {
	l.e.counters.enters.Add(1)
	err := l.ring.enter(timeout)
	n, _ := l.hear()
	if err == nil || n > 0 {
		return n
	}
	switch {
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.ETIME):
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY):
		time.Sleep(enterPause)
	default:
		l.closed = true
		_ = l.abandon(err) // later waves go to an owner
	}
	return 0
}

// part ends the lane's time with a batch.
func (l *lane) part(b *Batch) {
	b.driver = nil
	if !l.closed {
		l.busy.Store(false)
	}
}

// leave takes the lane from a batch that was released. Reads still in flight
// are brought home by a goroutine, so that their buffers come free.
func (l *lane) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flying() > 0 {
		l.e.asides.Go(l.drain)
	} else if !l.closed {
		l.busy.Store(false)
	}
}

// drain brings all reads home and frees the lane.
func (l *lane) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.flying() > 0 {
		l.listen(0)
	}
	if !l.closed {
		l.busy.Store(false)
	}
}

// stop brings all reads home, whoever waits for them, and ends the lane.
func (l *lane) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.flying() > 0 {
		l.listen(0)
	}
	l.closed = true
	l.busy.Store(true)
	l.ring.close()
}
