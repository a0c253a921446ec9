package iopath

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crowds are numbers of reads in a wave: a small wave goes through the lane, one
// larger than the lane through the owner.
var crowds = map[string]int{"lane": 3, "owner": 20}

// TestKernelRefusesForAWhile scripts the errors that io_uring_enter gives while
// everything is in order.
func TestKernelRefusesForAWhile(t *testing.T) {
	for name, n := range crowds {
		for _, errno := range []syscall.Errno{unix.EINTR, unix.EAGAIN, unix.EBUSY, unix.ETIME} {
			if errno == unix.ETIME && name == "owner" {
				continue // the owner sets no timeout
			}
			t.Run(fmt.Sprintf("%s/%v", name, errno), func(t *testing.T) {
				s := &script{enters: []error{errno, errno, nil, errno, nil, errno, errno, errno}}
				e := scripted(t, s)
				f, want := openContent(t, e, 300_001)
				b := e.NewBatch()
				defer b.Release()
				readAll(t, b, f, want, row(n))
				readAll(t, b, f, want, row(n))
				if st := e.Stats(); st.Errors != 0 || st.InFlight != 0 || (st.LaneWaves > 0) != (name == "lane") {
					t.Errorf("%+v", st)
				}
			})
		}
	}
}

// row is a wave of n reads side by side.
func row(n int) []span {
	var spans []span
	for i := range n {
		spans = append(spans, span{int64(i) * 5000, 3000})
	}
	return spans
}

// TestOneCallSubmitsAWave pins the number of system calls of a wave.
func TestOneCallSubmitsAWave(t *testing.T) {
	for name, n := range crowds {
		t.Run(name, func(t *testing.T) {
			s := new(script)
			e := scripted(t, s)
			f, want := openContent(t, e, 300_001)
			b := e.NewBatch()
			defer b.Release()
			readAll(t, b, f, want, row(n))
			calls := []int{3}
			if name == "owner" {
				calls = []int{8, 8, 4} // the depth is 8
			}
			if !slices.Equal(s.submits, calls) {
				t.Errorf("submitted %v, want %v", s.submits, calls)
			}
		})
	}
}

// TestRingBreaks scripts an error that must not happen: every read fails with
// it, its buffer is not used again, and Close still works.
func TestRingBreaks(t *testing.T) {
	for name, n := range crowds {
		t.Run(name, func(t *testing.T) {
			broken := make([]error, 100)
			for i := range broken {
				broken[i] = unix.EPERM
			}
			e := scripted(t, &script{enters: broken})
			f, _ := openContent(t, e, 300_001)
			for range 3 {
				b := e.NewBatch()
				for i, s := range row(n) {
					b.Read(f, s.off, s.n, uint64(i))
				}
				if err := b.Submit(t.Context()); err != nil {
					t.Fatal(err)
				}
				for b.Pending() > 0 {
					if err := nextErr(t, b); !errors.Is(err, unix.EPERM) {
						t.Fatalf("read: %v", err)
					}
				}
				b.Release()
			}
			if s := e.Stats(); s.InFlight != 0 || s.Queued != 0 || s.Errors != int64(3*n) {
				t.Errorf("%+v", s)
			}
			if s := e.Stats(); s.BufferInUse == 0 {
				t.Error("buffers that the kernel may yet write to went back to the pool")
			}
		})
	}
}

// TestLaneGivesUp ends the context of a caller who waits in the kernel for a
// device that stalls.
func TestLaneGivesUp(t *testing.T) {
	for name, deadline := range map[string]bool{"cancelled": false, "deadline": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			want := context.Canceled
			s := &script{stalled: cancel}
			if deadline {
				ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
				want = context.DeadlineExceeded
				s.stalled = func() {}
			}
			defer cancel()
			e := scripted(t, s)
			f, data := openContent(t, e, 300_001)
			b := e.NewBatch()
			b.Read(f, 0, 1000, 0)
			if err := b.Submit(context.Background()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Next(ctx); !errors.Is(err, want) {
				t.Fatalf("Next: %v, want %v", err, want)
			}
			if st := e.Stats(); st.InFlight != 1 || st.LaneWaves != 1 {
				t.Errorf("%+v", st)
			}
			s.mu.Lock()
			s.stalled = nil
			s.mu.Unlock()
			b.Release()
			// Nobody waits for the read, and yet it comes home.
			for e.Stats().BufferInUse > 0 {
				runtime.Gosched()
			}
			for e.Stats().LaneWaves == 1 {
				again := e.NewBatch()
				readAll(t, again, f, data, row(3))
				again.Release()
			}
		})
	}
}

