package sprat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spratdb/sprat/iopath"
)

// slowVolume is a device that does one thing after the other, each in its time.
type slowVolume struct {
	each atomic.Int64 // nanoseconds of an operation
	mu   sync.Mutex
	free time.Time // when it is done with what it has been asked so far
	done int
}

// take queues an operation and returns when it is done.
func (v *slowVolume) take() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); v.free.Before(now) {
		v.free = now
	}
	v.free = v.free.Add(time.Duration(v.each.Load()))
	v.done++
	done := make(chan struct{})
	time.AfterFunc(time.Until(v.free), func() { close(done) })
	return done
}

// change is the hook of changes. What has no bytes costs nothing.
func (v *slowVolume) change(op iopath.Op) error {
	if op.Kind == iopath.OpWrite || op.Kind == iopath.OpSync {
		<-v.take()
	}
	return nil
}

// read is the hook of reads.
func (v *slowVolume) read(iopath.ReadOp) iopath.Fault { return iopath.Fault{Until: v.take()} }

// TestPostingsWhileThrottled: while a stream of vectors of one region meets a
// volume that is too slow for its maintenance, writers are held up rather than
// postings let grow: after no call is one larger than three times its target. How
// long things take does not matter to that. A load that is not held up ends with a
// posting of all vectors.
func TestPostingsWhileThrottled(t *testing.T) {
	t.Parallel()
	const iops, vectors, batch, dim = 3000, 1300, 10, 16
	v := &slowVolume{}
	v.each.Store(int64(time.Second / iops))
	o := Options{MemoryLimit: 64 << 20, CacheBytes: -1, Direct: "off"}
	s, err := openWith(quickDir(t), o, hooks{ops: v.change, faults: v.read})
	mustDo(t, err)
	t.Cleanup(func() { _ = s.Close() }) // the test closes it
	ix, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: dim, Metric: Euclidean, PostingBytes: 4 << 10})
	mustDo(t, err)
	began, most, checked, slowest := time.Now(), 0, 0, time.Duration(0)
	rng := rand.New(rand.NewPCG(1, 2))
	model := held{}
	for n := 0; n < vectors; n += batch {
		var recs []Record
		for i := n; i < n+batch; i++ {
			rec := Record{Key: fmt.Sprint(i), Vector: make([]float32, dim)}
			for j := range rec.Vector {
				rec.Vector[j] = float32(1 + rng.NormFloat64()/8)
			}
			recs, model[rec.Key] = append(recs, rec), rec
		}
		asked := time.Now()
		mustDo(t, ix.Put(context.Background(), recs))
		slowest = max(slowest, time.Since(asked))
		// As long as there are hardly more postings than copies, every posting holds
		// every vector, and after a cut twice, until it is folded.
		if postings, size := ix.Stats().Postings, largestPosting(ix); postings >= replaceBelow {
			checked++
			if most = max(most, size); size > 3*ix.limits.Target {
				t.Fatalf("with %d vectors in %d postings one has %d entries, the target is %d", n+batch, postings, size, ix.limits.Target)
			}
		}
	}
	took := time.Since(began)
	if checked < 20 {
		t.Errorf("only %d moments were looked at", checked)
	}
	v.each.Store(0)
	mustDo(t, ix.Settle(t.Context()))
	t.Logf("%d vectors in %v (%.0f a second), %d operations; the slowest put of %d %v; largest posting %d, target %d; %d postings",
		vectors, took, vectors/took.Seconds(), v.done, batch, slowest, most, ix.limits.Target, ix.Stats().Postings)
	mustDo(t, model.same(ix, model["0"].Vector))
	mustClose(t, s)
}

// largestPosting is the most entries of a posting, of extent and delta.
func largestPosting(ix *Index) (n int) {
	v := ix.acquire()
	defer v.release()
	for id := range v.postings.Len() {
		if p := v.postings.At(id); p.exists() {
			n = max(n, ix.extentEntries(p.extent)+p.delta.Len())
		}
	}
	return n
}
