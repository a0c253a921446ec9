package posting

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// blockMap is the allocator's model: what is taken, block by block.
type blockMap []bool

func (m blockMap) end() int {
	for n := len(m); n > 1; n-- {
		if m[n-1] {
			return n
		}
	}
	return 1
}

// lowest is the first run of n free blocks below the end, or the end.
func (m blockMap) lowest(n int) int {
	run := 0
	for i := 1; i < m.end(); i++ {
		run++
		if m[i] {
			run = 0
		}
		if run == n {
			return i - n + 1
		}
	}
	return m.end()
}

func (m blockMap) set(e Extent, taken bool) {
	for i := range e.blocks() {
		m[int64(e.Block)+i] = taken
	}
}

func checkAllocator(t *rapid.T, a *Allocator, m blockMap) {
	free, at := int64(0), int64(1)
	a.Gaps(func(off, n int64) {
		off, n = off/ExtentAlign, n/ExtentAlign
		if off > 1 && !m[off-1] || n < 1 {
			t.Fatalf("gap %d+%d touches another", off, n)
		}
		for ; at < off; at++ {
			if !m[at] {
				t.Fatalf("block %d is free and in no gap", at)
			}
		}
		for ; at < off+n; at++ {
			if m[at] {
				t.Fatalf("block %d is taken and in gap %d+%d", at, off, n)
			}
		}
		free += n
	})
	if end := int64(m.end()); a.End() != end*ExtentAlign || a.FreeBytes() != free*ExtentAlign || at > end {
		t.Fatalf("end %d, free %d; want %d and %d blocks", a.End(), a.FreeBytes(), end, free)
	}
	for ; at < int64(m.end()); at++ {
		if !m[at] {
			t.Fatalf("block %d is free and in no gap", at)
		}
	}
}

func TestAllocatorModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := make(blockMap, 4096)
		a, err := NewAllocator(nil)
		if err != nil {
			rt.Fatal(err)
		}
		var taken []Extent
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 6).Draw(rt, "do") {
			case 0: // open anew
				if a, err = NewAllocator(taken); err != nil {
					rt.Fatal(err)
				}
			case 1, 2, 3:
				if len(taken) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(taken)-1).Draw(rt, "free")
				if err := a.Free(taken[i]); err != nil {
					rt.Fatal(err)
				}
				m.set(taken[i], false)
				if err := a.Free(taken[i]); !errors.Is(err, ErrCorrupt) {
					rt.Fatalf("freed twice: %v", err)
				}
				taken = append(taken[:i], taken[i+1:]...)
			default:
				bytes := uint32(rapid.IntRange(1, MaxBytes).Draw(rt, "bytes"))
				want := m.lowest(int(Extent{Bytes: bytes}.blocks()))
				e, err := a.Alloc(bytes)
				if err != nil || e != (Extent{Block: uint32(want), Bytes: bytes}) {
					rt.Fatalf("%v, %v; want block %d", e, err, want)
				}
				m.set(e, true)
				taken = append(taken, e)
			}
			checkAllocator(rt, a, m)
		}
	})
}

func TestAllocatorRefuses(t *testing.T) {
	cases := map[string][]Extent{
		"header":    {{Block: 0, Bytes: 1}},
		"overlap":   {{Block: 8, Bytes: 4097}, {Block: 9, Bytes: 1}},
		"same":      {{Block: 3, Bytes: 1}, {Block: 3, Bytes: 1}},
		"too far":   {{Block: math.MaxUint32, Bytes: ExtentAlign + 1}},
		"contained": {{Block: 2, Bytes: 40960}, {Block: 4, Bytes: 4096}},
	}
	for name, used := range cases {
		var ce *CorruptError
		if _, err := NewAllocator(used); !errors.As(err, &ce) || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	a, err := NewAllocator([]Extent{{Block: 5, Bytes: 5000}, {}, {Block: 2, Bytes: 4096}})
	if err != nil || a.End() != 7*ExtentAlign || a.FreeBytes() != 3*ExtentAlign {
		t.Fatalf("end %d, free %d, %v", a.End(), a.FreeBytes(), err)
	}
	for _, e := range []Extent{{Block: 0, Bytes: 1}, {Block: 1, Bytes: 1}, {Block: 2, Bytes: 4097}, {Block: 6, Bytes: 4097}, {Block: 4, Bytes: 9000}} {
		if err := a.Free(e); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v was freed: %v", e, err)
		}
	}
	if err := a.Free(Extent{}); err != nil || a.FreeBytes() != 3*ExtentAlign {
		t.Errorf("an extent of no bytes: %v", err)
	}
	if e, err := a.Alloc(0); err != nil || e != (Extent{}) {
		t.Errorf("no bytes lie at %v, %v", e, err)
	}
}

func TestAllocatorIsFull(t *testing.T) {
	a, err := NewAllocator([]Extent{{Block: 1, Bytes: 4096}, {Block: math.MaxUint32 - 1, Bytes: 4096}})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := a.Alloc(8192); err != nil || e.Block != 2 {
		t.Errorf("%v, %v", e, err)
	}
	a, err = NewAllocator([]Extent{{Block: 1, Bytes: math.MaxUint32}, {Block: 9}})
	if err != nil || a.End() != 4096+1<<32 {
		t.Fatalf("end %d, %v", a.End(), err)
	}
	a = &Allocator{end: maxBlocks - 1}
	if _, err := a.Alloc(8192); !errors.Is(err, ErrFull) {
		t.Errorf("error %v", err)
	}
	if e, err := a.Alloc(4096); err != nil || e.Block != math.MaxUint32 || a.End() != 1<<44 {
		t.Errorf("the last block: %v, %v", e, err)
	}
	if err := a.Free(Extent{Block: math.MaxUint32, Bytes: 4096}); err != nil || a.End() != (1<<32-1)*ExtentAlign {
		t.Errorf("end %d, %v", a.End(), err)
	}
}

// fragmented is an allocator of n extents of 1..16 blocks of which every tenth was
// given back.
func fragmented(b *testing.B, n int) (*Allocator, []Extent) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, err := NewAllocator(nil)
	if err != nil {
		b.Fatal(err)
	}
	var taken []Extent
	for range n {
		e, err := a.Alloc(uint32(1 + rng.IntN(16*ExtentAlign)))
		if err != nil {
			b.Fatal(err)
		}
		taken = append(taken, e)
	}
	kept := taken[:0]
	for i, e := range taken {
		if i%10 != 0 {
			kept = append(kept, e)
		} else if err := a.Free(e); err != nil {
			b.Fatal(err)
		}
	}
	return a, kept
}

// BenchmarkAllocator frees and allocates among 100,000 gaps.
func BenchmarkAllocator(b *testing.B) {
	a, taken := fragmented(b, 1_000_000)
	rng := rand.New(rand.NewPCG(3, 4))
	b.ReportAllocs()
	for b.Loop() {
		i := rng.IntN(len(taken))
		if err := a.Free(taken[i]); err != nil {
			b.Fatal(err)
		}
		e, err := a.Alloc(uint32(1 + rng.IntN(16*ExtentAlign)))
		if err != nil {
			b.Fatal(err)
		}
		taken[i] = e
	}
}

// BenchmarkNewAllocator opens a file of 900,000 extents and 100,000 gaps.
func BenchmarkNewAllocator(b *testing.B) {
	_, taken := fragmented(b, 1_000_000)
	for b.Loop() {
		if _, err := NewAllocator(taken); err != nil {
			b.Fatal(err)
		}
	}
}
