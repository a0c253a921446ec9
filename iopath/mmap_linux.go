package iopath

import (
	"runtime/debug"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapping is a file seen through page faults, for the mmap engine. It follows a
// file that grows and survives one that shrinks.
type mapping struct {
	h handle

	// mu lets readers share the mapping while nobody replaces it.
	mu  sync.RWMutex
	mem []byte
}

// newMapping maps nothing yet; the first read does.
func newMapping(h handle) (*mapping, error) { return &mapping{h: h}, nil }

// readAt copies from the mapping: a byte count, or a negative errno. It must run
// on a goroutine that called panicOnFault.
//
// The size is asked for first, because beyond it the last page reads as zeros
// and the next ones fault. A fault all the same means that the file was cut
// short meanwhile, which the next attempt will see, or that the device failed.
func (m *mapping) readAt(dst []byte, off int64) int {
	size, err := m.h.size()
	if err != nil {
		return -int(errnoOf(err))
	}
	if off >= size {
		return 0
	}
	if errno := m.grow(size); errno != 0 {
		return -int(errno)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, ok := copyMapped(dst, m.mem[off:size])
	if !ok {
		return -int(syscall.EIO)
	}
	return n
}

// grow makes the mapping cover the first size bytes.
func (m *mapping) grow(size int64) syscall.Errno {
	m.mu.RLock()
	covered := size <= int64(len(m.mem))
	m.mu.RUnlock()
	if covered {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if size <= int64(len(m.mem)) {
		return 0
	}
	mem, err := unix.Mmap(m.h.fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return errnoOf(err)
	}
	_ = unix.Madvise(mem, unix.MADV_RANDOM) // advice only
	m.unmapLocked()
	m.mem = mem
	return 0
}

// unmap drops the mapping; no reader is left.
func (m *mapping) unmap() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unmapLocked()
}

func (m *mapping) unmapLocked() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem) // a whole mapping of ours: cannot fail
		m.mem = nil
	}
}

// copyMapped copies from mapped memory and reports a fault as false.
func copyMapped(dst, src []byte) (n int, ok bool) {
	defer func() {
		if recover() != nil {
			n, ok = 0, false
		}
	}()
	return copy(dst, src), true
}

// panicOnFault makes a fault in this goroutine a panic, which copyMapped
// recovers, where it would end the process otherwise.
func panicOnFault() { debug.SetPanicOnFault(true) }
