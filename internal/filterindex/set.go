package filterindex

import (
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
)

// Set is a set of slots: those of Bits, or with Neg all others.
type Set struct {
	Bits *roaring.Bitmap
	Neg  bool
	// Exact says that the documents of the set's live slots all match. Otherwise
	// some may not.
	Exact bool
}

// everything is the set of a condition of which nothing is known.
func everything() Set { return Set{Bits: roaring.New(), Neg: true} }

// Has says that a slot is in the set.
func (s *Set) Has(slot uint32) bool { return s.Bits.Contains(slot) != s.Neg }

// Empty says that no slot is in it.
func (s *Set) Empty() bool { return !s.Neg && s.Bits.IsEmpty() }

// Len is the number of slots of it, of so many live ones.
func (s *Set) Len(live uint64) uint64 {
	n := s.Bits.GetCardinality()
	if s.Neg {
		return live - min(n, live)
	}
	return min(n, live)
}

// Bytes is the memory that the set takes, about.
func (s *Set) Bytes() int64 { return int64(s.Bits.GetSizeInBytes()) + 64 }

// and leaves in s what is in o, too. It may change both.
func (s *Set) and(o Set) {
	s.Exact = s.Exact && o.Exact
	switch {
	case s.Neg && o.Neg:
		s.Bits.Or(o.Bits)
	case s.Neg:
		o.Bits.AndNot(s.Bits)
		s.Bits, s.Neg = o.Bits, false
	case o.Neg:
		s.Bits.AndNot(o.Bits)
	default:
		s.Bits.And(o.Bits)
	}
}

// or adds o to s. It may change both.
func (s *Set) or(o Set) {
	s.Exact = s.Exact && o.Exact
	switch {
	case s.Neg && o.Neg:
		s.Bits.And(o.Bits)
	case s.Neg:
		s.Bits.AndNot(o.Bits)
	case o.Neg:
		o.Bits.AndNot(s.Bits)
		s.Bits, s.Neg = o.Bits, true
	default:
		s.Bits.Or(o.Bits)
	}
}

// Include adds slots to the set.
func (s *Set) Include(slots *roaring.Bitmap) {
	if s.Neg {
		s.Bits.AndNot(slots)
		return
	}
	s.Bits.Or(slots)
}

// union collects rows in any order: a list of slots while they are few, then a
// bit for each slot.
type union struct {
	list  []uint32
	dense []uint64
}

// listMost is the length of a list from which on bits are cheaper to collect.
const listMost = 1 << 15

func (u *union) add(first uint32, value []byte) error {
	if u.dense == nil && len(u.list) > listMost {
		list := u.list
		u.list = nil
		u.dense = make([]uint64, 0, 4*words)
		for _, slot := range list {
			u.grow(slot)
			u.dense[slot/64] |= 1 << (slot % 64)
		}
	}
	if u.dense == nil {
		return each(value, func(slot uint32) { u.list = append(u.list, first+slot) }, func(i int, w uint64) {
			for ; w != 0; w &= w - 1 {
				u.list = append(u.list, first+uint32(64*i+bits.TrailingZeros64(w)))
			}
		})
	}
	u.grow(first + ChunkSlots - 1)
	base := first / 64
	return each(value, func(slot uint32) { u.dense[base+slot/64] |= 1 << (slot % 64) },
		func(i int, w uint64) { u.dense[int(base)+i] |= w })
}

// grow makes room for a slot, a whole container of roaring at a time.
func (u *union) grow(slot uint32) {
	const container = 1 << 16 / 64
	need := (int(slot/64)/container + 1) * container
	if n := len(u.dense); need > n {
		u.dense = append(u.dense, make([]uint64, need-n)...)
	}
}

func (u *union) bitmap() *roaring.Bitmap {
	if u.dense != nil {
		return roaring.FromDense(u.dense, true)
	}
	b := roaring.New()
	b.AddMany(u.list)
	return b
}
