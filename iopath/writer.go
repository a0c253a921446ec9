package iopath

// writerBytes is the size of a writer's buffer and of its writes: large enough
// that a volume charges by throughput and not by operations.
const writerBytes = 1 << 20

// Writer writes one file from its beginning to its end. It is not safe for
// concurrent use. After an error every further call but Close returns that same
// error: the content from its offset on is unknown, and the caller must write
// the file anew.
type Writer struct {
	target
	engine *Engine

	// The bytes [base, base+fill) of the file stand in buf. base is a multiple
	// of align, so that a block which a Sync had to write half full is written
	// again, whole, later.
	buf  buffer
	fill int
	base int64

	started  int64 // buffered mode: write-back started up to here
	dropped  int64 // buffered mode: written back and dropped from the cache up to here
	reserved int64 // preallocated up to here
	err      error // the first error
	closed   bool
}

// Create makes an empty file for writing, in place of one of that name, with
// O_DIRECT when the engine is direct. Neither the file nor its name is durable
// before Sync and SyncDir.
func (e *Engine) Create(path string) (*Writer, error) {
	if e.closed.Load() {
		return nil, &WriteError{path, 0, ErrClosed}
	}
	if _, err := e.cfg.Ops.Ask(Op{Kind: OpCreate, Path: path}); err != nil {
		return nil, &WriteError{path, 0, err}
	}
	h, a, err := openForWrite(path, e.info.Direct)
	if err != nil {
		return nil, &WriteError{path, 0, err}
	}
	buf, err := e.pool.get(writerBytes)
	if err != nil {
		_ = h.close()
		return nil, &WriteError{path, 0, err}
	}
	return &Writer{engine: e, target: target{h, path, a.offset, e.cfg.Ops}, buf: buf}, nil
}

// Size is the number of bytes given to Write so far.
func (w *Writer) Size() int64 { return w.base + int64(w.fill) }

// Write appends p. The bytes reach the file when a buffer of 1 MiB is full, and
// at Sync and Close. p is not kept.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	n := 0
	for n < len(p) {
		c := copy(w.buf.data[w.fill:writerBytes], p[n:])
		n += c
		w.fill += c
		if w.fill == writerBytes {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// Preallocate reserves space for a file of n bytes, so that a full volume shows
// before the work and extents are contiguous. The size does not change. A file
// system that cannot is no error. A Sync in mid-block gives the rest of the
// reservation up, and so does Close.
func (w *Writer) Preallocate(n int64) error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.h.preallocate(n); err != nil {
		return &WriteError{w.path, n, err} // nothing was written: not sticky
	}
	w.reserved = max(w.reserved, n)
	return nil
}

// Sync makes all bytes given to Write durable, and the size with them. The name
// of a new file needs SyncDir as well.
func (w *Writer) Sync() error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.syncData(); err != nil {
		return w.fail(w.base, err)
	}
	w.dropSynced()
	return nil
}

// Close writes what is still in the buffer and closes the file. It does not
// make it durable. The first error of the writer is returned again, so that a
// caller who checks only Close misses nothing.
func (w *Writer) Close() error {
	if w.closed {
		return &WriteError{w.path, w.Size(), ErrClosed}
	}
	if w.err == nil {
		_ = w.flush() // kept in w.err
	}
	if w.err == nil && w.reserved > w.Size() {
		if err := w.truncate(w.Size()); err != nil {
			_ = w.fail(w.Size(), err)
		}
	}
	w.closed = true
	w.engine.pool.put(&w.buf)
	if err := w.h.close(); err != nil && w.err == nil {
		_ = w.fail(w.Size(), err)
	}
	return w.err
}

// usable is the error that a call must return without trying.
func (w *Writer) usable() error {
	if w.closed {
		return &WriteError{w.path, w.Size(), ErrClosed}
	}
	return w.err
}

// fail records the first error.
func (w *Writer) fail(off int64, err error) error {
	w.err = &WriteError{w.path, off, err}
	return w.err
}

// flush writes the buffer. A last block that is only partly full is written
// whole, padded with zeros, cut off again by setting the size, and stays in the
// buffer to be completed.
func (w *Writer) flush() error {
	tail := w.fill & (w.align - 1)
	body := w.fill - tail
	length := body
	if tail > 0 {
		length = body + w.align
		clear(w.buf.data[w.fill:length])
	}
	if done, err := w.writeAll(w.buf.data[:length], w.base); err != nil {
		return w.fail(w.base+int64(done), err)
	}
	if tail > 0 {
		if err := w.truncate(w.Size()); err != nil {
			return w.fail(w.base, err)
		}
		w.reserved = 0
		copy(w.buf.data, w.buf.data[body:w.fill])
	}
	w.base += int64(body)
	w.fill = tail
	if w.align == 1 {
		return w.writeBack()
	}
	return nil
}

// writeBack keeps the page cache of a buffered writer small: it starts the
// write-back of what was just written, then waits for what was started the time
// before and drops it. The device stays busy, and at most two buffers of dirty
// pages are charged to the memory cgroup.
func (w *Writer) writeBack() error {
	if w.base-w.started < writerBytes {
		return nil
	}
	if err := w.h.startWriteBack(w.started, w.base-w.started); err != nil {
		return w.fail(w.started, err)
	}
	if w.started > w.dropped {
		if err := w.h.waitWriteBack(w.dropped, w.started-w.dropped); err != nil {
			return w.fail(w.dropped, err)
		}
		w.h.dropCache(w.dropped, w.started-w.dropped)
		w.dropped = w.started
	}
	w.started = w.base
	return nil
}

// dropSynced drops from the page cache what a Sync has written back.
func (w *Writer) dropSynced() {
	if w.align == 1 && w.base > w.dropped {
		w.h.dropCache(w.dropped, w.base-w.dropped)
		w.started, w.dropped = w.base, w.base
	}
}
