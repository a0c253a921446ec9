package iopath

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

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

	memory   map[int][]byte // the table of registered memory
	noMemory error          // refuse it
	locked   int            // bytes that may be registered at one time, 0 for no limit
	fixed    int            // reads into registered memory
	wrong    string         // what a ring was asked that makes no sense

	named   []string // how each read named its file: "fixed" or "fd"
	submits []int    // how many reads each call submitted, calls without any left out
	closed  int      // rings closed
	unwatch int      // that many watches end with their first event
	stalled func()   // not nil: the device completes nothing, and this is called for each wait
	blind   bool     // somebody waited for events that could not come
}

// open is an openRing.
func (s *script) open(uint32, issuers) (ring, error) {
	return &fakeRing{script: s, watch: -1}, nil
}

func (r *fakeRing) read(rd ringRead, token uint64) {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if rd.memory != noMemory {
		s.fixed++
		if !within(rd.buf, s.memory[int(rd.memory)]) {
			s.wrong = "a buffer that is not part of the registered memory it names"
		}
	}
	fd := rd.fd
	if rd.fixedFile {
		fd = s.files[int(fd)]
		s.named = append(s.named, "fixed")
	} else {
		s.named = append(s.named, "fd")
	}
	r.queued = append(r.queued, fakeRead{fd, rd.buf, rd.off, token})
}

// within reports whether buf is part of mem.
func within(buf, mem []byte) bool {
	at, base := uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return at >= base && at+uintptr(len(buf)) <= base+uintptr(len(mem))
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
	r.script.note(len(r.queued))
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

// note keeps the number of reads that a call submits.
func (s *script) note(reads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reads > 0 {
		s.submits = append(s.submits, reads)
	}
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

func (r *fakeRing) reserveMemory(int) error {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = make(map[int][]byte)
	return s.noMemory
}

func (r *fakeRing) setMemory(index int, mem []byte) error {
	s := r.script
	s.mu.Lock()
	defer s.mu.Unlock()
	if mem == nil {
		if s.memory[index] == nil {
			s.wrong = "an entry cleared that was empty"
		}
		delete(s.memory, index)
		return nil
	}
	if s.memory[index] != nil {
		s.wrong = "an entry filled that was taken"
	}
	sum := len(mem)
	for _, m := range s.memory {
		sum += len(m)
	}
	if s.locked > 0 && sum > s.locked {
		return unix.ENOMEM
	}
	s.memory[index] = mem
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
		if s.wrong != "" {
			t.Errorf("a ring was given %s", s.wrong)
		}
		if s.closed != 2 {
			t.Errorf("%d rings closed, want the owner's and the lane's", s.closed)
		}
	})
	return e
}
