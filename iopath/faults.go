package iopath

import "syscall"

// Faults is a seam for tests: it is asked once for each attempt to read and
// decides what becomes of it. It must be safe for concurrent use. Engines ask
// on the path of every read, so it must not block; Fault.Until delays a read.
type Faults func(ReadOp) Fault

// ReadOp describes one attempt to read. A retry is an attempt of its own.
type ReadOp struct {
	Attempt uint64 // 1 for the first attempt the engine ever made, and so on
	Path    string // file as given to OpenFile
	Off     int64  // offset of the attempt, in bytes, rounded to the alignment
	Len     int    // length of the attempt, in bytes, rounded to the alignment
}

// Fault is the fate of one attempt. The zero value lets it pass.
type Fault struct {
	Kind FaultKind

	// Until, when not nil, keeps the attempt with the "device" until the
	// channel is closed: the buffer belongs to the read, its place in
	// Config.Depth is taken, and the bytes arrive only afterwards (on io_uring by
	// a blocking pread).
	Until <-chan struct{}
}

// FaultKind names what goes wrong with an attempt.
type FaultKind uint8

// The kinds of fault. An attempt that fails leaves garbage in its buffer.
const (
	FaultNone   FaultKind = iota // nothing
	FaultShort                   // half of the bytes arrive
	FaultEINTR                   // interrupted before anything arrived
	FaultEAGAIN                  // refused for want of resources
	FaultEIO                     // the device failed
)

// garbage fills what a faulty attempt did not deliver, so that a test which
// gets to see such bytes fails.
const garbage = 0xDB

// ask numbers the attempt and consults the hook.
func (e *Engine) ask(r *request) Fault {
	if e.cfg.Faults == nil {
		return Fault{}
	}
	return e.cfg.Faults(ReadOp{
		Attempt: e.attempts.Add(1),
		Path:    r.file.path,
		Off:     r.start + int64(r.got),
		Len:     r.length - r.got,
	})
}

// apply turns the true result of an attempt (a count or a negative errno) into
// the faulty one and spoils the bytes of dst that have thereby not arrived.
func (f Fault) apply(res int, dst []byte) int {
	switch f.Kind {
	case FaultShort:
		if res > 1 {
			res /= 2
		}
	case FaultEINTR:
		res = -int(syscall.EINTR)
	case FaultEAGAIN:
		res = -int(syscall.EAGAIN)
	case FaultEIO:
		res = -int(syscall.EIO)
	default:
		return res
	}
	fill(dst[max(res, 0):], garbage)
	return res
}
