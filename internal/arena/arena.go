package arena

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	leastClass = 256 // bytes of the smallest class
	stepBits   = 3   // 1<<stepBits classes for each doubling
	slabBytes  = 256 << 10
	slabBlocks = 8 // a slab holds at least so many, whatever their size
	pageBytes  = 4096
)

// Arena hands out blocks.
type Arena struct {
	mu     sync.Mutex
	open   map[int]*slab // by class: the first of the slabs that have room
	limit  int64         // of mapped
	mapped atomic.Int64
	used   atomic.Int64
}

// ErrFull says that a block would take more than the arena may map.
var ErrFull = errors.New("arena is full")

// Limit bounds what may be mapped, in bytes; what is mapped beyond it stays until
// blocks are released.
func (a *Arena) Limit(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = n
}

// slab is a mapping of blocks of one class. It is under Arena.mu.
type slab struct {
	mem        []byte
	size       int      // of a block
	free       []uint32 // indexes of free blocks
	count      int      // of blocks
	prev, next *slab    // among the slabs of the class that have room
}

// Block is bytes off the heap with counted owners.
type Block struct {
	arena *Arena
	slab  *slab
	index uint32
	n     int
	refs  atomic.Int32
}

// New returns an empty arena without a limit.
func New() *Arena { return &Arena{open: map[int]*slab{}, limit: math.MaxInt64} }

// Size is what a block of n bytes takes, n >= 1.
func Size(n int) int {
	if n <= leastClass {
		return leastClass
	}
	step := 1 << max(bits.Len(uint(n-1))-1-stepBits, 0)
	return (n + step - 1) &^ (step - 1)
}

// New copies data, at least one byte, into a block with one owner. It fails with
// ErrFull, or when the system gives no memory.
func (a *Arena) New(data []byte) (*Block, error) {
	size := Size(len(data))
	a.mu.Lock()
	s := a.open[size]
	if s == nil {
		var err error
		if s, err = a.addLocked(size); err != nil {
			a.mu.Unlock()
			return nil, fmt.Errorf("map memory for blocks of %d bytes: %w", size, err)
		}
	}
	last := len(s.free) - 1
	b := &Block{arena: a, slab: s, index: s.free[last], n: len(data)}
	if s.free = s.free[:last]; last == 0 {
		a.unlinkLocked(s)
	}
	a.mu.Unlock()
	a.used.Add(int64(size))
	b.refs.Store(1)
	copy(b.Bytes(), data)
	return b, nil
}

// addLocked maps a slab of a class.
func (a *Arena) addLocked(size int) (*slab, error) {
	n := max(slabBytes, slabBlocks*size)
	n = (n + pageBytes - 1) &^ (pageBytes - 1)
	if a.mapped.Load()+int64(n) > a.limit {
		return nil, ErrFull
	}
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	a.mapped.Add(int64(n))
	s := &slab{mem: mem, size: size, count: n / size}
	s.free = make([]uint32, s.count)
	for i := range s.free {
		s.free[i] = uint32(s.count - 1 - i)
	}
	a.linkLocked(s)
	return s, nil
}

func (a *Arena) linkLocked(s *slab) {
	s.next = a.open[s.size]
	if s.next != nil {
		s.next.prev = s
	}
	a.open[s.size] = s
}

func (a *Arena) unlinkLocked(s *slab) {
	if s.prev == nil {
		a.open[s.size] = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
}

// Bytes are the block's, for its owners to read.
func (b *Block) Bytes() []byte {
	at := int(b.index) * b.slab.size
	return b.slab.mem[at : at+b.n : at+b.n]
}

// Acquire makes the caller one more owner. It fails when the last has gone.
func (b *Block) Acquire() bool {
	for {
		n := b.refs.Load()
		if n == 0 {
			return false
		}
		if b.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release ends one ownership. The owner must not look at the bytes after it.
func (b *Block) Release() {
	switch n := b.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic(fmt.Errorf("arena: a block of %d bytes was released %d times more often than it was owned", b.n, -n))
	}
	a, s := b.arena, b.slab
	a.used.Add(-int64(s.size))
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(s.free) == 0 {
		a.linkLocked(s)
	}
	if s.free = append(s.free, b.index); len(s.free) == s.count {
		a.unlinkLocked(s)
		a.mapped.Add(-int64(len(s.mem)))
		_ = unix.Munmap(s.mem) // a mapping of ours: it cannot fail
	}
}

// Mapped is the bytes of all slabs, Used those of the blocks in them.
func (a *Arena) Mapped() int64 { return a.mapped.Load() }

// Used is the bytes that the blocks take, each as Size says.
func (a *Arena) Used() int64 { return a.used.Load() }
