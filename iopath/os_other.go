//go:build !linux

package iopath

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// handle is an open file of the system.
type handle struct{ f *os.File }

// alignment is what direct I/O on a file asks for, in bytes; 1 for none.
type alignment struct{ mem, offset int }

// errLinuxOnly is why every rung but pread+buffered fails here.
var errLinuxOnly = fmt.Errorf("needs Linux: %w", errors.ErrUnsupported)

func openForRead(path string, direct bool) (handle, alignment, error) {
	if direct {
		return handle{}, alignment{}, errLinuxOnly
	}
	f, err := os.Open(path)
	return handle{f}, alignment{1, 1}, err
}

// readAt reads once into dst: a byte count, or a negative errno.
func (h handle) readAt(dst []byte, off int64) int {
	n, err := h.f.ReadAt(dst, off)
	if err == nil || errors.Is(err, io.EOF) {
		return n
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.EIO
	}
	return -int(errno)
}

func (h handle) size() (int64, error) {
	st, err := h.f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (h handle) close() error { return h.f.Close() }

// ringSlots is of use to io_uring only.
type ringSlots struct{}

func newUring(*Engine) (backend, error) { return nil, errLinuxOnly }

// mapping would back the mmap engine.
type mapping struct{}

func newMapping(handle) (*mapping, error) { return nil, errLinuxOnly }
func (*mapping) readAt([]byte, int64) int { return -int(syscall.EIO) }
func (*mapping) unmap()                   {}
func panicOnFault()                       {}

// hint has nothing to add to "needs Linux".
func hint(error, rung, string) string { return "" }

// adviseHuge is of use to direct I/O only.
func adviseHuge([]byte) {}
