package iopath

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// chain is a wave of n bare requests.
func chain(n int) wave {
	var w wave
	for i := range n {
		w.add(&request{tag: uint64(i)})
	}
	return w
}

// TestQueueOrder drives the queue against a slice.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c counters
		q := newQueue(&c)
		g := &gate{limit: 50}
		var model []*request
		inside := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				w := chain(rapid.IntRange(1, 20).Draw(t, "n"))
				for r := w.head; r != nil; r = r.next {
					model = append(model, r)
				}
				if err := q.push(context.Background(), w); err != nil {
					t.Fatal(err)
				}
			},
			"pop": func(t *rapid.T) {
				dst := make([]*request, rapid.IntRange(0, 30).Draw(t, "room"))
				n, more := q.pop(dst, g)
				if want := min(len(dst), len(model), int(g.limit)-inside); n != want {
					t.Fatalf("popped %d, want %d", n, want)
				}
				for i, r := range dst[:n] {
					if r != model[i] || r.next != nil {
						t.Fatalf("read %d is out of order or still linked", i)
					}
				}
				model = model[n:]
				inside += n
				if more != (len(model) > 0) {
					t.Fatalf("more is %v with %d waiting", more, len(model))
				}
			},
			"leave": func(t *rapid.T) {
				n := rapid.IntRange(0, inside).Draw(t, "n")
				g.leave(n)
				inside -= n
			},
			"": func(t *rapid.T) {
				if c.queued.Load() != int64(len(model)) || g.inside.Load() != int64(inside) {
					t.Fatalf("%d queued and %d inside, want %d and %d",
						c.queued.Load(), g.inside.Load(), len(model), inside)
				}
			},
		})
		left := 0
		for r := q.close(); r != nil; r = r.next {
			if r != model[left] {
				t.Fatalf("close returns other reads")
			}
			left++
		}
		if left != len(model) || len(q.places) != 0 || c.queued.Load() != 0 {
			t.Fatalf("close returns %d of %d reads, %d places taken", left, len(model), len(q.places))
		}
		if err := q.push(context.Background(), chain(1)); !errors.Is(err, ErrClosed) {
			t.Fatalf("push after close: %v", err)
		}
	})
}

// TestQueueCloseWakesSubmit closes a full queue under a Submit that waits.
func TestQueueCloseWakesSubmit(t *testing.T) {
	var c counters
	q := newQueue(&c)
	for range maxQueuedWaves {
		if err := q.push(t.Context(), chain(1)); err != nil {
			t.Fatal(err)
		}
	}
	waits := make(chan error)
	go func() { waits <- q.push(t.Context(), chain(1)) }()
	for c.queueWaits.Load() == 0 {
		runtime.Gosched()
	}
	q.close()
	if err := <-waits; !errors.Is(err, ErrClosed) {
		t.Errorf("push: %v", err)
	}
}

// TestGateTellsTheStarved has many goroutines share few places, each sleeping
// until told when there is none: nobody may sleep for ever.
func TestGateTellsTheStarved(t *testing.T) {
	const sharers, rounds = 8, 2000
	var bells [sharers]chan struct{}
	for i := range bells {
		bells[i] = make(chan struct{}, 1)
	}
	var most atomic.Int64
	g := &gate{limit: 3}
	g.told = func() {
		for _, bell := range bells {
			select {
			case bell <- struct{}{}:
			default:
			}
		}
	}
	var inside atomic.Int64
	var all sync.WaitGroup
	for i := range sharers {
		all.Go(func() {
			for range rounds {
				n := g.enter(2)
				for ; n == 0; n = g.enter(2) {
					<-bells[i]
				}
				raise(&most, inside.Add(int64(n)))
				inside.Add(-int64(n))
				g.leave(n)
			}
		})
	}
	all.Wait()
	if g.inside.Load() != 0 {
		t.Errorf("%d places are still taken", g.inside.Load())
	}
	if most.Load() > 3 || g.most.Load() > 3 {
		t.Errorf("%d and %d were inside of a gate of 3", most.Load(), g.most.Load())
	}
}