// TestLaneIsForTheLonely checks who gets the lane: a caller who finds nothing in
// flight, and then nobody else.
func TestLaneIsForTheLonely(t *testing.T) {
	s := &script{stalled: func() {}}
	e := scripted(t, s)
	f, _ := openContent(t, e, 300_001)
	alone, other := e.NewBatch(), e.NewBatch()
	for i, step := range []struct {
		b     *Batch
		reads int
		laned int64
	}{
		{alone, 3, 1}, // nothing in flight
		{alone, 2, 2}, // only its own
		{other, 2, 2}, // somebody has the lane
		{alone, 1, 2}, // it has the lane, but others are in flight
	} {
		for _, sp := range row(step.reads) {
			step.b.Read(f, sp.off, sp.n, 0)
		}
		if err := step.b.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		for e.Stats().Queued > 0 {
			runtime.Gosched()
		}
		if n := e.Stats().LaneWaves; n != step.laned {
			t.Errorf("step %d: %d waves through the lane, want %d", i, n, step.laned)
		}
	}
	s.mu.Lock()
	s.stalled = nil
	s.mu.Unlock()
	for _, b := range []*Batch{alone, other} {
		for b.Pending() > 0 {
			if err := nextErr(t, b); err != nil {
				t.Error(err)
			}
		}
		b.Release()
	}
}

// TestRingResults scripts results of reads that the faults of the suite cannot
// make.
func TestRingResults(t *testing.T) {
	for name, n := range crowds {
		t.Run(name, func(t *testing.T) {
			e := scripted(t, &script{results: []int{-int(unix.EIO), 0, -int(unix.EBADF)}})
			f, _ := openContent(t, e, 300_001)
			b := e.NewBatch()
			defer b.Release()
			for i, s := range row(n) {
				b.Read(f, s.off, s.n, uint64(i))
			}
			if err := b.Submit(t.Context()); err != nil {
				t.Fatal(err)
			}
			for b.Pending() > 0 {
				c, err := b.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if (c.Tag == 2) != errors.Is(c.Err, unix.EBADF) {
					t.Errorf("read %d: %v", c.Tag, c.Err)
				}
			}
			if s := e.Stats(); s.Retries != 1 || s.Errors != 1 {
				t.Errorf("%d retries, %d errors; want the one after EIO, the one of EBADF", s.Retries, s.Errors)
			}
		})
	}
}

// TestWatchEnds has the kernel end the watch of the eventfd, which it may.
func TestWatchEnds(t *testing.T) {
	e := scripted(t, &script{unwatch: 3})
	f, want := openContent(t, e, 300_001)
	for range 6 {
		b := e.NewBatch()
		readAll(t, b, f, want, row(20))
		b.Release()
	}
}

func TestRegisteredFiles(t *testing.T) {
	t.Run("table", func(t *testing.T) {
		s := new(script)
		e := scripted(t, s)
		for range 70 { // more than the table holds, but never so many at once
			f, want := openContent(t, e, 300_001)
			b := e.NewBatch()
			readAll(t, b, f, want, row(20))
			b.Release()
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for i, how := range s.named {
			if how != "fixed" {
				t.Fatalf("read %d named its file by %s", i, how)
			}
		}
		if s.cleared != 70 {
			t.Errorf("%d entries cleared of 70 closed files", s.cleared)
		}
	})
	t.Run("full", func(t *testing.T) {
		s := new(script)
		e := scripted(t, s)
		for range 70 {
			f, want := openContent(t, e, 300_001)
			b := e.NewBatch()
			readAll(t, b, f, want, row(20))
			b.Release()
		}
		if got := s.named[len(s.named)-1]; got != "fd" {
			t.Errorf("a file beyond the table is named by %s", got)
		}
	})
	t.Run("refused", func(t *testing.T) {
		s := &script{noTable: true}
		e := scripted(t, s)
		f, want := openContent(t, e, 300_001)
		b := e.NewBatch()
		defer b.Release()
		readAll(t, b, f, want, row(20))
		if s.named[0] != "fd" {
			t.Errorf("without a table a file is named by %s", s.named[0])
		}
	})
}

// TestOlderKernels runs the engine with the set-up flags of each kernel, after a
// flag that none knows.
func TestOlderKernels(t *testing.T) {
	needRing(t)
	const unknown = 1 << 30
	all := setupSteps[oneThread]
	defer func() { setupSteps[oneThread] = all }()
	for i, flags := range all {
		setupSteps[oneThread] = []uint32{unknown, flags}
		e := openEngine(t, Config{Engine: IOUring, Rings: 1})
		f, want := openContent(t, e, 200*5000)
		b := e.NewBatch()
		readAll(t, b, f, want, row(200))
		readAll(t, b, f, want, row(3))
		b.Release()
		if s := e.Stats(); s.Errors != 0 || s.InFlight != 0 {
			t.Errorf("step %d, flags %#x: %+v", i, flags, s)
		}
	}
	setupSteps[oneThread] = []uint32{unknown}
	if _, err := Open(t.TempDir(), Config{Engine: IOUring}); !errors.Is(err, unix.EINVAL) {
		t.Errorf("open with unknown flags only: %v", err)
	}
}
