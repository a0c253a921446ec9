package sprat

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"
)

// TestCacheTiers: each kind has its share, a block comes back with the tag it was
// put with and with no other, and what a cache held is given back when it closes.
func TestCacheTiers(t *testing.T) {
	c, err := newCache(8 << 20)
	mustDo(t, err)
	c.divide(3<<20, [cacheKinds]int64{1 << 20, 100 << 20, 100 << 20})
	for k, want := range []int64{1 << 20, 1 << 20, 1 << 20} { // the second has nothing yet, and room to grow
		if got := c.tiers[k].share.Load(); got != want {
			t.Errorf("tier %d may take %d, want %d", k, got, want)
		}
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 20_000 {
				kind, id := cacheKind(rng.IntN(cacheKinds)), rng.Uint32N(400)
				tag := rng.Uint32N(2)
				if b := c.get(kind, 7, id, tag); b != nil {
					p := b.Bytes()
					if want := byte(id) ^ byte(tag) ^ byte(kind<<6); bytes.Count(p, []byte{want}) != len(p) {
						t.Errorf("block %d of tag %d holds other bytes", id, tag)
					}
					b.Release()
					continue
				}
				c.put(kind, 7, id, tag, bytes.Repeat([]byte{byte(id) ^ byte(tag) ^ byte(kind<<6)}, 300+int(id)*20))
			}
		})
	}
	all.Wait()
	for name, st := range c.stats() {
		if st.Used > st.Share || st.Hits == 0 || st.Misses == 0 {
			t.Errorf("%s: %+v", name, st)
		}
	}
	c.divide(0, [cacheKinds]int64{})
	c.put(cachedPosting, 7, 1, 1, make([]byte, 5000))
	c.clear()
	if n := c.memoryBytes(); n != 0 {
		t.Errorf("%d bytes after clear", n)
	}
	c.close()
}

// TestCacheFollowsTheIndexes: the cache of a store that was opened empty grows with
// what is built in it, gives way to a build, and queries come from it.
func TestCacheFollowsTheIndexes(t *testing.T) {
	d := realSets(t)[0].few(1500, 20)
	s := openStore(t, t.TempDir(), Options{MemoryLimit: 256 << 20})
	defer mustClose(t, s)
	ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric}, d.rows)
	var last *Result
	for range 30 { // a block is admitted when it was asked for more than once
		for _, q := range d.queries[:4] {
			res, err := ix.Query(context.Background(), q, 10, QueryOptions{})
			mustDo(t, err)
			last = res
		}
	}
	if last.Work.CacheHits == 0 || last.Work.Reads > 4 {
		t.Errorf("asked thirty times: %d blocks from the cache, %d reads", last.Work.CacheHits, last.Work.Reads)
	}
	before := s.cacheBudget()
	n, give, err := s.reserve(t.Context(), "a test", 1<<20)
	mustDo(t, err)
	if now := s.cacheBudget(); now > before-n && now > 0 {
		t.Errorf("beside a build of %d bytes the cache may take %d of %d", n, now, before)
	}
	soon, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough waiting")
	cancel(why)
	if _, _, err := s.reserve(soon, "another", s.opts.MemoryLimit/2); !errors.Is(err, why) {
		t.Errorf("two builds were given the same memory: %v", err)
	}
	got := make(chan func())
	go func() {
		_, give, err := s.reserve(t.Context(), "another", s.opts.MemoryLimit/2)
		if err != nil {
			t.Error(err)
		}
		got <- give
	}()
	give()
	(<-got)()
	if _, _, err := s.reserve(t.Context(), "too much", s.opts.MemoryLimit); !errors.Is(err, ErrMemoryLimit) {
		t.Errorf("more than there is: %v", err)
	}
	if now := s.cacheBudget(); now != before {
		t.Errorf("after the build the cache may take %d, before %d", now, before)
	}
}

// TestLimitHeap: the runtime's limit is set while a store is open that was asked to,
// below its memory limit, lower while the cache may take more, and back afterwards.
func TestLimitHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	s := openStore(t, t.TempDir(), Options{MemoryLimit: 512 << 20, LimitHeap: true, CacheBytes: 256 << 20})
	with := debug.SetMemoryLimit(-1)
	mustClose(t, s)
	if debug.SetMemoryLimit(-1) != before {
		t.Errorf("the limit stays at %d, it was %d", debug.SetMemoryLimit(-1), before)
	}
	s = openStore(t, t.TempDir(), Options{MemoryLimit: 512 << 20, LimitHeap: true, CacheBytes: -1})
	without := debug.SetMemoryLimit(-1)
	mustClose(t, s)
	size := float64(256 << 20)
	slabs := int64(slabSlack * size)
	if with < leastHeap || without-with != slabs || without >= 512<<20 {
		t.Errorf("%d with a cache of 256 MiB, %d without", with, without)
	}
	if debug.SetMemoryLimit(-1) != before {
		t.Errorf("the limit stays at %d, it was %d", debug.SetMemoryLimit(-1), before)
	}
}
