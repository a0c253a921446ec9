//go:build !linux

package iopath

import "os"

func openForWrite(path string, direct bool) (handle, alignment, error) {
	return openWritable(path, os.O_WRONLY|os.O_TRUNC, direct)
}

func openForUpdate(path string, direct bool) (handle, alignment, error) {
	return openWritable(path, os.O_RDWR, direct)
}

func openWritable(path string, flags int, direct bool) (handle, alignment, error) {
	if direct {
		return handle{}, alignment{}, errLinuxOnly
	}
	f, err := os.OpenFile(path, flags|os.O_CREATE, 0o644)
	return handle{f}, alignment{1, 1}, err
}

func (h handle) writeAt(p []byte, off int64) (int, error) { return h.f.WriteAt(p, off) }
func (h handle) truncate(size int64) error                { return h.f.Truncate(size) }
func (h handle) syncData() error                          { return h.f.Sync() }

// The page cache is left to the system, and reservations and holes to Linux.

func (handle) punch(int64, int64) error          { return errLinuxOnly }
func (handle) preallocate(int64) error           { return nil }
func (handle) startWriteBack(int64, int64) error { return nil }
func (handle) waitWriteBack(int64, int64) error  { return nil }
func (handle) dropCache(int64, int64)            {}
