package iopath

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// always gives every attempt the same fate.
func always(k FaultKind) Faults {
	return func(ReadOp) Fault { return Fault{Kind: k} }
}

func TestFaults(t *testing.T) {
	kinds := func(ks ...FaultKind) Faults {
		fates := make(map[uint64]Fault)
		for i, k := range ks {
			fates[uint64(i+1)] = Fault{Kind: k}
		}
		return nth(fates)
	}
	cases := []struct {
		name            string
		faults          Faults
		want            error
		retries, shorts int64
	}{
		{"none", kinds(), nil, 0, 0},
		{"short", kinds(FaultShort), nil, 0, 1},
		{"short twice", kinds(FaultShort, FaultShort), nil, 0, 2},
		{"interrupted", kinds(FaultEINTR), nil, 1, 0},
		{"refused", kinds(FaultEAGAIN), nil, 1, 0},
		{"device error once", kinds(FaultEIO), nil, 1, 0},
		{"device error twice", kinds(FaultEIO, FaultEIO), syscall.EIO, 1, 0},
		{"all of them", kinds(FaultEINTR, FaultShort, FaultEAGAIN, FaultEIO, FaultShort, FaultEINTR), nil, 4, 2},
		{"device error after a short read", kinds(FaultShort, FaultEIO, FaultEIO), syscall.EIO, 1, 1},
		{"refused for ever", always(FaultEAGAIN), syscall.EAGAIN, maxTries - 1, 0},
		{"interrupted for ever", always(FaultEINTR), syscall.EINTR, maxTries - 1, 0},
	}
	eachMode(t, func(t *testing.T, cfg Config) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				cfg.Faults = c.faults
				e := openEngine(t, cfg)
				f, want := openContent(t, e, 300_001)
				b := e.NewBatch()
				defer b.Release()
				s := span{1234, 40_000}
				b.Read(f, s.off, s.n, 0)
				if err := b.Submit(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, err := b.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				checkFault(t, e, got, want[s.off:][:s.n], c.want)
				if st := e.Stats(); st.Retries != c.retries || st.ShortReads != c.shorts {
					t.Errorf("%d retries and %d short reads, want %d and %d",
						st.Retries, st.ShortReads, c.retries, c.shorts)
				}
			})
		}
	})
}

// checkFault compares the outcome of a read that met faults.
func checkFault(t *testing.T, e *Engine, got Completion, data []byte, want error) {
	t.Helper()
	errs := int64(0)
	if want != nil {
		errs = 1
	}
	if n := e.Stats().Errors; n != errs {
		t.Errorf("%d errors counted, want %d", n, errs)
	}
	if !errors.Is(got.Err, want) {
		t.Fatalf("error %v, want %v", got.Err, want)
	}
	if want == nil && !bytes.Equal(got.Data, data) {
		t.Fatal("the data is wrong")
	}
}

// held is a hook that keeps the first n attempts until they are let go, and
// says when all of them have arrived.
type held struct {
	n       uint64
	arrived chan struct{}
	release chan struct{}
	asked   atomic.Uint64
	mu      sync.Mutex
	order   []int64 // offsets of all attempts
}

func hold(n uint64) *held {
	return &held{n: n, arrived: make(chan struct{}), release: make(chan struct{})}
}

func (h *held) ask(op ReadOp) Fault {
	h.mu.Lock()
	h.order = append(h.order, op.Off)
	h.mu.Unlock()
	switch n := h.asked.Add(1); {
	case n < h.n:
	case n == h.n:
		close(h.arrived)
	default:
		return Fault{}
	}
	return Fault{Until: h.release}
}

// TestReleaseWithReadInFlight is the case of a query that gives up: its buffer
// must stay out of circulation until the device has written to it.
func TestReleaseWithReadInFlight(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		h := hold(1)
		cfg.Faults = h.ask
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 300_001)
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := e.NewBatch()
		gaveUp.Read(f, 4096, 8192, 0)
		if err := gaveUp.Submit(ctx); err != nil {
			t.Fatal(err)
		}
		<-h.arrived
		cancel()
		if _, err := gaveUp.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("Next: %v", err)
		}
		if gaveUp.Pending() != 1 {
			t.Errorf("%d reads pending", gaveUp.Pending())
		}
		gaveUp.Release()
		if s := e.Stats(); s.InFlight != 1 || s.BufferInUse == 0 {
			t.Errorf("after Release: %+v", s)
		}
		other := e.NewBatch()
		for i := range 20 {
			other.Read(f, int64(i)*9000, 8192, uint64(i)*9000)
		}
		if err := other.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []Completion
		for other.Pending() > 0 {
			c, err := other.Next(t.Context())
			if err = errors.Join(err, c.Err); err != nil {
				t.Fatal(err)
			}
			got = append(got, c)
		}
		close(h.release) // now the late bytes arrive
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range got {
			if !bytes.Equal(c.Data, want[c.Tag:][:8192]) {
				t.Errorf("the late bytes hit the buffer of the read at %d", c.Tag)
			}
		}
		other.Release()
		if s := e.Stats(); s.InFlight != 0 || s.BufferInUse != 0 || s.BufferMapped != 0 {
			t.Errorf("left behind: %+v", s)
		}
	})
}

