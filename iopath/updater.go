package iopath

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// pieceBytes is the longest write of an Updater: reads that come meanwhile wait for
// no more than that.
const pieceBytes = 128 << 10

// Updater changes one file in place, at any offset. It is safe for concurrent
// use: changes go one after the other, so that two neighbours in one block do
// not undo each other, and Sync runs beside them. That holds within one Updater
// only; a file must not have two. An error is not sticky: a later call may
// succeed, for example when space has been freed.
type Updater struct {
	target
	engine *Engine

	// open is held for reading by each call and for writing by Close, so that
	// the descriptor outlives the calls. Lock it before mu.
	open   sync.RWMutex
	closed bool // under open

	mu struct {
		sync.Mutex      // one change of the file at a time
		unpunched  bool // the file system has said that it makes no holes
	}
}

// OpenUpdate opens a file for changes in place, creating an empty one when it is
// missing, with O_DIRECT when the engine is direct. The name of a new file is
// durable after SyncDir. Bytes written are seen by a File of the same engine
// when the call returns. The error is a *WriteError.
func (e *Engine) OpenUpdate(path string) (*Updater, error) {
	if e.closed.Load() {
		return nil, &WriteError{path, 0, ErrClosed}
	}
	if e.cfg.Ops != nil {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if _, err := e.cfg.Ops.Ask(Op{Kind: OpCreate, Path: path}); err != nil {
				return nil, &WriteError{path, 0, err}
			}
		}
	}
	h, a, err := openForUpdate(path, e.info.Direct)
	if err != nil {
		return nil, &WriteError{path, 0, err}
	}
	return &Updater{engine: e, target: target{h, path, a.offset, e.cfg.Ops}}, nil
}

// WriteAt writes p at off, any offset from 0 and any length; n tells how much of
// it was written. Bytes outside [off, off+len(p)) keep their values: edges that
// are not aligned are read, patched and written back. The file grows when it is
// shorter, with zeros in the gap. After an error the range may hold old and new
// bytes, and the file may have grown by zeros up to the end of a block. p is not
// kept. The error is a *WriteError.
func (u *Updater) WriteAt(p []byte, off int64) (n int, err error) {
	err = u.change(off, int64(len(p)), func() error {
		n, err = u.write(p, off)
		return err
	})
	return n, err
}

// Truncate sets the size in bytes, any from 0. What is added reads as zeros. The
// error is a *WriteError.
func (u *Updater) Truncate(n int64) error {
	return u.change(n, 0, func() error { return u.truncate(n) })
}

// Punch makes the n bytes from off read as zeros and gives the whole blocks
// among them back to the volume, where the file system can; otherwise it writes
// zeros. The size stays: what is beyond the end of the file is left out. The
// error is a *WriteError.
func (u *Updater) Punch(off, n int64) error {
	return u.change(off, n, func() error { return u.punch(off, n) })
}

// change runs one change of the file over a range of n bytes at off.
func (u *Updater) change(off, n int64, do func() error) error {
	u.open.RLock()
	defer u.open.RUnlock()
	err := ErrInvalidWrite
	switch {
	case u.closed:
		err = ErrClosed
	case off >= 0 && n >= 0 && off <= maxOffset-n:
		u.mu.Lock()
		defer u.mu.Unlock()
		err = do()
	}
	if err != nil {
		return &WriteError{u.path, off, err}
	}
	return nil
}

// Sync makes every change that has returned durable. The name of a new file
// needs SyncDir as well. After an error it is unknown which changes since the
// last good Sync are durable, and a later Sync does not tell. The error is a
// *WriteError.
func (u *Updater) Sync() error {
	u.open.RLock()
	defer u.open.RUnlock()
	err := ErrClosed
	if !u.closed {
		err = u.syncData()
	}
	if err != nil {
		return &WriteError{u.path, 0, err}
	}
	return nil
}

// Size is the present length of the file in bytes. The error is a *WriteError.
func (u *Updater) Size() (int64, error) {
	u.open.RLock()
	defer u.open.RUnlock()
	if u.closed {
		return 0, &WriteError{u.path, 0, ErrClosed}
	}
	n, err := u.h.size()
	if err != nil {
		return 0, &WriteError{u.path, 0, err}
	}
	return n, nil
}

// Close waits for the calls in progress and closes the file. It makes nothing
// durable. A second Close is ErrClosed, in a *WriteError.
func (u *Updater) Close() error {
	u.open.Lock()
	defer u.open.Unlock()
	err := ErrClosed
	if !u.closed {
		u.closed = true
		err = u.h.close()
	}
	if err != nil {
		return &WriteError{u.path, 0, err}
	}
	return nil
}

