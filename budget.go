package sprat

import (
	"context"
	"math"
	"runtime/debug"
	"sync"
	"time"
)

// budget divides the memory limit:
//
//	fixedMemory                what the runtime does not count: program, threads, C memory
//	heap                       limited by LimitHeap:
//	    heapBase               the catalog's tables and what a store does at rest
//	    indexes                what they keep whatever the load
//	    builds                 what bulk builds have reserved
//	    queries                workspaces (admission)
//	    garbage                garbageShare of the limit: not yet collected
//	buffers                    of reads (admission)
//	cache                      the rest, of which slabSlack is lost in slabs
//
// It is divided anew when an index comes, goes or has grown, when a build begins or
// ends, and as the cache fills.
type budget struct {
	mu       sync.Mutex
	reserved int64         // by builds
	given    chan struct{} // closed and replaced when one gives back
	divided  time.Time     // last
	heapWas  int64         // the runtime's limit before it was changed, 0 when it was not
}

const (
	// fixedMemory is measured as the resident size of an idle store without its Go
	// heap, with the threads of a busy one.
	fixedMemory = 24 << 20
	heapBase    = baseMemory - fixedMemory
	// garbageShare of the limit is left for objects that have not been collected.
	garbageShare = 0.08
	// slabSlack is what slabs may take beyond the blocks in them.
	slabSlack = 1.1
	// divideEvery is how often growth is looked at.
	divideEvery = time.Second
	// buildShare of what is free goes to a build; the rest is for the next.
	buildShare = 0.75
	// leastHeap is where a tighter limit would only make the collector spin.
	leastHeap = 32 << 20
)

// free is what is neither the program's nor the indexes' nor reserved.
func (s *Store) freeMemory() int64 {
	return s.opts.MemoryLimit - baseMemory - s.memoryHeld() - s.reservedMemory()
}

// reserve takes memory for a build, at least least bytes; give returns it. While
// other builds have it, it waits for them.
func (s *Store) reserve(ctx context.Context, what string, least int64) (n int64, give func(), err error) {
	b := &s.budget
	for {
		held := s.memoryHeld()
		b.mu.Lock()
		free, others, given := s.opts.MemoryLimit-baseMemory-held-b.reserved, b.reserved, b.given
		if n = max(int64(buildShare*float64(free)), least); n <= free {
			break
		}
		b.mu.Unlock()
		if others == 0 {
			return 0, nil, &MemoryLimitError{What: what, Limit: s.opts.MemoryLimit, Needed: s.opts.MemoryLimit - free + least}
		}
		select {
		case <-given:
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		}
	}
	b.reserved += n
	if b.given == nil {
		b.given = make(chan struct{})
	}
	b.mu.Unlock()
	s.divide(true)
	return n, func() {
		b.mu.Lock()
		b.reserved -= n
		close(b.given)
		b.given = make(chan struct{})
		b.mu.Unlock()
		s.divide(true)
	}, nil
}

func (s *Store) reservedMemory() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.budget.reserved
}

// cacheBudget is what the cache may take.
func (s *Store) cacheBudget() int64 {
	if s.opts.CacheBytes > 0 {
		return s.opts.CacheBytes
	}
	rest := s.freeMemory() - 2*s.admission.most - int64(garbageShare*float64(s.opts.MemoryLimit))
	return max(0, int64(float64(rest)/slabSlack))
}

// openCache makes the store's cache.
func (s *Store) openCache() (err error) {
	if s.opts.CacheBytes < 0 {
		return nil
	}
	if free := s.freeMemory(); s.opts.CacheBytes > free {
		return &MemoryLimitError{What: "the cache asked for", Limit: s.opts.MemoryLimit,
			Needed: s.opts.MemoryLimit - free + s.opts.CacheBytes}
	}
	if s.cache, err = newCache(max(s.cacheBudget(), 1<<20)); err == nil {
		s.cache.grown = func() { s.divide(false) }
	}
	return err
}

// divide gives the cache its budget, and the Go runtime its limit when that was
// asked for; unless it is urgent at most once in a while.
func (s *Store) divide(urgent bool) {
	b := &s.budget
	b.mu.Lock()
	now := time.Now()
	if !urgent && now.Sub(b.divided) < divideEvery {
		b.mu.Unlock()
		return
	}
	b.divided = now
	b.mu.Unlock()
	var cached int64
	if s.cache != nil {
		cached = s.cacheBudget()
		s.cache.divide(cached, s.holdable())
	}
	if s.opts.LimitHeap {
		s.limitHeap(cached)
	}
}

// holdable is what each tier of the cache could hold, all indexes in it, with room
// for what comes in until the next division.
func (s *Store) holdable() (n [cacheKinds]int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	const room = 16 << 20
	n = [cacheKinds]int64{room, room, room}
	for _, ix := range s.mu.indexes {
		st := ix.current.Load().state
		// A posting that is being filled is larger on the volume than its entries.
		n[cachedPosting] += 3 * int64(st.Entries) * int64(ix.layout.EntryBytes()) / 2
		n[cachedPosting] += int64(st.Postings) * (4096 + blockOverhead)
		if ix.refine != nil {
			n[cachedRefine] += int64(st.Vectors) * (int64(ix.refine.Bytes)*9/8 + blockOverhead)
		}
		n[cachedRecord] += int64(st.Vectors) * (int64(ix.records.Bytes)*9/8 + blockOverhead)
	}
	return n
}

// limitHeap sets the memory limit of the Go runtime to what is left of the store's
// for the heap.
func (s *Store) limitHeap(cached int64) {
	limit := max(s.opts.MemoryLimit-fixedMemory-int64(slabSlack*float64(cached))-s.admission.most, leastHeap)
	b := &s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	old := debug.SetMemoryLimit(limit)
	if b.heapWas == 0 {
		b.heapWas = old
	}
}

// unlimitHeap takes limitHeap back.
func (s *Store) unlimitHeap() {
	b := &s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heapWas != 0 {
		debug.SetMemoryLimit(b.heapWas)
	}
	b.heapWas = 0
}

// heapLimit is the limit of the Go runtime, 0 when there is none.
func heapLimit() int64 {
	if n := debug.SetMemoryLimit(-1); n != math.MaxInt64 {
		return n
	}
	return 0
}