func TestDepthBoundsReadsInFlight(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		h := hold(4)
		cfg.Faults = h.ask
		cfg.Depth = 4
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 300_001)
		b := e.NewBatch()
		defer b.Release()
		go func() {
			<-h.arrived
			if n := h.asked.Load(); n != 4 {
				t.Errorf("%d attempts with 4 in flight and depth 4", n)
			}
			if s := e.Stats(); s.InFlight != 4 {
				t.Errorf("%d in flight", s.InFlight)
			}
			close(h.release)
		}()
		var spans []span
		for i := range 40 {
			spans = append(spans, span{int64(i) * 5000, 3000})
		}
		readAll(t, b, f, want, spans)
		if s := e.Stats(); s.InFlightMax != 4 {
			t.Errorf("%d reads were in flight at one time, depth 4", s.InFlightMax)
		}
	})
}

func TestWavesAreServedInOrder(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		if cfg.Rings == 2 {
			t.Skip("two rings have two queues")
		}
		h := hold(1)
		cfg.Faults = h.ask
		cfg.Depth = 1
		cfg.Rings = 1
		e := openEngine(t, cfg)
		f, _ := openContent(t, e, 300_001)
		b := e.NewBatch()
		defer b.Release()
		var want []int64
		for w := range 5 {
			for i := range 3 {
				off := int64(w*3+i) * 8192
				want = append(want, off)
				b.Read(f, off, 10, 0)
			}
			if err := b.Submit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		close(h.release)
		for b.Pending() > 0 {
			if err := nextErr(t, b); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(h.order, want) {
			t.Errorf("served %v, want %v", h.order, want)
		}
	})
}

func TestContextEndsWhileQueued(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		h := hold(1)
		cfg.Faults = h.ask
		cfg.Depth = 1
		e := openEngine(t, cfg)
		f, _ := openContent(t, e, 5000)
		first, second := e.NewBatch(), e.NewBatch()
		defer first.Release()
		defer second.Release()
		first.Read(f, 0, 10, 0)
		if err := first.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-h.arrived
		reason := errors.New("the client hung up")
		ctx, cancel := context.WithCancelCause(t.Context())
		second.Read(f, 0, 10, 0)
		if err := second.Submit(ctx); err != nil {
			t.Fatal(err)
		}
		cancel(reason)
		close(h.release)
		if err := nextErr(t, first); err != nil {
			t.Errorf("the read in flight: %v", err)
		}
		if err := nextErr(t, second); !errors.Is(err, reason) {
			t.Errorf("the queued read: %v", err)
		}
		if n := h.asked.Load(); n != 1 {
			t.Errorf("%d attempts, want 1: the queued read was carried out", n)
		}
		if s := e.Stats(); s.Cancelled != 1 {
			t.Errorf("%d cancelled", s.Cancelled)
		}
	})
}

// TestFullQueueMakesSubmitWait fills the queue behind a read that hangs.
func TestFullQueueMakesSubmitWait(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		h := hold(1)
		cfg.Faults = h.ask
		cfg.Depth = 1
		e := openEngine(t, cfg)
		f, _ := openContent(t, e, 5000)
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("tired of waiting")
		go func() {
			for e.Stats().QueueWaits == 0 {
				runtime.Gosched()
			}
			cancel(reason)
		}()
		b := e.NewBatch()
		defer b.Release()
		accepted := 0
		var err error
		for err == nil && accepted < 3*maxQueuedWaves {
			b.Read(f, 0, 10, 0)
			if err = b.Submit(ctx); err == nil {
				accepted++
			}
		}
		if !errors.Is(err, reason) {
			cancel(reason)
			t.Fatalf("after %d waves: %v", accepted, err)
		}
		if b.Pending() != accepted {
			t.Errorf("%d pending of %d accepted waves", b.Pending(), accepted)
		}
		close(h.release)
		for b.Pending() > 0 {
			if _, err := b.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestCloseFileWithReadInFlight(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		h := hold(1)
		cfg.Faults = h.ask
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 5000)
		b := e.NewBatch()
		defer b.Release()
		b.Read(f, 10, 100, 0)
		if err := b.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-h.arrived
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		close(h.release)
		c, err := b.Next(t.Context())
		if err != nil || c.Err != nil || !bytes.Equal(c.Data, want[10:110]) {
			t.Errorf("the read in flight: %+v, %v", c, err)
		}
		if err := readOne(t, e, f, span{0, 10}); !errors.Is(err, ErrClosed) {
			t.Errorf("a later read: %v", err)
		}
	})
}
