package lire

import "sync"

// Queue is a set of posting ids to work on, the most urgent first. An id stands in
// it at most once, so its length is bounded by the number of postings. The zero
// value is not ready: use NewQueue. It is safe for concurrent use.
type Queue struct {
	mu struct {
		sync.Mutex
		heap []queued         // a binary heap, the most urgent at 0
		at   map[uint32]int32 // place of an id in heap
	}
	ready chan struct{} // holds a token while the heap may hold an id
}

type queued struct {
	id      uint32
	urgency float64
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	q := &Queue{ready: make(chan struct{}, 1)}
	q.mu.at = make(map[uint32]int32)
	return q
}

// Add puts an id in, or raises its urgency when it is in already; it never lowers
// it. It tells whether the id is new. NaN counts as 0.
func (q *Queue) Add(id uint32, urgency float64) bool {
	if urgency != urgency {
		urgency = 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at, have := q.mu.at[id]
	switch {
	case !have:
		at = int32(len(q.mu.heap))
		q.mu.heap = append(q.mu.heap, queued{id, urgency})
		q.mu.at[id] = at
	case urgency > q.mu.heap[at].urgency:
		q.mu.heap[at].urgency = urgency
	}
	q.up(int(at))
	q.signal()
	return !have
}

// Pop takes out the most urgent id, the lowest of equals; ok is false when the
// queue is empty.
func (q *Queue) Pop() (id uint32, urgency float64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mu.heap) == 0 {
		return 0, 0, false
	}
	first := q.mu.heap[0]
	q.take(0)
	return first.id, first.urgency, true
}

// Remove takes out an id and tells whether it was in.
func (q *Queue) Remove(id uint32) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, have := q.mu.at[id]
	if have {
		q.take(int(at))
	}
	return have
}

// Len is the number of ids.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.heap)
}

// Ready returns a channel that delivers while the queue holds an id, to one waiter
// at a time. A waiter then calls Pop, which may find the queue empty after all.
func (q *Queue) Ready() <-chan struct{} { return q.ready }

// signal wakes a waiter. The caller holds the lock, as in all that follow.
func (q *Queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default: // one is on its way
	}
}

// take removes place i of the heap.
func (q *Queue) take(i int) {
	last := len(q.mu.heap) - 1
	delete(q.mu.at, q.mu.heap[i].id)
	moved := q.mu.heap[last]
	q.mu.heap = q.mu.heap[:last]
	if i < last {
		q.mu.heap[i] = moved
		q.mu.at[moved.id] = int32(i)
		q.down(i)
		q.up(i)
	}
	if last > 0 {
		q.signal() // for the next waiter
	}
}

// before tells whether place i is more urgent than place j.
func (q *Queue) before(i, j int) bool {
	a, b := q.mu.heap[i], q.mu.heap[j]
	return a.urgency > b.urgency || a.urgency == b.urgency && a.id < b.id
}

func (q *Queue) swap(i, j int) {
	h := q.mu.heap
	h[i], h[j] = h[j], h[i]
	q.mu.at[h[i].id], q.mu.at[h[j].id] = int32(i), int32(j)
}

func (q *Queue) up(i int) {
	for i > 0 && q.before(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (q *Queue) down(i int) {
	for {
		child := 2*i + 1
		if child+1 < len(q.mu.heap) && q.before(child+1, child) {
			child++
		}
		if child >= len(q.mu.heap) || !q.before(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
