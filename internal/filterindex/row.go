package filterindex

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	chunkBits = 13
	// ChunkSlots is the number of slots that one row is about.
	ChunkSlots = 1 << chunkBits

	words = ChunkSlots / 64

	formList = 0x01
	formBits = 0x02

	keyTail = 4 // bytes of a row's key after the term
)

// RowKey appends the key of the row of a term for the chunk of a slot.
func RowKey(b []byte, term string, slot uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, term...), slot/ChunkSlots)
}

// SplitKey returns the term of a row's key and the first slot of its chunk.
func SplitKey(key []byte) (term []byte, first uint32, err error) {
	n := len(key) - keyTail
	if n < 1 || binary.BigEndian.Uint32(key[n:]) > (1<<32-1)/ChunkSlots {
		return nil, 0, fmt.Errorf("%w: key %x", ErrCorrupt, key)
	}
	return key[:n], binary.BigEndian.Uint32(key[n:]) * ChunkSlots, nil
}

// Row holds the slots of a chunk, by their place in it. The zero value is empty.
type Row [words]uint64

// Add puts a slot in.
func (r *Row) Add(slot uint32) { r[slot%ChunkSlots/64] |= 1 << (slot % 64) }

// Remove takes a slot out.
func (r *Row) Remove(slot uint32) { r[slot%ChunkSlots/64] &^= 1 << (slot % 64) }

// Has says that a slot is in it.
func (r *Row) Has(slot uint32) bool { return r[slot%ChunkSlots/64]>>(slot%64)&1 != 0 }

// Len is the number of slots.
func (r *Row) Len() (n int) {
	for _, w := range r {
		n += bits.OnesCount64(w)
	}
	return n
}

// Append appends the value of the row.
func (r *Row) Append(b []byte) []byte {
	if 2*r.Len() >= 8*words {
		b = append(b, formBits)
		for _, w := range r {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	b = append(b, formList)
	for i, w := range r {
		for ; w != 0; w &= w - 1 {
			b = binary.LittleEndian.AppendUint16(b, uint16(64*i+bits.TrailingZeros64(w)))
		}
	}
	return b
}

// Read makes the row what a value says.
func (r *Row) Read(value []byte) error {
	*r = Row{}
	return each(value, func(slot uint32) { r.Add(slot) }, func(i int, w uint64) { r[i] = w })
}

// each calls one for the slots of a list, or word for the words of a row of bits.
func each(value []byte, one func(slot uint32), word func(i int, w uint64)) error {
	switch {
	case len(value) > 1 && len(value)%2 == 1 && value[0] == formList:
		last := -1
		for v := value[1:]; len(v) > 0; v = v[2:] {
			slot := int(binary.LittleEndian.Uint16(v))
			if slot <= last || slot >= ChunkSlots {
				return fmt.Errorf("%w: slot %d after %d", ErrCorrupt, slot, last)
			}
			last = slot
			one(uint32(slot))
		}
	case len(value) == 1+8*words && value[0] == formBits:
		for i := range words {
			word(i, binary.LittleEndian.Uint64(value[1+8*i:]))
		}
	default:
		return fmt.Errorf("%w: value of %d bytes", ErrCorrupt, len(value))
	}
	return nil
}

// Each calls f with every slot of the row whose chunk begins at first.
func (r *Row) Each(first uint32, f func(slot uint32)) {
	for i, w := range r {
		for ; w != 0; w &= w - 1 {
			f(first + uint32(64*i+bits.TrailingZeros64(w)))
		}
	}
}
