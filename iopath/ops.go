package iopath

import (
	"errors"
	"fmt"
	"io"
)

// Ops is a seam for tests: it is asked before each change of the file system,
// in the goroutine that makes it. An error is the result of the operation, which
// is then not carried out; of a write, an error that wraps a *ShortWrite lets
// the first bytes through. It must be safe for concurrent use and may block. It
// learns of changes only: what it does not refuse may still fail, and what it
// refuses has not happened.
type Ops func(Op) error

// Op is one change of the file system. A write or punch that is not aligned is
// reported as the device sees it, blocks and all.
type Op struct {
	Kind OpKind
	Path string // file or directory, as the caller named it; the old name of a rename or link
	To   string // the new name of a rename or link
	Off  int64  // OpWrite, OpPunch: where the range starts, in bytes
	Data []byte // OpWrite: what is written; valid during the call only
	N    int64  // OpWrite, OpPunch: length of the range; OpTruncate: the new size; in bytes
}

// OpKind names a change of the file system.
type OpKind uint8

// The kinds of change.
const (
	OpCreate   OpKind = iota + 1 // an empty file of the name; one that is there is emptied
	OpWrite                      // bytes [Off, Off+N) of a file, which grows when it is shorter
	OpSync                       // data and size of a file become durable
	OpTruncate                   // a file gets the size N
	OpPunch                      // bytes [Off, Off+N) of a file become zeros; its size stays
	OpRename                     // Path becomes To, in place of a file of that name
	OpLink                       // To becomes a second name of the file Path
	OpRemove                     // a file or an empty directory goes
	OpMkdir                      // a directory appears
	OpSyncDir                    // the names in a directory become durable
)

var opNames = [...]string{
	OpCreate: "create", OpWrite: "write", OpSync: "sync", OpTruncate: "truncate", OpPunch: "punch",
	OpRename: "rename", OpLink: "link", OpRemove: "remove", OpMkdir: "mkdir", OpSyncDir: "syncdir",
}

// String is the name in lower case, such as "write".
func (k OpKind) String() string {
	if k == 0 || int(k) >= len(opNames) {
		return fmt.Sprintf("op(%d)", uint8(k))
	}
	return opNames[k]
}

// ShortWrite is a result of Ops for an OpWrite: the first N bytes are written
// and Err is the outcome of the write. With direct I/O, N is rounded down to the
// alignment. Used as *ShortWrite.
type ShortWrite struct {
	N   int   // bytes to write, 0..len(Op.Data); what is outside is brought inside
	Err error // nil stands for io.ErrShortWrite
}

// Error tells how much was let through and the cause.
func (s *ShortWrite) Error() string {
	return fmt.Sprintf("write cut after %d bytes: %v", s.N, s.Unwrap())
}

// Unwrap returns the cause.
func (s *ShortWrite) Unwrap() error {
	if s.Err == nil {
		return io.ErrShortWrite
	}
	return s.Err
}

// Ask asks about an operation that is about to happen; a nil Ops lets everything
// pass. n is how many bytes of Data to write before err is returned: all of them
// when err is nil.
func (o Ops) Ask(op Op) (n int, err error) {
	if o == nil {
		return len(op.Data), nil
	}
	err = o(op)
	if err == nil {
		return len(op.Data), nil
	}
	var short *ShortWrite
	if op.Kind == OpWrite && errors.As(err, &short) {
		return min(max(short.N, 0), len(op.Data)), short.Unwrap()
	}
	return 0, err
}

// target is an open file with what every change of it needs.
type target struct {
	h     handle
	path  string
	align int // writes are multiples of it at multiples of it; 1 when not direct
	ops   Ops
}

// writeAll writes p, whole blocks, at off. A write that stops early goes on from
// the last aligned byte. done tells how many bytes, whole blocks, were written.
func (t *target) writeAll(p []byte, off int64) (done int, err error) {
	for done < len(p) {
		n, err := t.writeOnce(p[done:], off+int64(done))
		step := n &^ (t.align - 1)
		if err == nil && step == 0 {
			err = fmt.Errorf("%d of %d bytes written", n, len(p)-done)
		}
		done += step
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// writeOnce writes p once, or as much of it as ops lets through.
func (t *target) writeOnce(p []byte, off int64) (int, error) {
	if t.ops == nil {
		return t.h.writeAt(p, off)
	}
	n, refused := t.ops.Ask(Op{Kind: OpWrite, Path: t.path, Off: off, Data: p, N: int64(len(p))})
	if refused == nil {
		return t.h.writeAt(p, off)
	}
	if n &^= t.align - 1; n == 0 {
		return 0, refused
	}
	n, err := t.h.writeAt(p[:n], off)
	if err == nil {
		err = refused
	}
	return n, err
}

// truncate sets the size.
func (t *target) truncate(n int64) error {
	if _, err := t.ops.Ask(Op{Kind: OpTruncate, Path: t.path, N: n}); err != nil {
		return err
	}
	return t.h.truncate(n)
}

// syncData makes data and size durable.
func (t *target) syncData() error {
	if _, err := t.ops.Ask(Op{Kind: OpSync, Path: t.path}); err != nil {
		return err
	}
	return t.h.syncData()
}
