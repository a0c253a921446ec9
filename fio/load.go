package fio

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat/iopath"
)

// load is random reads of one size that are kept in flight in one number, each by
// a goroutine that waits for its read and asks for the next.
type load struct {
	engine *iopath.Engine
	file   *iopath.File
	span   int64 // bytes of the file that are read
	depth  int   // reads in flight
	bytes  int   // of a read
	ramp   time.Duration
	window time.Duration
}

// measured is what a load did within its window.
type measured struct {
	bins    []int64
	latency Latency
	ops     int64
	cpu     time.Duration // of this process
	threads int
}

// run starts the load, discards the ramp, measures the window and waits for the
// last reads.
func (l load) run(ctx context.Context) (measured, error) {
	var stop atomic.Bool
	began := time.Now().Add(l.ramp)
	m := newMeter(began, l.window)
	g, ctx := errgroup.WithContext(ctx)
	for worker := range l.depth {
		g.Go(func() error { return l.reader(ctx, worker, m, &stop) })
	}
	out, err := watch(ctx, began, l.window)
	stop.Store(true)
	if werr := g.Wait(); werr != nil {
		err = werr
	}
	if err != nil {
		return measured{}, fmt.Errorf("random reads: %w", err)
	}
	out.bins = m.counts()
	out.latency, out.ops = m.latency()
	return out, nil
}

// watch waits for the window to pass and takes the figures of the process.
func watch(ctx context.Context, began time.Time, window time.Duration) (measured, error) {
	if err := wait(ctx, time.Until(began)); err != nil {
		return measured{}, err
	}
	cpu := processCPU()
	if err := wait(ctx, time.Until(began.Add(window))); err != nil {
		return measured{}, err
	}
	return measured{cpu: processCPU() - cpu, threads: processThreads()}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reader keeps one read in flight.
func (l load) reader(ctx context.Context, worker int, m *meter, stop *atomic.Bool) error {
	rng := rand.New(rand.NewPCG(uint64(worker), uint64(m.began.UnixNano())))
	places := (l.span-int64(l.bytes))/block + 1
	for !stop.Load() {
		begin := time.Now()
		if err := readOne(ctx, l.engine, l.file, rng.Int64N(places)*block, l.bytes); err != nil {
			return err
		}
		m.add(worker, begin, time.Now())
	}
	return nil
}

// readOne reads through the engine as a query does: a batch, one wave.
func readOne(ctx context.Context, e *iopath.Engine, f *iopath.File, off int64, n int) error {
	b := e.NewBatch()
	defer b.Release()
	b.Read(f, off, n, 0)
	if err := b.Submit(ctx); err != nil {
		return err
	}
	c, err := b.Next(ctx)
	return errors.Join(err, c.Err)
}
