package iopath

import (
	"context"
	"sync"
)

// queue holds the reads that wait for admission, in the order of their waves.
// It is bounded in waves: Submit waits for a place. It is also the one place
// that decides which read goes to the kernel next.
type queue struct {
	c      *counters
	places chan struct{} // one token for each wave in the queue
	done   chan struct{} // closed by close

	mu struct {
		sync.Mutex
		head, tail *request
		waiting    int64 // reads in the list
		closed     bool
	}
}

func newQueue(c *counters) *queue {
	return &queue{
		c:      c,
		places: make(chan struct{}, maxQueuedWaves),
		done:   make(chan struct{}),
	}
}

// wave is a list of n requests linked by next.
type wave struct {
	head, tail *request
	n          int64
}

// push appends a wave, waiting for a place until ctx ends. On error nothing was
// queued.
func (q *queue) push(ctx context.Context, w wave) error {
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
	if q.mu.tail == nil {
		q.mu.head = w.head
	} else {
		q.mu.tail.next = w.head
	}
	q.mu.tail = w.tail
	q.mu.waiting += w.n
	q.c.queued.Add(w.n)
	return nil
}

// popLocked takes the oldest read, nil when there is none. The caller holds
// q.mu.
func (q *queue) popLocked() *request {
	r := q.mu.head
	if r == nil {
		return nil
	}
	q.mu.waiting--
	q.c.queued.Add(-1)
	q.mu.head, r.next = r.next, nil
	if q.mu.head == nil {
		q.mu.tail = nil
	}
	if r.endsWave {
		<-q.places
	}
	return r
}

// pop fills dst with the oldest reads, as many as the gate lets in, and returns
// how many there were and whether more are waiting.
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
	head := q.mu.head
	for r := head; r != nil; r = r.next {
		if r.endsWave {
			<-q.places
		}
	}
	q.c.queued.Add(-q.mu.waiting)
	q.mu.head, q.mu.tail, q.mu.waiting = nil, nil, 0
	return head
}
