package iopath

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
)

// Buffers are runs of pages in chunks of anonymous memory. A chunk is one huge
// page where the system has any to give: a buffer is then a single piece of
// physical memory, which spares the kernel pinning and listing ten pages for
// each read of 40 KiB. That is a third of the processor time of such a read, and
// needs neither RLIMIT_MEMLOCK nor a ring.
//
// On io_uring a chunk is also registered with the rings, as far as RLIMIT_MEMLOCK
// allows, which spares finding and pinning the huge page for each read. Processor
// time of a whole read with it, as a share of that without, the middle of 25
// alternations of BenchmarkRegisteredMemory on 2 cores, on which others worked too
// (an earlier run in brackets):
//
//	depth        1            32           128
//	 4 KiB   1.03 (1.00)  0.93 (0.97)  0.93 (0.89)
//	40 KiB   1.02 (1.02)  0.99 (0.95)  0.91 (0.89)
//
// A lone reader goes through the lane, where nothing is registered: the first column
// says how far the others can be trusted.
const (
	pageBytes  = 4096
	chunkBytes = 2 << 20
	chunkPages = chunkBytes / pageBytes
)

// buffer is a run of whole pages. The zero value is no buffer.
type buffer struct {
	data  []byte
	chunk *chunk
	at    int // first page in the chunk
}

// chunk is one mapping, at least chunkBytes long and aligned to that. All
// fields but ring are under pool.mu.
type chunk struct {
	mem     []byte
	ring    ringSlots // where it is registered
	rings   int       // how many rings it is registered with
	holders int       // of these, to let go of it before it is unmapped
	taken   []uint64  // bit i of word i/64: page i is part of a buffer
	used    int       // bits set in taken
	longest int       // no free run has more pages than this; it may have fewer
}

// pool is the engine's stock of buffers. It is safe for concurrent use.
type pool struct {
	keep  int64 // most bytes of chunks that are kept although idle
	spoil bool  // tests: overwrite what is put back

	// retire has rings let go of an idle chunk and returns how many will call
	// letGo when they have. It is called with mu held, and is nil without rings.
	retire func(c *chunk) (holders int)

	mu struct {
		sync.Mutex
		chunks []*chunk // searched in order, so that load gathers in front
		inUse  int64    // bytes of buffers
		maxUse int64
		idle   int64 // bytes of chunks without a buffer
		mapped int64 // bytes of all chunks
		fixed  int64 // bytes registered, for each ring
		cause  string
		closed bool
	}
}

// newPool makes a pool that keeps some idle bytes, and one chunk at any rate, so
// that a lone reader does not map and unmap one for each read.
func newPool(keep int64) *pool { return &pool{keep: max(keep, chunkBytes)} }

// get returns a page-aligned buffer of n bytes, n >= 1, rounded up to pages.
func (p *pool) get(n int) (buffer, error) {
	pages := (n + pageBytes - 1) / pageBytes
	p.mu.Lock()
	defer p.mu.Unlock()
	c, at := p.findLocked(pages)
	if c == nil {
		var err error
		if c, err = newChunk(pages); err != nil {
			return buffer{}, fmt.Errorf("map memory for a read of %d bytes: %w", n, err)
		}
		p.mu.chunks = append(p.mu.chunks, c)
		p.mu.mapped += int64(len(c.mem))
		p.mu.idle += int64(len(c.mem))
	}
	if c.used == 0 {
		p.mu.idle -= int64(len(c.mem))
	}
	c.mark(at, pages, true)
	p.mu.inUse += int64(pages) * pageBytes
	p.mu.maxUse = max(p.mu.maxUse, p.mu.inUse)
	lo, hi := at*pageBytes, (at+pages)*pageBytes
	return buffer{data: c.mem[lo:hi:hi], chunk: c, at: at}, nil
}

// findLocked looks for a free run, nil when there is none.
func (p *pool) findLocked(pages int) (*chunk, int) {
	for _, c := range p.mu.chunks {
		if pages > c.longest {
			continue
		}
		if at := c.find(pages); at >= 0 {
			return c, at
		}
		c.longest = pages - 1
	}
	return nil, 0
}

