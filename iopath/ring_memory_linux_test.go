package iopath

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// crowd reads n spans of 64 KiB at one time and keeps them until the returned
// function is called.
func crowd(t *testing.T, e *Engine, f *File, n int) (release func()) {
	t.Helper()
	b := e.NewBatch()
	for i := range n {
		b.Read(f, int64(i%4)<<16, 1<<16, uint64(i))
	}
	if err := b.Submit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for b.Pending() > 0 {
		if err := nextErr(t, b); err != nil {
			t.Fatal(err)
		}
	}
	return b.Release
}

// TestRegisteredMemory follows chunks of memory through a scripted ring: each is
// registered at its first read, and let go of before it is unmapped.
func TestRegisteredMemory(t *testing.T) {
	s := new(script)
	e := scripted(t, s)
	f, _ := openContent(t, e, 300_001)
	release := crowd(t, e, f, 100) // 6.25 MiB
	if n := s.entries(); n != 4 || e.Stats().BufferFixed != 4*chunkBytes || s.fixed != 100 {
		t.Errorf("%d chunks registered, %d bytes, %d reads into them", n, e.Stats().BufferFixed, s.fixed)
	}
	e.pool.keep = chunkBytes
	release()
	for e.Stats().BufferMapped > chunkBytes {
		f.engine.back.(*uring).owners[0].notify() // the owner reads its mail in its own time
	}
	if n := s.entries(); n != 1 || e.Stats().BufferFixed != chunkBytes {
		t.Errorf("%d chunks registered, %d bytes, with one kept", n, e.Stats().BufferFixed)
	}
	crowd(t, e, f, 100)()
	if c := e.Stats().BufferCause; c != "" {
		t.Errorf("cause %q although nothing was refused", c)
	}
}

// entries is the number of chunks that are registered.
func (s *script) entries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.memory)
}

// TestMemoryNotRegistered takes away the table, and all but a part of the memory.
func TestMemoryNotRegistered(t *testing.T) {
	for name, c := range map[string]struct {
		s       *script
		says    string
		entries int
	}{
		"old kernel": {&script{noMemory: unix.EINVAL}, "older than 5.19", 0},
		"sandbox":    {&script{noMemory: unix.EPERM}, "seccomp", 0},
		"limit":      {&script{locked: 2 * chunkBytes}, "RLIMIT_MEMLOCK", 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := scripted(t, c.s)
			f, want := openContent(t, e, 300_001)
			defer crowd(t, e, f, 100)()
			b := e.NewBatch()
			defer b.Release()
			readAll(t, b, f, want, row(20))
			if st := e.Stats(); !strings.Contains(st.BufferCause, c.says) || st.BufferFixed != int64(c.entries)*chunkBytes {
				t.Errorf("%d bytes registered because of %q", st.BufferFixed, st.BufferCause)
			}
			if n := c.s.entries(); n != c.entries {
				t.Errorf("%d chunks registered, want %d", n, c.entries)
			}
		})
	}
}

// TestMemoryAskedForAgain checks that a refusal is for as long as memory is short.
func TestMemoryAskedForAgain(t *testing.T) {
	s := &script{locked: chunkBytes}
	e := scripted(t, s)
	f, _ := openContent(t, e, 300_001)
	first := crowd(t, e, f, 32) // fills a chunk
	second := crowd(t, e, f, 32)
	e.pool.keep = 0
	first()
	for e.Stats().BufferFixed > 0 {
		e.back.(*uring).owners[0].notify()
	}
	asked := s.fixed
	crowd(t, e, f, 32)()
	if s.fixed != asked+32 {
		t.Errorf("%d reads of 32 into registered memory after some has come free", s.fixed-asked)
	}
	second()
}

// TestMemoryIsUnpinned asks the kernel what it has pinned.
func TestMemoryIsUnpinned(t *testing.T) {
	needRing(t)
	e := openEngine(t, Config{Engine: IOUring, Rings: 1, PoolBytes: 1})
	f, _ := openContent(t, e, 300_001)
	before := pinned(t)
	release := crowd(t, e, f, 100)
	st := e.Stats()
	if st.BufferFixed == 0 {
		t.Skipf("no memory can be registered here: %s", st.BufferCause)
	}
	if got := pinned(t) - before; got != st.BufferFixed {
		t.Errorf("%d bytes are pinned, %d registered", got, st.BufferFixed)
	}
	release()
	for e.Stats().BufferMapped > chunkBytes {
		e.back.(*uring).owners[0].notify()
	}
	if got := pinned(t) - before; got > chunkBytes {
		t.Errorf("%d bytes are pinned after all but a chunk was unmapped", got)
	}
}

// pinned is what the kernel has pinned of this process, in bytes.
func pinned(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmPin:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
