package iopath

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Info says how an engine reads.
type Info struct {
	Engine      string `json:"engine"`       // IOUring, Pread or Mmap
	Ring        string `json:"ring"`         // what drives the rings: "own" or "giouring"; "" on other engines
	Direct      bool   `json:"direct"`       // page cache bypassed
	MemAlign    int    `json:"mem_align"`    // bytes: alignment direct I/O wants of memory; 1 when not direct
	OffsetAlign int    `json:"offset_align"` // bytes: reads are rounded outward to it; 1 when not direct
	Depth       int    `json:"depth"`        // most reads with the kernel at one time
	Cause       string `json:"cause"`        // why no better rung of the ladder was taken; "" for the best
}

// Engine reads files of one directory tree by one mode. It is safe for
// concurrent use.
type Engine struct {
	cfg      Config
	info     Info
	counters counters
	pool     *pool
	gate     gate
	adapt    *adapter            // nil when the depth is fixed
	share    *semaphore.Weighted // of the background class
	back     backend
	asides   sync.WaitGroup // goroutines of aside
	attempts atomic.Uint64  // of reads, when Config.Faults is set
	closed   atomic.Bool

	mu struct {
		sync.Mutex
		files   map[*File]struct{} // open
		batches []*Batch           // idle
	}
}

// backend carries reads out. Requests given to submit come back through
// Engine.finish, each exactly once.
type backend interface {
	// submit takes a wave of a batch, waiting for a place in the queue until ctx
	// ends. On error it has taken none of the requests.
	submit(ctx context.Context, b *Batch, w wave) error

	// forget drops what the backend holds for a file to which no read refers
	// any more and whose descriptor is about to be closed.
	forget(f *File)

	// stop refuses new waves, fails the queued reads with ErrClosed and waits
	// until the kernel has completed the others, at most for the grace period.
	// It reports whether everything came back.
	stop(grace time.Duration) bool
}

// closeGrace is how long Close waits for reads that are with the device.
const closeGrace = 30 * time.Second

// Open chooses the best mode that works in dir, an existing directory, and
// returns an engine of it. The choice is made by real reads of a small probe
// file written there, or of an existing file when dir cannot be written. The
// error is ErrConfig, a *ModeError when a mode asked for cannot be had, or that
// of the directory.
func Open(dir string, cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	e, steps, err := climb(dir, cfg)
	if err != nil {
		return nil, err
	}
	e.info.Cause = joinSteps(steps)
	e.announce(dir)
	return e, nil
}

// newEngine is an engine of a rung, without a backend.
func newEngine(cfg Config, r rung) *Engine {
	e := &Engine{cfg: cfg, pool: newPool(cfg.PoolBytes)}
	e.info = Info{
		Engine: r.engine, Direct: r.direct, Depth: cfg.depth(r.engine),
		MemAlign: 1, OffsetAlign: 1, // until a file has been opened
	}
	if e.gate.limit.Store(int64(e.info.Depth)); cfg.Depth == 0 {
		e.adapt = newAdapter(&e.gate, &e.counters.queued, int64(e.info.Depth))
	}
	if e.cfg.Background == 0 {
		e.cfg.Background = max(e.info.Depth/8, 8)
	}
	e.share = semaphore.NewWeighted(int64(e.cfg.Background))
	return e
}

// announce writes the one log line of an Open.
func (e *Engine) announce(dir string) {
	args := []any{"dir", dir, "engine", e.info.Engine, "direct", e.info.Direct,
		"offset_align", e.info.OffsetAlign, "depth", e.info.Depth}
	if e.info.Cause == "" {
		e.cfg.Logger.Info("iopath: engine chosen", args...)
		return
	}
	e.cfg.Logger.Warn("iopath: engine chosen below the best", append(args, "cause", e.info.Cause)...)
}

// Info says how the engine reads.
func (e *Engine) Info() Info { return e.info }

// Stats returns totals and gauges.
func (e *Engine) Stats() Stats {
	s := e.counters.snapshot()
	s.InFlight, s.InFlightMax = e.gate.inside.Load(), e.gate.most.Load()
	s.InFlightLimit = e.gate.limit.Load()
	e.pool.report(&s)
	return s
}

// StartFrom tells an engine that adapts how many reads in flight the volume wants,
// as a calibration has found it; it goes on from there. With a fixed depth it does
// nothing.
func (e *Engine) StartFrom(depth int) {
	if e.adapt != nil {
		e.adapt.begin(int64(depth))
	}
}

// NewBatch returns an empty batch, which Release gives back. A batch of a
// closed engine refuses to Submit.
func (e *Engine) NewBatch() *Batch {
	e.mu.Lock()
	if last := len(e.mu.batches) - 1; last >= 0 {
		b := e.mu.batches[last]
		e.mu.batches = e.mu.batches[:last]
		e.mu.Unlock()
		return b
	}
	e.mu.Unlock()
	return &Batch{engine: e, wake: make(chan struct{}, 1)}
}

// putBatch keeps an idle batch for NewBatch.
func (e *Engine) putBatch(b *Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.mu.batches) < freeBatchesKept {
		e.mu.batches = append(e.mu.batches, b)
	}
}

// Close refuses further work, completes queued reads with ErrClosed, waits for
// those that are with the device and closes the files still open. Buffers of
// batches not yet released stay valid until their Release. A device that keeps
// reads for longer than 30 s makes it return ErrBusy. A second Close returns
// ErrClosed.
func (e *Engine) Close() error {
	return e.close(closeGrace)
}

func (e *Engine) close(grace time.Duration) error {
	if e.closed.Swap(true) {
		return fmt.Errorf("iopath: close engine: %w", ErrClosed)
	}
	idle := e.back.stop(grace)
	for _, f := range e.openFiles() {
		_ = f.Close() // ErrClosed when its owner was faster
	}
	e.pool.close()
	if !idle {
		return fmt.Errorf("%w: %d after %v", ErrBusy, e.gate.inside.Load(), grace)
	}
	return nil
}

// track registers an open file; false when the engine is closed.
func (e *Engine) track(f *File) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return false
	}
	if e.mu.files == nil {
		e.mu.files = make(map[*File]struct{})
	}
	e.mu.files[f] = struct{}{}
	return true
}

func (e *Engine) untrack(f *File) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.mu.files, f)
}

func (e *Engine) openFiles() []*File {
	e.mu.Lock()
	defer e.mu.Unlock()
	files := make([]*File, 0, len(e.mu.files))
	for f := range e.mu.files {
		files = append(files, f)
	}
	return files
}

// admit prepares a read that leaves the queue: it drops one that nobody waits
// for and gives the others their buffer. On error the caller finishes it.
func (e *Engine) admit(r *request) error {
	if err := r.dropped(); err != nil {
		e.counters.cancelled.Add(1)
		return err
	}
	var err error
	r.buf, err = e.pool.get(r.length)
	return err
}

// finish ends a read that the kernel has let go of. It reports whether the
// owner of its batch sleeps and must be signalled.
func (e *Engine) finish(r *request) (sleeping bool) {
	if r.err != nil {
		e.counters.errors.Add(1)
	}
	e.adapt.finished(r)
	r.file.release()
	return r.batch.deliver(r)
}

// finishNow is finish with the signal at once.
func (e *Engine) finishNow(r *request) {
	b := r.batch
	if e.finish(r) {
		b.signal()
	}
}

// fail finishes a list of reads that were never tried.
func (e *Engine) fail(head *request, err error) {
	for r := head; r != nil; {
		next := r.next
		r.next = nil
		r.err = err
		e.counters.cancelled.Add(1)
		e.finishNow(r)
		r = next
	}
}
