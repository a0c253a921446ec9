package sprat

import (
	"fmt"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/spratdb/sprat/internal/arena"
)

// cacheKind says what a cached block is.
type cacheKind int

// The kinds, in the order of their worth: a posting serves every query that comes
// near it, a refine record decides about one candidate, a vector record too and
// costs five times the memory.
const (
	cachedPosting cacheKind = iota
	cachedRefine
	cachedRecord
	cacheKinds = iota
)

var cacheKindNames = [cacheKinds]string{"postings", "refine", "records"}

// cache keeps postings, refine records and vector records that queries have
// read, each kind in a tier of its own, admitted and evicted by how often they are
// used (TinyLFU) with their cost in bytes. The bytes are off the Go heap. A tier
// owns one share of each block that it holds and lets go of it when it evicts or
// refuses the block; a query that gets a block owns another until it releases it.
//
// What a key names may change with the index: each block carries a tag, which is
// asked for with it. A nil cache holds nothing. It is safe for concurrent use.
type cache struct {
	arena *arena.Arena
	tiers [cacheKinds]tier
	puts  atomic.Int64
	grown func() // is called now and then as blocks come in
}

// tier is the blocks of one kind.
type tier struct {
	blocks       *ristretto.Cache[uint64, cachedBlock]
	hits, misses atomic.Int64
	share        atomic.Int64 // bytes it may take
}

// cachedBlock is a block and the tag of what it is a copy of: a posting's extent,
// or the generation of a slot.
type cachedBlock struct {
	tag   uint32
	block *arena.Block
}

// blockOverhead is what a cached block takes besides its bytes: its header, the
// tables of the tier, its part of the sketch. Measured by TestCacheOverhead.
const blockOverhead = 224

// newCache makes a cache whose tiers may grow to most bytes in all; it holds nothing
// until it is given shares.
func newCache(most int64) (*cache, error) {
	c := &cache{arena: arena.New()}
	for k, mean := range [cacheKinds]int64{24 << 10, 512, 2 << 10} {
		blocks, err := ristretto.NewCache(&ristretto.Config[uint64, cachedBlock]{
			// Four counters a block; more would cost more than they tell.
			NumCounters: min(max(4*most/(mean+blockOverhead), 10_000), 16_000_000),
			MaxCost:     1, BufferItems: 64, IgnoreInternalCost: true,
			OnExit: func(b cachedBlock) {
				if b.block != nil {
					b.block.Release()
				}
			},
		})
		if err != nil {
			c.close()
			return nil, fmt.Errorf("cache: %w", err)
		}
		c.tiers[k].blocks = blocks
	}
	return c, nil
}

// divide gives the tiers their shares of a budget: as much as there is to hold, the
// most worthy first. A tier that does not fill its share, because queries hardly
// come by what it is for, leaves the rest to the others, but for room to grow until
// the next division. What a tier has too much goes as other blocks come.
//
// Slabs may take slabSlack more than the budget. When they do, because blocks of
// other sizes have come, what the blocks themselves may take is lowered.
func (c *cache) divide(budget int64, holdable [cacheKinds]int64) {
	most := int64(slabSlack * float64(budget))
	c.arena.Limit(most)
	if used, mapped := c.arena.Used(), c.arena.Mapped(); 10*mapped > 9*most {
		budget = min(budget, budget*used/max(mapped, 1)*11/10)
	}
	for k := range c.tiers {
		t := &c.tiers[k]
		want := holdable[k]
		if k < cacheKinds-1 { // nobody is behind the last
			want = min(want, t.used()*5/4+max(budget/8, tierRoom))
		}
		share := max(min(budget, want), 1)
		budget -= share
		if old := t.share.Swap(share); old != share {
			t.blocks.UpdateMaxCost(share)
		}
	}
}

// tierRoom is the least room to grow.
const tierRoom = 1 << 20

func (t *tier) used() int64 { return t.blocks.MaxCost() - t.blocks.RemainingCost() }

func cacheKey(index, id uint32) uint64 { return uint64(index)<<32 | uint64(id) }

// get returns a block, nil when it is not cached with that tag. The caller owns a
// share of it, which it must release.
func (c *cache) get(kind cacheKind, index, id, tag uint32) *arena.Block {
	if c == nil {
		return nil
	}
	t := &c.tiers[kind]
	if b, ok := t.blocks.Get(cacheKey(index, id)); ok && b.tag == tag && b.block.Acquire() {
		t.hits.Add(1)
		return b.block
	}
	t.misses.Add(1)
	return nil
}

// grownEvery is the number of blocks offered between calls of grown.
const grownEvery = 512

// put offers a copy of a block.
func (c *cache) put(kind cacheKind, index, id, tag uint32, data []byte) {
	if c == nil {
		return
	}
	if c.puts.Add(1)%grownEvery == 0 && c.grown != nil {
		c.grown()
	}
	t := &c.tiers[kind]
	cost := int64(arena.Size(len(data))) + blockOverhead
	if cost > t.share.Load() {
		return
	}
	b, err := c.arena.New(data)
	if err != nil {
		return // no memory, no copy
	}
	if !t.blocks.Set(cacheKey(index, id), cachedBlock{tag, b}, cost) {
		b.Release() // dropped unseen: the tier is busy
	}
}

// clear forgets everything.
func (c *cache) clear() {
	if c != nil {
		for k := range c.tiers {
			c.tiers[k].blocks.Clear()
		}
	}
}

// memoryBytes is what the cache's blocks take now.
func (c *cache) memoryBytes() int64 {
	if c == nil {
		return 0
	}
	return c.arena.Mapped()
}

// TierStats describe a tier of the cache. Sizes are bytes.
type TierStats struct {
	Share  int64 `json:"share"` // it may take
	Used   int64 `json:"used"`
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
}

func (c *cache) stats() map[string]TierStats {
	if c == nil {
		return nil
	}
	out := map[string]TierStats{}
	for k := range c.tiers {
		t := &c.tiers[k]
		out[cacheKindNames[k]] = TierStats{
			Share: t.share.Load(), Used: t.used(), Hits: t.hits.Load(), Misses: t.misses.Load(),
		}
	}
	return out
}

func (c *cache) close() {
	if c == nil {
		return
	}
	for k := range c.tiers {
		c.tiers[k].blocks.Close()
	}
}
