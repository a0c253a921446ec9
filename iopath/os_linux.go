package iopath

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle is an open file of the system.
type handle struct{ fd int }

// alignment is what direct I/O on a file asks for, in bytes; 1 for none.
type alignment struct{ mem, offset int }

// fallbackAlign serves kernels that do not say (before 6.1): no disk or file
// system in use wants more.
const fallbackAlign = pageBytes

// openForRead opens a file for reads at offsets, with O_DIRECT when direct. A
// buffered file is told that reads will be random, which switches readahead off.
func openForRead(path string, direct bool) (handle, alignment, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC
	if direct {
		flags |= unix.O_DIRECT
	}
	h, err := open(path, flags, 0)
	if err != nil {
		return handle{}, alignment{}, err
	}
	if !direct {
		_ = unix.Fadvise(h.fd, 0, 0, unix.FADV_RANDOM) // advice only
		return h, alignment{1, 1}, nil
	}
	a, err := h.directAlignment()
	if err != nil {
		_ = h.close()
		return handle{}, alignment{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return h, a, nil
}

// open retries the interruptions that network file systems allow.
func open(path string, flags int, mode uint32) (handle, error) {
	for {
		fd, err := unix.Open(path, flags, mode)
		if err == nil {
			return handle{fd}, nil
		}
		if err != unix.EINTR {
			return handle{}, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// directAlignment asks statx for the alignment of direct I/O on the file.
func (h handle) directAlignment() (alignment, error) {
	var st unix.Statx_t
	err := unix.Statx(h.fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st)
	if err != nil || st.Mask&unix.STATX_DIOALIGN == 0 {
		return alignment{fallbackAlign, fallbackAlign}, nil
	}
	a := alignment{int(st.Dio_mem_align), int(st.Dio_offset_align)}
	// The rest of a short read starts at the same distance in memory as in the
	// file, so no part may be aligned to less than either.
	a.offset = max(a.offset, a.mem)
	if st.Dio_mem_align == 0 || st.Dio_offset_align == 0 {
		return alignment{}, fmt.Errorf("file system does not support direct I/O here: %w", unix.EINVAL)
	}
	if a.mem > pageBytes || a.offset > MaxReadBytes || a.offset&(a.offset-1) != 0 {
		return alignment{}, fmt.Errorf("direct I/O wants an alignment of %d in memory and %d in the file: %w",
			a.mem, a.offset, unix.EINVAL)
	}
	return a, nil
}

// readAt reads once into dst: a byte count, or a negative errno.
func (h handle) readAt(dst []byte, off int64) int {
	n, err := unix.Pread(h.fd, dst, off)
	if err != nil {
		return -int(errnoOf(err))
	}
	return n
}

func (h handle) size() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(h.fd, &st); err != nil {
		return 0, err
	}
	return st.Size, nil
}

func (h handle) close() error { return unix.Close(h.fd) }

// errnoOf is the errno of an error of package unix.
func errnoOf(err error) syscall.Errno {
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.EIO
}