// write is WriteAt under the lock. A direct write of the last block makes the
// file as long as the block; that is cut off again.
func (u *Updater) write(p []byte, off int64) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if u.align == 1 {
		return u.writePieces(p, off)
	}
	size, err := u.h.size()
	if err != nil {
		return 0, err
	}
	n, err = u.writeBlocks(p, off)
	want := max(size, off+int64(n))
	if u.up(off+int64(len(p))) <= want {
		return n, err
	}
	now, serr := u.h.size()
	if serr == nil && now > want {
		serr = u.truncate(want)
	}
	if err == nil {
		err = serr
	}
	return n, err
}

// writePieces writes p through the page cache.
func (u *Updater) writePieces(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		var done int
		done, err = u.writeAll(p[n:min(n+pieceBytes, len(p))], off+int64(n))
		n += done
	}
	return n, err
}

// writeBlocks writes the blocks that p touches, from an aligned buffer.
func (u *Updater) writeBlocks(p []byte, off int64) (n int, err error) {
	buf, err := u.engine.pool.get(int(min(u.up(off+int64(len(p)))-u.down(off), pieceBytes)))
	if err != nil {
		return 0, err
	}
	defer u.engine.pool.put(&buf)
	for n < len(p) {
		from := off + int64(n)
		lo := u.down(from)
		end := min(off+int64(len(p)), lo+pieceBytes)
		blocks := buf.data[:u.up(end)-lo]
		if err := u.readEdges(blocks, lo, from, end); err != nil {
			return n, err
		}
		copy(blocks[from-lo:], p[n:n+int(end-from)])
		done, err := u.writeAll(blocks, lo)
		n += int(min(max(int64(done)-(from-lo), 0), end-from))
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// readEdges fills the first and the last block of those at lo where [from, end)
// does not cover them.
func (u *Updater) readEdges(blocks []byte, lo, from, end int64) error {
	if from > lo {
		if err := u.readBlock(blocks[:u.align], lo); err != nil {
			return err
		}
	}
	last := len(blocks) - u.align
	covered := end == lo+int64(len(blocks))
	if covered || last == 0 && from > lo {
		return nil
	}
	return u.readBlock(blocks[last:], lo+int64(last))
}

// readBlock reads one block. What is beyond the end of the file is zeros.
func (u *Updater) readBlock(dst []byte, off int64) error {
	got := 0
	for got < len(dst) {
		n := u.h.readAt(dst[got:], off+int64(got))
		switch {
		case n == -int(syscall.EINTR):
		case n < 0:
			return syscall.Errno(-n)
		case n == 0, n&(u.align-1) != 0: // only the end of the file is not aligned
			clear(dst[got+n:])
			return nil
		default:
			got += n
		}
	}
	return nil
}

// punch is Punch under the lock.
func (u *Updater) punch(off, n int64) error {
	size, err := u.h.size()
	if err != nil {
		return err
	}
	end := min(off+n, size)
	if end <= off {
		return nil
	}
	lo := (off + pageBytes - 1) &^ (pageBytes - 1)
	hi := end &^ (pageBytes - 1)
	if u.mu.unpunched || lo >= hi {
		return u.zero(off, end)
	}
	err = u.hole(lo, hi-lo)
	if errors.Is(err, errors.ErrUnsupported) {
		u.mu.unpunched = true
		return u.zero(off, end)
	}
	if err == nil {
		err = u.zero(off, lo)
	}
	if err == nil {
		err = u.zero(hi, end)
	}
	return err
}

// hole has the file system drop whole blocks.
func (u *Updater) hole(off, n int64) error {
	if _, err := u.ops.Ask(Op{Kind: OpPunch, Path: u.path, Off: off, N: n}); err != nil {
		return err
	}
	return u.h.punch(off, n)
}

// zero writes zeros over [off, end).
func (u *Updater) zero(off, end int64) error {
	if off >= end {
		return nil
	}
	zeros := make([]byte, min(end-off, pieceBytes))
	for ; off < end; off += int64(len(zeros)) {
		if _, err := u.write(zeros[:min(end-off, pieceBytes)], off); err != nil {
			return err
		}
	}
	return nil
}

// down and up round an offset to the alignment.
func (u *Updater) down(off int64) int64 { return off &^ int64(u.align-1) }
func (u *Updater) up(off int64) int64   { return u.down(off + int64(u.align-1)) }
