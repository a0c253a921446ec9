package iopath

import (
	"context"
	"sync"
	"sync/atomic"
)

// Completion is the outcome of one read.
type Completion struct {
	Tag  uint64 // as given to Batch.Read
	Data []byte // exactly the bytes asked for, valid until Batch.Release; nil with an error
	Err  error  // nil or a *ReadError
}

// Batch collects reads, submits them in waves and hands out their completions
// as they arrive. It may be used for several waves, whose buffers all stay
// valid until Release. A Batch belongs to one goroutine at a time.
type Batch struct {
	engine *Engine

	// Owner only.
	staged  wave       // reads since the last Submit
	refused wave       // staged reads that cannot be tried
	ready   *request   // taken from mu.head, not yet returned by Next
	pending int        // submitted, not yet returned by Next
	used    []*request // every request since the last Release
	free    []*request // spare requests
	driver  driver     // not nil while reads are with one
	reads   int64
	bytes   int64
	waves   int64

	class  Class
	places int64          // held in the share of those behind the foreground
	flows  [maxRings]flow // what waits in each of the backend's queues, under its lock

	released atomic.Bool   // set under mu; the engine peeks at it without
	wake     chan struct{} // capacity 1; may hold a stale token, so waiters loop

	// Owner and engine.
	mu struct {
		sync.Mutex
		head, tail  *request // delivered, not yet taken by the owner
		outstanding int      // with the engine
		waiting     bool     // the owner is about to sleep on wake
	}
}

// maxSpareRequests bounds the spare requests that an idle batch keeps.
const maxSpareRequests = 1024

// Read adds a read of n bytes at offset off of f to the next wave. Any off >= 0
// and n in 1..MaxReadBytes will do; the engine rounds outward to the alignment
// and trims. The tag comes back with the completion. A read that cannot be
// tried completes with an error after Submit, like any other.
func (b *Batch) Read(f *File, off int64, n int, tag uint64) {
	r := b.request()
	r.file, r.off, r.n, r.tag = f, off, n, tag
	if f == nil || f.engine != b.engine || off < 0 || n < 1 || n > MaxReadBytes ||
		off > maxOffset-int64(n) {
		r.err = ErrInvalidRead
		b.refused.add(r)
		return
	}
	r.round()
	b.staged.add(r)
}

// maxOffset keeps the rounded end of a read representable.
const maxOffset = 1<<62 - 1

// request takes a clean request from the spares.
func (b *Batch) request() *request {
	var r *request
	if last := len(b.free) - 1; last >= 0 {
		r = b.free[last]
		b.free = b.free[:last]
	} else {
		r = new(request)
	}
	r.batch = b
	b.used = append(b.used, r)
	return r
}

// Submit sends the reads added since the last Submit as one wave. It returns at
// once unless the queue is full, in which case it waits until ctx ends. ctx
// also covers the wait in the queue: a read still queued as ctx ends completes
// with its error. On error none of the wave's reads was submitted and the wave
// is forgotten.
func (b *Batch) Submit(ctx context.Context) error {
	w, refused := b.staged, b.refused
	b.staged, b.refused = wave{}, wave{}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ops, bytes int64
	var kept wave
	for r := w.head; r != nil; {
		next := r.next
		r.next = nil
		r.ctx = ctx
		if r.file.acquire() {
			kept.add(r)
			ops += r.ops()
			bytes += int64(r.length)
		} else {
			r.err = ErrClosed
			refused.add(r)
		}
		r = next
	}
	if kept.n > 0 {
		if err := b.enterClass(ctx, kept.n); err != nil {
			b.engine.release(kept)
			return err
		}
		b.mu.Lock()
		b.mu.outstanding += int(kept.n)
		b.mu.Unlock()
		if err := b.engine.back.submit(ctx, b, kept); err != nil {
			b.withdraw(kept)
			return err
		}
		b.count(ops, bytes)
	}
	b.pending += int(kept.n + refused.n)
	b.deliverRefused(refused)
	return nil
}

// withdraw undoes a wave that the engine did not take.
func (b *Batch) withdraw(w wave) {
	for r := w.head; r != nil; r = r.next {
		r.file.release()
	}
	b.mu.Lock()
	b.mu.outstanding -= int(w.n)
	b.mu.Unlock()
}

// count adds one wave to the counters of the batch and the engine.
func (b *Batch) count(ops, bytes int64) {
	b.reads += ops
	b.bytes += bytes
	b.waves++
	c := &b.engine.counters
	c.reads.Add(ops)
	c.bytes.Add(bytes)
	c.waves.Add(1)
}

