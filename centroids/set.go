package centroids

import (
	"fmt"
	"sort"
	"unsafe"

	"github.com/spratdb/sprat/rq"
)

// blockRows is the most rows of a block of a flat set. A change of the set copies
// the blocks that it touches.
const blockRows = 1024

// Set is an immutable set of centroids, each a code with an id of its own. It is
// safe for concurrent use; With makes a changed copy that shares what it can.
//
// Rows number the centroids 0..Len()-1 within one Set only; ids are what lasts. A
// row outside of that range panics like an index of a slice.
//
// A row takes 12 bytes and its code: D+12 at 8 bits, D/2+12 at 4 bits. A block of
// 1,024 rows adds 108 bytes. In a grouped set that is a group of about 32 rows,
// and its centre takes D+12 more: together about D/32 + 4 a row.
type Set struct {
	coder  rq.CentroidCoder
	blocks []*block
	start  []int32 // block b holds the rows start[b]..start[b+1]-1
	// supers, if not nil, makes this a grouped set: row b of supers is the centre
	// of block b, which then is a group of near rows. supers is flat.
	supers *Set
}

// block is a run of rows. It never changes once a Set holds it.
type block struct {
	ids    []uint32
	scale  []float32 // of the codes
	normSq []float32 // of the decoded centroids
	codes  []byte    // [rows][CodeSize]
}

// newSet puts blocks together, leaving out empty ones.
func newSet(coder rq.CentroidCoder, blocks []*block) *Set {
	full := 0
	for _, b := range blocks {
		if len(b.ids) > 0 {
			full++
		}
	}
	s := &Set{coder: coder, blocks: make([]*block, 0, full), start: make([]int32, 1, full+1)}
	rows := int32(0)
	for _, b := range blocks {
		if len(b.ids) > 0 {
			rows += int32(len(b.ids))
			s.blocks, s.start = append(s.blocks, b), append(s.start, rows)
		}
	}
	return s
}

// Len returns the number of centroids.
func (s *Set) Len() int { return int(s.start[len(s.start)-1]) }

// Dim returns D, the number of dimensions.
func (s *Set) Dim() int { return s.coder.D() }

// Bits returns the bits of a dimension, 4 or 8.
func (s *Set) Bits() int { return s.coder.Bits() }

// at returns the block that holds row and the place in it.
func (s *Set) at(row int32) (b *block, i int) {
	at := 0
	if s.supers == nil {
		at = int(row) / blockRows // all blocks but the last are full
	} else {
		at = sort.Search(len(s.blocks)-1, func(b int) bool { return s.start[b+1] > row })
	}
	return s.blocks[at], int(row - s.start[at])
}

// ID returns the id of the centroid in row.
func (s *Set) ID(row int32) uint32 {
	b, i := s.at(row)
	return b.ids[i]
}

// Row returns the row of the centroid with id, and false when there is none. It
// looks through all ids, about 40 µs for 100,000.
func (s *Set) Row(id uint32) (int32, bool) {
	for at, b := range s.blocks {
		for i, have := range b.ids {
			if have == id {
				return s.start[at] + int32(i), true
			}
		}
	}
	return 0, false
}

// Code returns the stored parts of the centroid in row: its code (len CodeSize of
// rq.CentroidCoder, to be read only), the scale of the code and the squared norm of
// the decoded centroid. Builder.AddCode takes them back.
func (s *Set) Code(row int32) (code []byte, scale, normSq float32) {
	b, i := s.at(row)
	size := s.coder.CodeSize()
	return b.codes[i*size : (i+1)*size : (i+1)*size], b.scale[i], b.normSq[i]
}

// Decode writes the centroid in row to dst (len D).
func (s *Set) Decode(row int32, dst []float32) {
	code, scale, _ := s.Code(row)
	s.coder.DecodeParts(dst, code, scale)
}

// MemoryBytes returns the bytes of memory that the set holds, blocks that it
// shares with other sets included.
func (s *Set) MemoryBytes() int64 {
	total := int64(unsafe.Sizeof(*s)) +
		int64(cap(s.blocks))*int64(unsafe.Sizeof((*block)(nil))) + 4*int64(cap(s.start))
	for _, b := range s.blocks {
		total += int64(unsafe.Sizeof(*b)) +
			4*int64(cap(b.ids)+cap(b.scale)+cap(b.normSq)) + int64(cap(b.codes))
	}
	if s.supers != nil {
		total += s.supers.MemoryBytes()
	}
	return total
}

// String describes the set for logs.
func (s *Set) String() string {
	groups := 0
	if s.supers != nil {
		groups = len(s.blocks)
	}
	return fmt.Sprintf("%d centroids of %d dimensions in %d bits, %d groups", s.Len(), s.Dim(), s.Bits(), groups)
}
