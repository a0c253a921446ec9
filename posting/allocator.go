package posting

import (
	"fmt"
	"slices"
)

// maxBlocks is the number of blocks that an Extent can name.
const maxBlocks = 1 << 32

// Allocator gives out extents of a posting file. It knows only what is free; that
// an extent is given back only when no reader and no durable catalog names it any
// more is up to the caller. It belongs to one goroutine.
//
// An extent of no bytes takes no space.
type Allocator struct {
	gaps gapTree
	end  int64 // blocks; no gap touches it
	free int64 // blocks in gaps
}

// NewAllocator returns the allocator of a file in which the extents used, in any
// order, are taken and all else behind the header block is free. Extents that
// overlap or lie in the header give a *CorruptError.
func NewAllocator(used []Extent) (*Allocator, error) {
	sorted := slices.Clone(used)
	slices.SortFunc(sorted, func(a, b Extent) int { return int(int64(a.Block) - int64(b.Block)) })
	a := &Allocator{end: 1}
	for i, e := range sorted {
		n := e.blocks()
		switch gap := int64(e.Block) - a.end; {
		case n == 0:
			continue
		case e.Block == 0:
			return nil, &CorruptError{Offset: 0, Reason: fmt.Sprintf("extent %v lies in the file's header", e)}
		case gap < 0:
			return nil, &CorruptError{Offset: e.Offset(), Reason: fmt.Sprintf("extent %v overlaps another, %v", e, sorted[i-1])}
		case int64(e.Block)+n > maxBlocks:
			return nil, &CorruptError{Offset: e.Offset(), Reason: fmt.Sprintf("extent %v passes the end of any file", e)}
		case gap > 0:
			a.gaps.insert(uint32(a.end), uint32(gap))
			a.free += gap
		}
		a.end = int64(e.Block) + n
	}
	return a, nil
}

// blocks is the number of blocks that the extent takes.
func (e Extent) blocks() int64 { return (int64(e.Bytes) + ExtentAlign - 1) / ExtentAlign }

// Alloc returns an extent of so many bytes: from the front of the lowest gap that
// is long enough, else at the end of the file. ErrFull says that the file would
// pass 2^32 blocks, 16 TiB.
func (a *Allocator) Alloc(bytes uint32) (Extent, error) {
	n := Extent{Bytes: bytes}.blocks()
	if n == 0 {
		return Extent{}, nil
	}
	if off, size, ok := a.gaps.lowest(uint32(n)); ok {
		a.gaps.remove(off)
		if rest := size - uint32(n); rest > 0 {
			a.gaps.insert(off+uint32(n), rest)
		}
		a.free -= n
		return Extent{Block: off, Bytes: bytes}, nil
	}
	if a.end+n > maxBlocks {
		return Extent{}, fmt.Errorf("%d blocks behind block %d: %w", n, a.end, ErrFull)
	}
	e := Extent{Block: uint32(a.end), Bytes: bytes}
	a.end += n
	return e, nil
}

// Free gives an extent back. It joins the gaps that it touches, and the end moves
// down when nothing is taken behind it. An extent of which a part is free already
// is refused with a *CorruptError and changes nothing.
func (a *Allocator) Free(e Extent) error {
	n := e.blocks()
	if n == 0 {
		return nil
	}
	lo, hi := int64(e.Block), int64(e.Block)+n
	before, after := a.gaps.around(e.Block)
	if lo == 0 || hi > a.end || before.end() > lo || after.n > 0 && int64(after.off) < hi {
		return &CorruptError{Offset: e.Offset(), Reason: fmt.Sprintf("extent %v is given back and was not taken", e)}
	}
	a.free += n
	if before.n > 0 && before.end() == lo {
		a.gaps.remove(before.off)
		lo = int64(before.off)
	}
	if after.n > 0 && int64(after.off) == hi {
		a.gaps.remove(after.off)
		hi = after.end()
	}
	if hi == a.end {
		a.end = lo
		a.free -= hi - lo
		return nil
	}
	a.gaps.insert(uint32(lo), uint32(hi-lo))
	return nil
}

// End is the bytes of file needed: all extents lie below, the last one at it.
func (a *Allocator) End() int64 { return a.end * ExtentAlign }

// FreeBytes is the bytes in gaps, all of them below End.
func (a *Allocator) FreeBytes() int64 { return a.free * ExtentAlign }

// Gaps calls f for every gap, the lowest first: n bytes from off on. No two gaps
// touch. f must not change the allocator.
func (a *Allocator) Gaps(f func(off, n int64)) {
	a.gaps.walk(func(g gap) { f(int64(g.off)*ExtentAlign, int64(g.n)*ExtentAlign) })
}
