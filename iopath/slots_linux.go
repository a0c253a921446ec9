package iopath

import "fmt"

// slots pairs a ring with the reads it has in flight. It belongs to whoever
// may call the ring.
//
// The token of an operation is the index of its slot, never a pointer: the
// kernel hands back a number, and the slot says whose it is. A slot is free
// again only when its event has come, whatever became of the caller.
type slots struct {
	e      *Engine
	ring   ring
	files  fileTable
	memory memoryTable

	reads []*request // by token; nil when free
	spare []uint32   // free slots
	heard []event    // scratch of hear
	gone  int        // reads that left the ring and whose places are not yet given back
	awake []*Batch   // scratch: batches to signal after a pass
}

// tokenWake is the token of an eventfd's watch; slots count from 0.
const tokenWake = ^uint64(0)

// init makes n slots.
func (s *slots) init(e *Engine, r ring, n int) {
	s.e, s.ring = e, r
	s.reads = make([]*request, n)
	s.heard = make([]event, n+1)
	for i := n - 1; i >= 0; i-- {
		s.spare = append(s.spare, uint32(i))
	}
}

// flying is the number of reads with the kernel.
func (s *slots) flying() int { return len(s.reads) - len(s.spare) }

// admit takes a read that has passed the gate: it gets its buffer and a slot
// and is queued on the ring. There must be a free slot.
func (s *slots) admit(r *request) {
	if err := s.e.admit(r); err != nil {
		s.refuse(r, err)
		return
	}
	last := len(s.spare) - 1
	slot := s.spare[last]
	s.spare = s.spare[:last]
	s.reads[slot] = r
	s.attempt(slot)
}

// refuse finishes a read that has passed the gate without trying it.
func (s *slots) refuse(r *request, err error) {
	r.err = err
	s.gone++
	s.finish(r)
}

// attempt queues the next attempt of a read on the ring, unless a test delays
// it.
func (s *slots) attempt(slot uint32) {
	r := s.reads[slot]
	if r.fault = s.e.ask(r); r.fault.Until != nil {
		s.free(slot)
		s.e.aside(r, r.fault)
		return
	}
	fd, fixed := s.files.lookup(s.ring, r.file)
	s.ring.read(ringRead{
		fd: fd, fixedFile: fixed,
		buf:    r.rest(),
		memory: s.memory.lookup(s.ring, s.e.pool, r.buf.chunk),
		off:    r.start + int64(r.got),
	}, uint64(slot))
}

// hear copies the events that are there out of the ring, works them off, gives
// the places back and wakes those who wait for the reads, once each. It returns
// the number of events and whether the watch of the eventfd has ended.
func (s *slots) hear() (n int, unwatched bool) {
	n = s.ring.events(s.heard)
	for _, ev := range s.heard[:n] {
		if ev.token == tokenWake {
			unwatched = unwatched || !ev.more
			continue
		}
		s.completed(uint32(ev.token), int(ev.res))
	}
	s.settle()
	return n, unwatched
}

// completed handles the result of one attempt.
func (s *slots) completed(slot uint32, res int) {
	r := s.reads[slot]
	if r == nil {
		return // abandoned: the kernel was not done with it after all
	}
	if r.fault.Kind != FaultNone {
		res = r.fault.apply(res, r.rest())
	}
	switch r.absorb(res, &s.e.counters) {
	case verdictDone:
		s.free(slot)
		s.gone++
		s.finish(r)
	case verdictAgain:
		s.attempt(slot)
	case verdictRescue:
		s.free(slot)
		s.e.aside(r, s.e.ask(r))
	}
}

// free empties a slot that the kernel has let go of.
func (s *slots) free(slot uint32) {
	s.reads[slot] = nil
	s.spare = append(s.spare, slot)
}

// finish delivers a read; its batch is signalled by settle.
func (s *slots) finish(r *request) {
	b := r.batch
	if s.e.finish(r) {
		s.awake = append(s.awake, b)
	}
}

// settle ends a pass.
func (s *slots) settle() {
	gone := s.gone
	s.gone = 0
	s.e.adapt.look()
	s.e.gate.leave(gone)
	for i, b := range s.awake {
		b.signal()
		s.awake[i] = nil
	}
	s.awake = s.awake[:0]
}

// abandon fails all reads after an error of the call into the kernel that must
// not happen, unless a sandbox takes the call away after Open: a ring that has
// failed fails its reads and never hangs. The kernel may still write to the
// buffers, so these are given up and never reused. It returns the error that
// later reads of the ring are to be refused with.
func (s *slots) abandon(err error) error {
	err = fmt.Errorf("io_uring_enter: %w", err)
	s.e.cfg.Logger.Error("iopath: ring failed, its reads fail from now on", "err", err)
	for slot, r := range s.reads {
		if r == nil {
			continue
		}
		r.buf = buffer{}
		s.free(uint32(slot))
		s.refuse(r, err)
	}
	s.settle()
	return err
}
