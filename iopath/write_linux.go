package iopath

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openForWrite creates or empties a file for writing, with O_DIRECT when direct.
func openForWrite(path string, direct bool) (handle, alignment, error) {
	return openWritable(path, unix.O_WRONLY|unix.O_TRUNC, direct)
}

// openForUpdate opens or creates a file for reading and writing at offsets, with
// O_DIRECT when direct.
func openForUpdate(path string, direct bool) (handle, alignment, error) {
	return openWritable(path, unix.O_RDWR, direct)
}

// openWritable opens a file with the flags given, creating it when missing.
func openWritable(path string, flags int, direct bool) (handle, alignment, error) {
	flags |= unix.O_CREAT | unix.O_CLOEXEC
	if direct {
		flags |= unix.O_DIRECT
	}
	h, err := open(path, flags, 0o644)
	if err != nil || !direct {
		return h, alignment{1, 1}, err
	}
	a, err := h.directAlignment()
	if err == nil && a.offset > writerBytes {
		err = unix.EINVAL
	}
	if err != nil {
		_ = h.close()
		return handle{}, alignment{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return h, a, nil
}

// writeAt writes once and returns how many bytes it took.
func (h handle) writeAt(p []byte, off int64) (int, error) {
	var n int
	err := uninterrupted(func() (err error) {
		n, err = unix.Pwrite(h.fd, p, off)
		return err
	})
	return max(n, 0), err // the system says -1 with an error
}

func (h handle) truncate(size int64) error {
	return uninterrupted(func() error { return unix.Ftruncate(h.fd, size) })
}

// syncData makes the data durable, and of the metadata what is needed to read
// it: the size and the extents.
func (h handle) syncData() error {
	return uninterrupted(func() error { return unix.Fdatasync(h.fd) })
}

// preallocate reserves the first n bytes without changing the size.
func (h handle) preallocate(n int64) error {
	err := uninterrupted(func() error {
		return unix.Fallocate(h.fd, unix.FALLOC_FL_KEEP_SIZE, 0, n)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// punch makes a range read as zeros and gives its blocks back, without changing
// the size. The error is errors.ErrUnsupported where the file system cannot.
func (h handle) punch(off, n int64) error {
	return uninterrupted(func() error {
		return unix.Fallocate(h.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
}

// startWriteBack has the kernel start writing a range of the page cache.
func (h handle) startWriteBack(off, n int64) error {
	return h.syncRange(off, n, unix.SYNC_FILE_RANGE_WRITE)
}

// waitWriteBack waits until a range of the page cache is written. It does not
// flush the device's own cache and is no substitute for syncData.
func (h handle) waitWriteBack(off, n int64) error {
	return h.syncRange(off, n, unix.SYNC_FILE_RANGE_WAIT_BEFORE|
		unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
}

// syncRange passes on the write errors that the kernel reports here, once and
// never again, and ignores that a file cannot do it.
func (h handle) syncRange(off, n int64, flags int) error {
	err := uninterrupted(func() error { return unix.SyncFileRange(h.fd, off, n, flags) })
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ESPIPE),
		errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return nil
	}
	return err
}

// dropCache asks the kernel to forget clean pages of a range.
func (h handle) dropCache(off, n int64) {
	_ = unix.Fadvise(h.fd, off, n, unix.FADV_DONTNEED) // advice only
}

// uninterrupted repeats a call for as long as a signal interrupts it.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