// deliverRefused makes reads that were not tried available to Next.
func (b *Batch) deliverRefused(w wave) {
	b.engine.counters.errors.Add(w.n)
	for r := w.head; r != nil; {
		next := r.next
		r.delivered = true
		r.next = b.ready
		b.ready = r
		r = next
	}
}

// Next returns the next completion in order of arrival, waiting for one until
// ctx ends, which may be noticed a few milliseconds late. It returns ErrDrained
// when nothing is pending. After the error of ctx the reads are still pending:
// call Next again or Release.
func (b *Batch) Next(ctx context.Context) (Completion, error) {
	if b.pending == 0 {
		return Completion{}, ErrDrained
	}
	for b.ready == nil && !b.take() {
		if err := b.wait(ctx); err != nil {
			return Completion{}, err
		}
	}
	r := b.ready
	b.ready, r.next = r.next, nil
	b.pending--
	return r.completion(), nil
}

// wait returns when something may have been delivered.
func (b *Batch) wait(ctx context.Context) error {
	if b.driver != nil {
		return b.driver.drive(ctx, b)
	}
	select {
	case <-b.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// driver is a way to have reads carried out by the goroutine that waits for
// them.
type driver interface {
	// drive works on the reads of the batch until some are delivered or ctx
	// ends. When none of the batch's reads is left with the driver it clears
	// Batch.driver.
	drive(ctx context.Context, b *Batch) error

	// leave is told that the batch will not drive any more.
	leave()
}

// take moves what was delivered to the owner's list. When there is nothing it
// announces that the owner is about to sleep.
func (b *Batch) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = b.mu.head
	b.mu.head, b.mu.tail = nil, nil
	b.mu.waiting = b.ready == nil && b.driver == nil
	return b.ready != nil
}

// Staged is the bytes that the reads of the next wave take in buffers.
func (b *Batch) Staged() int64 {
	var n int64
	for r := b.staged.head; r != nil; r = r.next {
		n += int64(r.length+pageBytes-1) &^ (pageBytes - 1)
	}
	return n
}

// Pending is the number of submitted reads that Next has not yet returned.
func (b *Batch) Pending() int { return b.pending }

// Counters is the work submitted since NewBatch: operations as the volume
// charges them (ceil(aligned length / 256 KiB) for each read), aligned bytes,
// and waves.
func (b *Batch) Counters() (reads, bytes, waves int64) {
	return b.reads, b.bytes, b.waves
}

// Release ends the batch: every Completion.Data becomes invalid and the batch
// must not be used again. Reads may still be in flight; their buffers stay with
// the engine until the kernel has finished with them, and reads still queued
// are dropped.
func (b *Batch) Release() {
	b.leaveClass()
	if b.driver != nil {
		defer b.driver.leave()
	}
	b.mu.Lock()
	b.released.Store(true)
	for _, r := range b.used {
		if r.delivered {
			b.engine.pool.put(&r.buf)
		}
	}
	idle := b.mu.outstanding == 0
	b.mu.Unlock()
	if idle {
		b.recycle()
	}
}

// deliver hands a finished request to the batch and reports whether its owner
// sleeps and must be woken with signal. After Release it only frees the buffer,
// and the last delivery returns the batch to the engine.
func (b *Batch) deliver(r *request) (sleeping bool) {
	b.mu.Lock()
	r.delivered = true
	b.mu.outstanding--
	if b.released.Load() {
		b.engine.pool.put(&r.buf)
		idle := b.mu.outstanding == 0
		b.mu.Unlock()
		if idle {
			b.recycle()
		}
		return false
	}
	if b.mu.tail == nil {
		b.mu.head = r
	} else {
		b.mu.tail.next = r
	}
	b.mu.tail = r
	sleeping = b.mu.waiting
	b.mu.waiting = false
	b.mu.Unlock()
	return sleeping
}

// signal wakes the owner.
func (b *Batch) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// recycle clears the batch, all of whose reads are back, and gives it to the
// engine.
func (b *Batch) recycle() {
	for _, r := range b.used {
		*r = request{}
		if len(b.free) < maxSpareRequests {
			b.free = append(b.free, r)
		}
	}
	clear(b.used)
	b.used = b.used[:0]
	b.staged, b.refused, b.ready, b.driver = wave{}, wave{}, nil, nil
	b.pending, b.reads, b.bytes, b.waves = 0, 0, 0, 0
	b.mu.head, b.mu.tail, b.mu.waiting = nil, nil, false
	b.released.Store(false)
	b.engine.putBatch(b)
}

// add appends a request to the wave.
func (w *wave) add(r *request) {
	if w.tail == nil {
		w.head = r
	} else {
		w.tail.next = r
	}
	w.tail = r
	w.n++
}
