package iopath

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// chain is a wave of n bare requests of a length.
func chain(n, length int) wave {
	var w wave
	for i := range n {
		w.add(&request{tag: uint64(i), length: length})
	}
	return w
}

// TestQueueOrder drives the queue against a list for each flow: nothing is lost or
// given twice, a flow keeps its order, the gate holds, and nobody takes more than a
// turn while another flow of the class waits.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c counters
		q := newQueue(&c, 0)
		g := &gate{}
		g.limit.Store(50)
		type reader struct {
			flow
			class Class
			left  []*request
			since int // reads that others of its class got while it waited
		}
		readers := make([]reader, 6)
		owner := map[*request]int{}
		inside, waiting := 0, 0
		took := func(r *request) {
			i := owner[r]
			if len(readers[i].left) == 0 || readers[i].left[0] != r || r.next != nil {
				t.Fatalf("a read of flow %d is out of order or still linked", i)
			}
			readers[i].left = readers[i].left[1:]
			waiting--
			readers[i].since = 0
			for j := range readers {
				if other := &readers[j]; j != i && other.class == readers[i].class && len(other.left) > 0 {
					if other.since++; other.since > turnReads*(len(readers)-1) {
						t.Fatalf("flow %d waited for %d reads of others", j, other.since)
					}
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				i := rapid.IntRange(0, len(readers)-1).Draw(t, "flow")
				r := &readers[i]
				if len(r.left) == 0 { // as a batch may, which is recycled
					r.class, r.since = Class(rapid.IntRange(0, classes-1).Draw(t, "class")), 0
				}
				w := chain(rapid.IntRange(1, 20).Draw(t, "n"), 4096)
				for at := w.head; at != nil; at = at.next {
					r.left = append(r.left, at)
					owner[at] = i
					waiting++
				}
				if err := q.push(context.Background(), &r.flow, r.class, w); err != nil {
					t.Fatal(err)
				}
			},
			"pop": func(t *rapid.T) {
				dst := make([]*request, rapid.IntRange(0, 30).Draw(t, "room"))
				want := min(len(dst), waiting, int(g.limit.Load())-inside)
				n, more := q.pop(dst, g)
				if n != want {
					t.Fatalf("popped %d, want %d", n, want)
				}
				for _, r := range dst[:n] {
					took(r)
				}
				inside += n
				if more != (waiting > 0) {
					t.Fatalf("more is %v with %d waiting", more, waiting)
				}
			},
			"leave": func(t *rapid.T) {
				n := rapid.IntRange(0, inside).Draw(t, "n")
				g.leave(n)
				inside -= n
			},
			"": func(t *rapid.T) {
				if c.queued.Load() != int64(waiting) || g.inside.Load() != int64(inside) {
					t.Fatalf("%d queued and %d inside, want %d and %d",
						c.queued.Load(), g.inside.Load(), waiting, inside)
				}
			},
		})
		for r := q.close(); r != nil; {
			next := r.next
			r.next = nil
			i := owner[r]
			if readers[i].left[0] != r {
				t.Fatalf("close returns the reads of flow %d out of order", i)
			}
			readers[i].left = readers[i].left[1:]
			waiting--
			r = next
		}
		if waiting != 0 || len(q.places) != 0 || c.queued.Load() != 0 {
			t.Fatalf("%d reads are missing after close, %d places taken", waiting, len(q.places))
		}
		if err := q.push(context.Background(), new(flow), Foreground, chain(1, 1)); !errors.Is(err, ErrClosed) {
			t.Fatalf("push after close: %v", err)
		}
	})
}

// TestQueueShares has all classes wait at all times: the volume is divided by
// weight, whatever the sizes of the reads, and a class that was idle gets no credit.
func TestQueueShares(t *testing.T) {
	var c counters
	q := newQueue(&c, 0)
	lengths := [classes]int{4096, 256 << 10, 40 << 10}
	flows := make([]flow, classes)
	class := map[*request]Class{}
	fill := func(k Class) {
		w := chain(200, lengths[k])
		for r := w.head; r != nil; r = r.next {
			class[r] = k
		}
		if err := q.push(t.Context(), &flows[k], k, w); err != nil {
			t.Fatal(err)
		}
	}
	take := func(n int, of ...Class) (had [classes]float64) {
		for range n {
			for _, k := range of {
				if !flows[k].queued {
					fill(k)
				}
			}
			q.mu.Lock()
			r := q.popLocked()
			q.mu.Unlock()
			had[class[r]] += r.cost()
		}
		return had
	}
	take(1000, Foreground) // the others rest meanwhile
	had := take(4000, Foreground, Maintenance, Backup)
	sum := had[0] + had[1] + had[2]
	for k, cost := range had {
		want := weights[k] / (weights[0] + weights[1] + weights[2])
		if got := cost / sum; got < 0.95*want-0.01 || got > 1.05*want+0.01 {
			t.Errorf("%v got %.3f of the volume, want %.3f", Class(k), got, want)
		}
	}
	if alone := take(100, Backup); alone[Backup] == 0 {
		t.Errorf("the backup gets nothing: %v", alone)
	}
}

// TestQueueHurry: a flow that hurries passes those that came before, one that
// hurried earlier stays in front of it.
func TestQueueHurry(t *testing.T) {
	var c counters
	q := newQueue(&c, 0)
	flows := make([]flow, 4)
	order := map[*request]int{}
	for i := range flows {
		w := chain(2, 4096)
		for r := w.head; r != nil; r = r.next {
			order[r] = i
		}
		if err := q.push(t.Context(), &flows[i], Foreground, w); err != nil {
			t.Fatal(err)
		}
	}
	q.hurry(&flows[2])
	q.hurry(&flows[3])
	q.hurry(&flows[2])
	var got []int
	for range 8 {
		q.mu.Lock()
		got = append(got, order[q.popLocked()])
		q.mu.Unlock()
	}
	if want := []int{2, 2, 3, 3, 0, 0, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	q.hurry(&flows[0]) // has nothing waiting
	if q.popLocked() != nil {
		t.Error("an empty queue gave a read")
	}
}

// TestQueueCloseWakesSubmit closes a full queue under a Submit that waits.
func TestQueueCloseWakesSubmit(t *testing.T) {
	var c counters
	q := newQueue(&c, 0)
	for range maxQueuedWaves {
		if err := q.push(t.Context(), new(flow), Foreground, chain(1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	waits := make(chan error)
	go func() { waits <- q.push(t.Context(), new(flow), Foreground, chain(1, 1)) }()
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
	g := &gate{}
	g.limit.Store(3)
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
