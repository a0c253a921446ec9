package lire

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// TestQueueModel compares the queue with a map.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q, model := NewQueue(), map[uint32]float64{}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			id := rapid.Uint32Range(0, 20).Draw(rt, "id")
			_, have := model[id]
			switch rapid.IntRange(0, 4).Draw(rt, "do") {
			case 0:
				if q.Remove(id) != have {
					rt.Fatalf("Remove(%d) is %v", id, !have)
				}
				delete(model, id)
			case 1:
				best, ok := uint32(0), false
				for other, u := range model {
					if !ok || u > model[best] || u == model[best] && other < best {
						best, ok = other, true
					}
				}
				got, u, popped := q.Pop()
				if popped != ok || ok && (got != best || u != model[best]) {
					rt.Fatalf("Pop is %d, %v, %v; want %d, %v", got, u, popped, best, model[best])
				}
				delete(model, best)
			default:
				u := float64(rapid.IntRange(0, 5).Draw(rt, "urgency"))
				if q.Add(id, u) == have {
					rt.Fatalf("Add(%d) is %v", id, have)
				}
				model[id] = max(u, model[id])
			}
			if q.Len() != len(model) {
				rt.Fatalf("%d ids, want %d", q.Len(), len(model))
			}
			if len(model) > 0 && len(q.Ready()) == 0 {
				rt.Fatal("a queue with ids is not ready")
			}
		}
	})
}

func TestQueueOddUrgencies(t *testing.T) {
	q := NewQueue()
	for id, u := range []float64{math.NaN(), math.Inf(-1), math.Inf(1), -1} {
		q.Add(uint32(id), u)
	}
	for _, want := range []uint32{2, 0, 3, 1} {
		if id, _, _ := q.Pop(); id != want {
			t.Errorf("%d comes, want %d", id, want)
		}
	}
}

// TestQueueWorkers: workers that wait on Ready take every id once.
func TestQueueWorkers(t *testing.T) {
	const ids = 2000
	q, done := NewQueue(), make(chan struct{})
	var times [ids]atomic.Int32
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-q.Ready():
				case <-done:
					return
				}
				if id, _, ok := q.Pop(); ok {
					times[id].Add(1)
					if taken.Add(1) == ids {
						close(done)
					}
				}
			}
		})
	}
	for id := range uint32(ids) {
		q.Add(id, float64(id%7))
	}
	wg.Wait()
	for id := range times {
		if n := times[id].Load(); n != 1 {
			t.Errorf("id %d was taken %d times", id, n)
		}
	}
}
