package iopath

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// stallDepth and stallQueries are what a store meets whose volume stops for a
// while: many more callers than reads that may be with the device.
const (
	stallDepth   = 64
	stallQueries = 20_000
)

// threadSlack is what the runtime may start meanwhile for itself.
const threadSlack = 8

// stall is a device that does nothing until it is let go, and the queries that
// have come to it.
type stall struct {
	e    *Engine
	f    *File
	want []byte

	begun, cancelled, answered atomic.Int64
	queries                    sync.WaitGroup
}

// query reads two spans. One that may give up must not be answered, since it is
// told to give up while the device stands still.
func (s *stall) query(t *testing.T, ctx context.Context, i int, givesUp bool) {
	b := s.e.NewBatch()
	defer b.Release()
	for k := range 2 {
		off := int64((i + k*1000) % 290_000)
		b.Read(s.f, off, 5000, uint64(off))
	}
	s.begun.Add(1)
	err := b.Submit(ctx)
	for err == nil && b.Pending() > 0 {
		var c Completion
		if c, err = b.Next(ctx); err == nil && (c.Err != nil || !bytes.Equal(c.Data, s.want[c.Tag:][:5000])) {
			t.Errorf("read at %d: wrong bytes or %v", c.Tag, c.Err)
		}
	}
	switch {
	case givesUp && errors.Is(err, context.Canceled):
		s.cancelled.Add(1)
	case !givesUp && err == nil:
		s.answered.Add(1)
	default:
		t.Errorf("query %d, which may give up: %v, ended with %v", i, givesUp, err)
	}
}

// TestStalledDevice has 20,000 queries meet a device that stands still. They cost
// neither threads nor buffers beyond the depth; those whose caller hangs up end at
// once, the others when the device goes on.
func TestStalledDevice(t *testing.T) {
	for _, engine := range []string{IOUring, Pread, Mmap} {
		t.Run(engine, func(t *testing.T) {
			if engine == IOUring {
				needRing(t)
			}
			goOn := make(chan struct{})
			e := openEngine(t, Config{Engine: engine, Direct: DirectOff, Depth: stallDepth, Rings: 1, Faults: func(ReadOp) Fault {
				select {
				case <-goOn:
					return Fault{}
				default:
					return Fault{Until: goOn}
				}
			}})
			s := &stall{e: e}
			s.f, s.want = openContent(t, e, 300_001)
			threads := threadCount()
			ctx, hangUp := context.WithCancel(context.Background())
			defer hangUp()
			for i := range stallQueries {
				s.queries.Go(func() {
					if i%2 == 0 {
						s.query(t, ctx, i, true)
					} else {
						s.query(t, context.Background(), i, false)
					}
				})
			}
			until(t, func() bool {
				st := e.Stats()
				return s.begun.Load() == stallQueries && st.Waves+st.QueueWaits >= stallQueries && st.InFlight == stallDepth
			})
			s.check(t, "standing still", threads)
			hangUp()
			until(t, func() bool { return s.cancelled.Load() == stallQueries/2 })
			s.check(t, "half of the queries given up", threads)
			close(goOn)
			s.queries.Wait()
			s.check(t, "going on", threads)
			if s.answered.Load() != stallQueries/2 {
				t.Errorf("%d of %d queries were answered", s.answered.Load(), stallQueries/2)
			}
			until(t, func() bool { // those that nobody waits for
				st := e.Stats()
				return st.InFlight == 0 && st.Queued == 0 && st.BufferInUse == 0
			})
		})
	}
}

// check bounds what the queries cost.
func (s *stall) check(t *testing.T, when string, threads int) {
	t.Helper()
	if n := threadCount(); n > threads+stallDepth+threadSlack {
		t.Errorf("%s: %d threads, %d before", when, n, threads)
	}
	st := s.e.Stats()
	if st.InFlightMax > stallDepth {
		t.Errorf("%s: %d reads were in flight at one time", when, st.InFlightMax)
	}
	if most := maxQueuedWaves*2 + int64(stallDepth); st.Queued > most {
		t.Errorf("%s: %d reads queued", when, st.Queued)
	}
	if when != "going on" && st.BufferMax > stallDepth*4*pageBytes { // later answers are held
		t.Errorf("%s: %d bytes of buffers", when, st.BufferMax)
	}
}

// until waits for something that other goroutines bring about. A test that waits
// for what never comes ends here rather than with the whole package.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	look, end := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("waited a minute in vain")
		}
	}
}
