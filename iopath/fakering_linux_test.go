package iopath

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakeRing carries reads out with pread inside enter, and says of its own enter
// what a test wants. What it cannot do is complete a read later.
type fakeRing struct {
	script *script
	queued []fakeRead
	done   []event
	late   []event // of reads that a failed call had taken after all
	watch  int     // descriptor, -1 for none
	token  uint64
}

type fakeRead struct {
	fd    int32
	buf   []byte
	off   int64
	token uint64
}

// script is what the rings of an engine do in turn.
type script struct {
	mu      sync.Mutex
	enters  []error       // results of the next calls that have reads to submit; nil is success
	results []int         // results of the next reads; 0 lets a read pass
	noTable bool          // refuse registered files
	files   map[int]int32 // the registered table
	cleared int           // entries cleared
	named   []string      // how each read named its file: "fixed" or "fd"
	closed  int           // rings closed
	unwatch int           // that many watches end with their first event
	stalled func()        // not nil: the device completes nothing, and this is called for each wait
	blind   bool          // somebody waited for events that could not come
}

// open is an openRing.
func (s *script) open(uint32, issuers) (ring, error) {
	return &fakeRing{script: s, watch: -1}, nil
}

func (r *fakeRing) read(fd int32, fixed bool, buf []byte, off int64, token uint64) {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if fixed {
		fd = s.files[int(fd)]
		s.named = append(s.named, "fixed")
	} else {
		s.named = append(s.named, "fd")
	}
	r.queued = append(r.queued, fakeRead{fd, buf, off, token})
}

func (r *fakeRing) poll(fd int, token uint64) { r.watch, r.token = fd, token }

func (r *fakeRing) enter(timeout time.Duration) error {
	if err := r.next(); err == unix.EPERM && timeout != noWait {
		for _, q := range r.queued {
			r.late = append(r.late, event{token: q.token, res: int32(len(q.buf))})
		}
		r.queued = r.queued[:0]
		return err
	} else if err != nil {
		return err
	}
	if stalled := r.stalled(); stalled != nil {
		if timeout == noWait {
			return nil
		}
		stalled()
		runtime.Gosched()
		if timeout == 0 {
			return unix.EINTR
		}
		return unix.ETIME
	}
	for _, q := range r.queued {
		n := r.result()
		if n == 0 {
			n = handle{int(q.fd)}.readAt(q.buf, q.off)
		}
		r.done = append(r.done, event{token: q.token, res: int32(n)})
	}
	r.queued = r.queued[:0]
	if timeout == noWait || len(r.done) > 0 {
		return nil
	}
	if r.watch < 0 {
		r.script.mu.Lock()
		defer r.script.mu.Unlock()
		r.script.blind = true
		return unix.EINTR
	}
	fds := []unix.PollFd{{Fd: int32(r.watch), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, -1); err != nil {
		return err
	}
	var count [8]byte
	_, _ = unix.Read(r.watch, count[:])
	r.script.mu.Lock()
	defer r.script.mu.Unlock()
	more := r.script.unwatch == 0
	if !more {
		r.script.unwatch--
		r.watch = -1
	}
	r.done = append(r.done, event{token: r.token, more: more})
	return nil
}

// stalled is what to call when the device completes nothing.
func (r *fakeRing) stalled() func() {
	r.script.mu.Lock()
	defer r.script.mu.Unlock()
	if len(r.queued) == 0 {
		return nil
	}
	return r.script.stalled
}

// next is the scripted result of a call that has reads to submit.
func (r *fakeRing) next() error {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(r.queued) == 0 || len(s.enters) == 0 {
		return nil
	}
	err := s.enters[0]
	s.enters = s.enters[1:]
	return err
}

// result is the scripted result of a read.
func (r *fakeRing) result() int {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.results) == 0 {
		return 0
	}
	n := s.results[0]
	s.results = s.results[1:]
	return n
}

func (r *fakeRing) events(dst []event) int {
	n := copy(dst, r.done)
	r.done = append(r.done[:0], r.done[n:]...)
	r.done = append(r.done, r.late...) // seen by the next call
	r.late = r.late[:0]
	return n
}

func (r *fakeRing) reserveFiles(n int) error {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noTable || n > 64 {
		return unix.EMFILE
	}
	s.files = make(map[int]int32)
	return nil
}

func (r *fakeRing) setFile(index int, fd int32) error {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if fd < 0 {
		s.cleared++
	}
	s.files[index] = fd
	return nil
}

func (r *fakeRing) close() {
	r.script.mu.Lock()
	defer r.script.mu.Unlock()
	r.script.closed++
}

// scripted makes an engine over fake rings.
func scripted(t *testing.T, s *script) *Engine {
	t.Helper()
	cfg := Config{Engine: IOUring, Direct: DirectOff, Depth: 8, Rings: 1}.withDefaults()
	e := newEngine(cfg, rung{IOUring, false})
	var err error
	if e.back, err = newUringOver(e, s.open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("Close: %v", err)
		}
		if s.blind {
			t.Error("a ring waited for events that could not come")
		}
		if s.closed != 2 {
			t.Errorf("%d rings closed, want the owner's and the lane's", s.closed)
		}
	})
	return e
}

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
