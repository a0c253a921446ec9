package iopath

import (
	"fmt"
	"os"
	"sync/atomic"
)

// File is a file open for reading through an engine. It is safe for concurrent
// use. Reads that are with the engine keep it open: Close returns at once and
// the descriptor goes when the last of them is done.
type File struct {
	engine   *Engine
	path     string
	align    int // reads are rounded outward to it; 1 when not direct
	memAlign int // of buffers; 1 when not direct
	h        handle
	mapped   *mapping // mmap engine only

	// refs counts the open handle itself and each read with the engine. At 0
	// the descriptor is closed, and it never rises from 0.
	refs   atomic.Int64
	closed atomic.Bool

	ring ringSlots // io_uring engine only
}

// OpenFile opens a file of any kind that can be read at an offset. When the
// engine is direct the file must allow O_DIRECT; the alignment is its own.
func (e *Engine) OpenFile(path string) (*File, error) {
	if e.closed.Load() {
		return nil, fmt.Errorf("iopath: open %s: %w", path, ErrClosed)
	}
	h, a, err := openForRead(path, e.info.Direct)
	if err != nil {
		return nil, fmt.Errorf("iopath: %w", err)
	}
	f := &File{engine: e, path: path, align: a.offset, memAlign: a.mem, h: h}
	f.refs.Store(1)
	if e.info.Engine == Mmap {
		if f.mapped, err = newMapping(h); err != nil {
			f.shut()
			return nil, fmt.Errorf("iopath: map %s: %w", path, err)
		}
	}
	if !e.track(f) {
		f.shut()
		return nil, fmt.Errorf("iopath: open %s: %w", path, ErrClosed)
	}
	return f, nil
}

// Path is the name the file was opened by.
func (f *File) Path() string { return f.path }

// Size is the present length of the file in bytes, asked of the system each
// time, since the file may be growing.
func (f *File) Size() (int64, error) {
	if !f.acquire() {
		return 0, fmt.Errorf("iopath: size of %s: %w", f.path, ErrClosed)
	}
	defer f.release()
	n, err := f.h.size()
	if err != nil {
		return 0, fmt.Errorf("iopath: size: %w", &os.PathError{Op: "stat", Path: f.path, Err: err})
	}
	return n, nil
}

// Close lets go of the file. Reads already submitted complete normally, later
// ones with ErrClosed. A second Close returns ErrClosed.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return fmt.Errorf("iopath: close %s: %w", f.path, ErrClosed)
	}
	f.engine.untrack(f)
	f.release()
	return nil
}

// acquire takes a reference for one read; false after Close.
func (f *File) acquire() bool {
	if f.closed.Load() {
		return false
	}
	for {
		n := f.refs.Load()
		if n == 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release drops a reference; the last one closes the descriptor.
func (f *File) release() {
	if f.refs.Add(-1) == 0 {
		f.engine.back.forget(f)
		f.shut()
	}
}

// shut closes descriptor and mapping. Nothing was written, so an error would
// tell nothing.
func (f *File) shut() {
	if f.mapped != nil {
		f.mapped.unmap()
	}
	_ = f.h.close()
}

// name is the path, also for the nil file of an invalid read.
func (f *File) name() string {
	if f == nil {
		return "(no file)"
	}
	return f.path
}