// put takes a buffer back and clears *b; a zero buffer is ignored. A chunk that
// has become idle is unmapped when those kept already reach the bound.
func (p *pool) put(b *buffer) {
	c := b.chunk
	if c == nil {
		return
	}
	if p.spoil {
		fill(b.data, garbage)
	}
	at, pages := b.at, len(b.data)/pageBytes
	*b = buffer{}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mark(at, pages, false)
	c.longest = len(c.mem) / pageBytes
	p.mu.inUse -= int64(pages) * pageBytes
	if c.used > 0 {
		return
	}
	p.mu.idle += int64(len(c.mem))
	if p.mu.closed || p.mu.idle > p.keep {
		p.dropLocked(c)
	}
}

// dropLocked takes an idle chunk out of use. It is unmapped as soon as no ring
// has it registered, or at once after close, when the rings are going as well.
func (p *pool) dropLocked(c *chunk) {
	p.mu.idle -= int64(len(c.mem))
	i := slices.Index(p.mu.chunks, c)
	p.mu.chunks = slices.Delete(p.mu.chunks, i, i+1)
	if p.retire != nil && !p.mu.closed {
		c.holders = p.retire(c)
	}
	if c.holders == 0 {
		p.unmapLocked(c)
	}
}

// letGo is told by a ring that it has a dropped chunk no longer.
func (p *pool) letGo(c *chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.holders--; c.holders == 0 {
		p.unmapLocked(c)
	}
}

// unmapLocked gives a chunk back to the system.
func (p *pool) unmapLocked(c *chunk) {
	p.mu.mapped -= int64(len(c.mem))
	p.mu.fixed -= int64(c.rings) * int64(len(c.mem))
	unmapMemory(c.mem)
}

// registered is told that one more ring has a chunk registered.
func (p *pool) registered(c *chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.rings++
	p.mu.fixed += int64(len(c.mem))
}

// refused is told why a ring does not take a chunk.
func (p *pool) refused(cause string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.cause = cause
}

// close unmaps what is idle; what is in use follows as it is put back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = true
	for i := len(p.mu.chunks) - 1; i >= 0; i-- {
		if c := p.mu.chunks[i]; c.used == 0 {
			p.dropLocked(c)
		}
	}
}

// report fills in the buffer gauges.
func (p *pool) report(s *Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.BufferInUse, s.BufferMax = p.mu.inUse, p.mu.maxUse
	s.BufferPooled, s.BufferMapped = p.mu.idle, p.mu.mapped
	s.BufferFixed, s.BufferCause = p.mu.fixed, p.mu.cause
}

// resetMax starts the high-water mark of use again.
func (p *pool) resetMax() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.maxUse = p.mu.inUse
}

// newChunk maps a chunk that can hold a run of the given length.
func newChunk(pages int) (*chunk, error) {
	n := (pages + chunkPages - 1) / chunkPages * chunkPages
	mem, err := mapMemory(n*pageBytes, chunkBytes)
	if err != nil {
		return nil, err
	}
	return &chunk{mem: mem, taken: make([]uint64, n/64), longest: n}, nil
}

// find returns the first page of the first free run of at least that many
// pages, or -1.
func (c *chunk) find(pages int) int {
	run := 0 // free pages just before the present one
	for w, word := range c.taken {
		for bit := 0; bit < 64; {
			rest := word >> bit
			if free := min(bits.TrailingZeros64(rest), 64-bit); free > 0 {
				run += free
				bit += free
				if run >= pages {
					return w*64 + bit - run
				}
				continue
			}
			run = 0
			bit += bits.TrailingZeros64(^rest)
		}
	}
	return -1
}

// mark takes a run of pages or gives it back.
func (c *chunk) mark(at, pages int, taken bool) {
	for end := at + pages; at < end; {
		w, bit := at/64, at%64
		n := min(64-bit, end-at)
		mask := (^uint64(0) >> (64 - n)) << bit
		if taken {
			c.taken[w] |= mask
		} else {
			c.taken[w] &^= mask
		}
		at += n
	}
	if taken {
		c.used += pages
	} else {
		c.used -= pages
	}
}

// fill sets every byte of p to v.
func fill(p []byte, v byte) {
	for i := range p {
		p[i] = v
	}
}
