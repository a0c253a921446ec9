package iopath

import (
	"context"
	"sync"
	"time"
)

// workers is the backend of blocking reads: a pool of at most depth goroutines,
// started only when a read finds no idle one, each of which costs a thread
// while it reads.
type workers struct {
	e     *Engine
	q     *queue
	depth int

	// more is signalled when the queue gets longer or closes; its lock is q.mu,
	// which also guards idle and started.
	more    *sync.Cond
	idle    int
	started int
	running sync.WaitGroup
}

func newWorkers(e *Engine, depth int) *workers {
	w := &workers{e: e, q: newQueue(&e.counters, 0), depth: depth}
	w.more = sync.NewCond(&w.q.mu)
	e.gate.told = w.told
	return w
}

func (w *workers) submit(ctx context.Context, b *Batch, wv wave) error {
	if err := w.q.push(ctx, &b.flows[0], b.class, wv); err != nil {
		return err
	}
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	for range min(int(wv.n), w.idle) {
		w.more.Signal()
	}
	// Idle workers that were signalled and have not yet run still count as idle,
	// and so do the reads they were signalled for, as waiting.
	missing := int(w.q.mu.waiting) - w.idle
	for range min(missing, w.depth-w.started) {
		w.started++
		w.running.Go(w.run)
	}
	return nil
}

// told wakes the workers that found the gate full.
func (w *workers) told() {
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	w.more.Broadcast()
}

// hurry takes what a batch has waiting to the front.
func (w *workers) hurry(b *Batch) { w.q.hurry(&b.flows[0]) }

// run is one worker: it takes reads in order until the queue closes.
func (w *workers) run() {
	if w.e.info.Engine == Mmap {
		panicOnFault()
	}
	for {
		r := w.take()
		if r == nil {
			return
		}
		if err := w.e.admit(r); err != nil {
			r.err = err
		} else {
			w.e.readBlocking(r, w.e.ask(r))
		}
		w.e.adapt.look()
		w.e.gate.leave(1)
		w.e.finishNow(r)
	}
}

// take waits for a read and a place in the gate; nil when the queue has closed.
func (w *workers) take() *request {
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	for {
		if w.q.mu.waiting > 0 && w.e.gate.enter(1) == 1 {
			return w.q.popLocked()
		}
		if w.q.mu.closed {
			return nil
		}
		w.idle++
		w.more.Wait()
		w.idle--
	}
}

func (w *workers) forget(*File) {}

func (w *workers) stop(grace time.Duration) bool {
	w.e.fail(w.q.close(), ErrClosed)
	w.q.mu.Lock()
	w.more.Broadcast()
	w.q.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		w.running.Wait()
		close(gone)
	}()
	return waitFor(gone, grace)
}

// readBlocking carries a read out in the calling goroutine, retries included.
// fault is the fate of the first attempt.
func (e *Engine) readBlocking(r *request, fault Fault) {
	for {
		if fault.Until != nil {
			<-fault.Until
		}
		dst := r.rest()
		e.cfg.Model.hold(len(dst))
		res := fault.apply(r.file.readAt(dst, r.start+int64(r.got)), dst)
		if r.absorb(res, &e.counters) == verdictDone {
			return
		}
		fault = e.ask(r)
	}
}

// aside carries an admitted read on in a goroutine of its own, with blocking
// reads: after EIO, and when a test delays it. The read keeps its place in the
// gate, so there are never more of these goroutines than Config.Depth.
func (e *Engine) aside(r *request, fault Fault) {
	e.asides.Go(func() {
		e.readBlocking(r, fault)
		e.gate.leave(1)
		e.finishNow(r)
	})
}

// readAt reads from the file in the way of its engine: a byte count, or a
// negative errno.
func (f *File) readAt(dst []byte, off int64) int {
	if f.mapped != nil {
		return f.mapped.readAt(dst, off)
	}
	return f.h.readAt(dst, off)
}

// waitFor waits for a channel to close, at most for d.
func waitFor(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
