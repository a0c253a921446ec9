package sprat

import (
	"bytes"
	"fmt"

	"github.com/dgraph-io/ristretto/v2"
)

// cacheKind says what a cached block is.
type cacheKind uint64

const (
	cachedPosting cacheKind = iota
	cachedRefine
	cachedRecord
)

// cache keeps postings, refine records and vector records that queries have
// read, admitted and evicted by how often they are used (TinyLFU) with their cost
// in bytes. Blocks are copies on the Go heap and never change, so one that is
// evicted while a query uses it lives until that query is done. What a key names
// may change with the index: each block carries a tag, which is asked for with it.
// A nil cache holds nothing. It is safe for concurrent use.
type cache struct {
	blocks *ristretto.Cache[uint64, cachedBlock]
}

// cachedBlock is a block and the tag of what it is a copy of: a posting's extent,
// or the generation of a slot.
type cachedBlock struct {
	tag  uint32
	data []byte
}

// cacheShare of the memory that is not spoken for is given to the cache by
// default; the rest is for the garbage that Go has not collected yet.
const cacheShare = 0.6

// minCacheBytes is the least that a cache is made for.
const minCacheBytes = 1 << 20

// openCache makes the store's cache: CacheBytes, or a share of what the limit
// leaves.
func (s *Store) openCache() (err error) {
	size := s.opts.CacheBytes
	if size == 0 {
		size = int64(cacheShare * float64(s.opts.MemoryLimit-baseMemory-s.memoryHeld()))
		size = min(size, s.cacheable())
	}
	if free := s.opts.MemoryLimit - baseMemory - s.memoryHeld(); size > free {
		return &MemoryLimitError{What: "the cache asked for", Limit: s.opts.MemoryLimit,
			Needed: s.opts.MemoryLimit - free + size}
	}
	if size < minCacheBytes {
		return nil
	}
	const meanBlock = 4 << 10
	blocks, err := ristretto.NewCache(&ristretto.Config[uint64, cachedBlock]{
		NumCounters: min(max(10*size/meanBlock, 10_000), 100_000_000), MaxCost: size, BufferItems: 64,
		IgnoreInternalCost: false,
	})
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	s.cache = &cache{blocks: blocks}
	return nil
}

// cacheable is what a cache could hold at most: all blocks of all indexes, with
// room for an index that is built later.
func (s *Store) cacheable() int64 {
	total := int64(64 << 20)
	for _, ix := range s.mu.indexes {
		total += 2 * ix.diskStats().Total
	}
	return total
}

func cacheKey(kind cacheKind, index, id uint32) uint64 {
	return uint64(kind)<<62 | uint64(index)<<32 | uint64(id)
}

// get returns a block, nil when it is not cached with that tag. The caller must
// not write to it.
func (c *cache) get(kind cacheKind, index, id, tag uint32) []byte {
	if c == nil {
		return nil
	}
	if b, ok := c.blocks.Get(cacheKey(kind, index, id)); ok && b.tag == tag {
		return b.data
	}
	return nil
}

// put offers a copy of a block.
func (c *cache) put(kind cacheKind, index, id, tag uint32, block []byte) {
	if c != nil {
		c.blocks.Set(cacheKey(kind, index, id), cachedBlock{tag, bytes.Clone(block)}, int64(len(block)))
	}
}

// clear forgets everything.
func (c *cache) clear() {
	if c != nil {
		c.blocks.Clear()
	}
}

// memoryBytes is what the cache holds now.
func (c *cache) memoryBytes() int64 {
	if c == nil {
		return 0
	}
	return c.blocks.MaxCost() - c.blocks.RemainingCost()
}

func (c *cache) close() {
	if c != nil {
		c.blocks.Close()
	}
}
