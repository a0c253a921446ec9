package iopath

import (
	"context"
	"sync"
)

// queue holds the reads that wait for admission. It is bounded in waves: Submit
// waits for a place. It is also the one place that decides which read goes to the
// kernel next:
//
//   - between classes by weight, when more than one has reads waiting (the
//     class that has had the least for its weight is next: start-time fair queueing,
//     Goyal, Vin and Cheng 1996);
//   - within a class the flows take turns, a flow being the waves of one batch, so
//     that a query of three reads does not wait behind one of a thousand;
//   - within a flow in the order of submission.
type queue struct {
	c      *counters
	index  int           // of the backend's queues
	places chan struct{} // one token for each wave in the queue
	done   chan struct{} // closed by close

	mu struct {
		sync.Mutex
		lines   [classes]line
		now     float64 // passed of the class that was last served, before it was
		waiting int64   // reads in all lines
		closed  bool
	}
}

// line is the flows of a class, in the order of their turns.
type line struct {
	head, tail *flow
	given      int     // reads of head's turn so far
	passed     float64 // what the class has had, by its weight
}

// flow is what one batch has waiting in one queue. It belongs to the queue's lock.
type flow struct {
	head, tail *request
	prev, next *flow
	class      Class
	queued     bool
	hurry      bool // taken to the front; the next in front go behind it
}

// turnReads is how many reads a flow may give before the next has its turn. The
// waves of a usual query fit, so that they are not torn apart.
const turnReads = 8

// cost is what a read counts in the sharing of the volume: an operation, and its
// bytes in multiples of what a default gp3 volume gives for one.
func (r *request) cost() float64 { return 1 + float64(r.length)/(42<<10) }

func newQueue(c *counters, index int) *queue {
	return &queue{
		c: c, index: index,
		places: make(chan struct{}, maxQueuedWaves),
		done:   make(chan struct{}),
	}
}

// wave is a list of n requests linked by next.
type wave struct {
	head, tail *request
	n          int64
}

// push appends a wave to a flow, waiting for a place until ctx ends. On error
// nothing was queued.
func (q *queue) push(ctx context.Context, f *flow, c Class, w wave) error {
	select {
	case q.places <- struct{}{}:
	default:
		q.c.queueWaits.Add(1)
		select {
		case q.places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-q.done:
			return ErrClosed
		}
	}
	w.tail.endsWave = true
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		<-q.places
		return ErrClosed
	}
	if f.queued {
		f.tail.next, f.tail = w.head, w.tail
	} else {
		f.head, f.tail, f.class, f.queued = w.head, w.tail, c, true
		q.enlistLocked(f)
	}
	q.mu.waiting += w.n
	q.c.queued.Add(w.n)
	return nil
}

// enlistLocked puts a flow at the end of its line. A class that had nothing waiting
// gets no credit for that.
func (q *queue) enlistLocked(f *flow) {
	l := &q.mu.lines[f.class]
	if l.head == nil {
		l.passed = max(l.passed, q.mu.now)
	}
	if f.prev = l.tail; f.prev == nil {
		l.head = f
	} else {
		f.prev.next = f
	}
	l.tail = f
}

// dropLocked takes a flow out of its line.
func (q *queue) dropLocked(f *flow) {
	l := &q.mu.lines[f.class]
	if l.head == f {
		l.given = 0
	}
	if f.prev == nil {
		l.head = f.next
	} else {
		f.prev.next = f.next
	}
	if f.next == nil {
		l.tail = f.prev
	} else {
		f.next.prev = f.prev
	}
	f.prev, f.next = nil, nil
}

// hurry takes a flow to the front of its line, behind those that came there before.
func (q *queue) hurry(f *flow) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !f.queued || f.hurry {
		return
	}
	q.dropLocked(f)
	f.hurry = true
	l := &q.mu.lines[f.class]
	var before *flow
	for at := l.head; at != nil && at.hurry; at = at.next {
		before = at
	}
	f.prev = before
	if before == nil {
		f.next, l.head, l.given = l.head, f, 0
	} else {
		f.next, before.next = before.next, f
	}
	if f.next == nil {
		l.tail = f
	} else {
		f.next.prev = f
	}
}

// popLocked takes the read whose turn it is, nil when there is none. The caller
// holds q.mu.
func (q *queue) popLocked() *request {
	var l *line
	least := 0
	for c := range q.mu.lines {
		if at := &q.mu.lines[c]; at.head != nil && (l == nil || at.passed < l.passed) {
			l, least = at, c
		}
	}
	if l == nil {
		return nil
	}
	f := l.head
	r := f.head
	f.head, r.next = r.next, nil
	q.mu.now = l.passed
	l.passed += r.cost() / weights[least]
	l.given++
	switch {
	case f.head == nil:
		q.dropLocked(f)
		f.tail, f.queued, f.hurry = nil, false, false
	case l.given >= turnReads && !f.hurry:
		q.dropLocked(f)
		q.enlistLocked(f)
	}
	q.mu.waiting--
	q.c.queued.Add(-1)
	if r.endsWave {
		<-q.places
	}
	return r
}

// pop fills dst with the next reads, as many as the gate lets in, and returns how
// many there were and whether more are waiting.
func (q *queue) pop(dst []*request, g *gate) (n int, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	want := int(min(q.mu.waiting, int64(len(dst))))
	if want > 0 {
		n = g.enter(want)
	}
	for i := range n {
		dst[i] = q.popLocked()
	}
	return n, q.mu.waiting > 0
}

// close refuses further waves and returns the reads that were waiting, linked
// by next.
func (q *queue) close() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return nil
	}
	q.mu.closed = true
	close(q.done)
	var out wave
	for r := q.popLocked(); r != nil; r = q.popLocked() {
		out.add(r)
	}
	return out.head
}
