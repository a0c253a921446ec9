package iopath

import (
	"context"
	"syscall"
)

// request is one read on its way through the engine. It belongs to its batch
// until Submit, then to the engine until it is delivered, then to the batch
// again; there is never more than one owner, so its fields need no lock.
type request struct {
	// What the caller asked for; written by Batch.Read.
	batch *Batch
	file  *File
	ctx   context.Context // of Submit: ends the wait in the queue
	off   int64
	n     int
	tag   uint64

	// The same rounded outward: the bytes [start, start+length) are read, of
	// which the first need must arrive.
	start  int64
	length int
	need   int

	// Progress; written by the engine.
	buf     buffer
	got     int  // bytes that have arrived, a multiple of the alignment
	seen    int  // most bytes any attempt reached; no further progress means end of file
	tries   int  // attempts made
	retried bool // the one retry after EIO is used up
	fault   Fault
	err     error

	endsWave  bool     // last read of its Submit: popping it frees the place in the queue
	delivered bool     // the buffer may be given back at Release
	next      *request // link of whichever list holds the request
}

// verdict is what to do with a read after an attempt.
type verdict uint8

const (
	verdictDone   verdict = iota // deliver; err says how it went
	verdictAgain                 // attempt the rest
	verdictRescue                // attempt the rest once more with a blocking pread
)

// maxTries bounds the attempts of one read. Short reads make progress and
// interruptions are rare, so only a device that refuses for ever reaches it.
const maxTries = 64

// round computes the aligned range for the alignment of the file, a power of
// two.
func (r *request) round() {
	a := int64(r.file.align)
	end := r.off + int64(r.n)
	r.start = r.off &^ (a - 1)
	r.length = int((end+a-1)&^(a-1) - r.start)
	r.need = int(end - r.start)
}

// ops is what the volume charges for the read.
func (r *request) ops() int64 {
	return int64((r.length + OpBytes - 1) / OpBytes)
}

// rest is where the next attempt reads to.
func (r *request) rest() []byte {
	return r.buf.data[r.got:r.length]
}

// absorb takes the result of one attempt, a byte count or a negative errno, and
// decides what comes next. It is the whole retry policy of all engines:
//
//   - enough bytes: done. More than enough can be missing at the end of a file
//     whose size is not a multiple of the alignment, and that is fine.
//   - fewer: attempt the rest from the last aligned byte. An attempt that gets
//     no further than the one before has met the end of the file.
//   - EINTR, EAGAIN: attempt again.
//   - EIO: once more by a blocking pread, then it counts.
func (r *request) absorb(res int, c *counters) verdict {
	r.tries++
	if res < 0 {
		return r.absorbErrno(syscall.Errno(-res), c)
	}
	total := r.got + res
	if total >= r.need {
		r.got = total
		return verdictDone
	}
	c.shorts.Add(1)
	if res == 0 || total <= r.seen || r.tries >= maxTries {
		r.err = errShort
		return verdictDone
	}
	r.seen = total
	r.got = total &^ (r.file.align - 1)
	return verdictAgain
}

// absorbErrno is absorb for a failed attempt.
func (r *request) absorbErrno(errno syscall.Errno, c *counters) verdict {
	v := verdictDone
	switch {
	case r.tries >= maxTries:
	case errno == syscall.EINTR || errno == syscall.EAGAIN:
		v = verdictAgain
	case errno == syscall.EIO && !r.retried:
		r.retried = true
		v = verdictRescue
	}
	if v == verdictDone {
		r.err = errno
		return v
	}
	c.retries.Add(1)
	return v
}

// dropped reports whether nobody waits for the read any more, and why.
func (r *request) dropped() error {
	if r.batch.released.Load() {
		return context.Canceled
	}
	if done := r.ctx.Done(); done != nil {
		select {
		case <-done:
			return context.Cause(r.ctx)
		default:
		}
	}
	return nil
}

// completion is the request as its caller sees it.
func (r *request) completion() Completion {
	if r.err != nil {
		return Completion{Tag: r.tag, Err: &ReadError{
			Path: r.file.name(), Off: r.off, Len: r.n, Err: r.err,
		}}
	}
	lo := int(r.off - r.start)
	return Completion{Tag: r.tag, Data: r.buf.data[lo : lo+r.n : lo+r.n]}
}
