package posting

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/spratdb/sprat/rq"
)

// deltaCapacity is the room of a new delta, in entries. Most deltas are folded
// while they are small.
const deltaCapacity = 8

// deltaEntryBytes is what an entry of a delta takes besides its code: the factors
// of the extent and one byte of flags.
const deltaEntryBytes = factorsBytes + 1

// Delta is the entries of one posting that are not in its extent yet, in memory
// and laid out as the extent is, so that the same scan reads both. The zero value
// is empty.
//
// A Delta is a value and never changes: Append returns a new one, which shares
// memory with the old one where there is room. Readers of any value need no lock.
// The values that come from one another may be appended to by one goroutine at a
// time; the newest one is what should be, an older one is copied.
//
// Error factors are rounded to bfloat16 when they are appended, so that a fold
// into an extent changes no estimate.
type Delta struct {
	block *deltaBlock
	n     int
}

// deltaBlock is the memory that the values of a delta share. Entries below the
// length of any value are never written again.
type deltaBlock struct {
	// buf holds the arrays of an extent for room entries: slots, Add, Rescale,
	// Error, generations, then flags, then the codes.
	buf  []byte
	room int
	used int // entries of the newest value; only Append looks at it
}

// Len is the number of entries.
func (d Delta) Len() int { return d.n }

// Append returns the delta with the entries added. Their codes (Layout.CodeSize
// bytes each) are copied. d stays as it is.
func (d Delta) Append(l *Layout, entries []Entry) Delta {
	if len(entries) == 0 {
		return d
	}
	n := d.n + len(entries)
	if b := d.block; b == nil || b.room < n || b.used != d.n {
		room := deltaCapacity
		if b != nil && b.room < n {
			room = 2 * b.room
		}
		d = d.moved(0, max(room, n), l.codeSize)
	}
	v, flags := d.block.arrays()
	for i := range entries {
		v.put(d.n+i, &entries[i])
		flags[d.n+i] = entryFlags(&entries[i])
	}
	d.block.used = n
	return Delta{d.block, n}
}

// From returns the entries from n on, in memory of their own that has room for no
// more: what is left when the first n have been folded. n is 0..Len().
func (d Delta) From(n int) Delta {
	if n >= d.n {
		return Delta{}
	}
	return d.moved(n, d.n-n, d.block.codeSize())
}

// moved returns the entries from n on in a new block.
func (d Delta) moved(n, room, codeSize int) Delta {
	b := &deltaBlock{buf: make([]byte, room*(deltaEntryBytes+codeSize)), room: room, used: d.n - n}
	if d.block != nil {
		to, toFlags := b.arrays()
		from, fromFlags := d.block.arrays()
		copy(to.slots, from.slots[4*n:4*d.n])
		copy(to.add, from.add[4*n:4*d.n])
		copy(to.rescale, from.rescale[4*n:4*d.n])
		copy(to.errs, from.errs[2*n:2*d.n])
		copy(to.gens, from.gens[n:d.n])
		copy(toFlags, fromFlags[n:d.n])
		copy(to.codes, from.codes[n*codeSize:d.n*codeSize])
	}
	return Delta{b, d.n - n}
}

// Entry returns entry i. Its code is the delta's, to be read only.
func (d Delta) Entry(i int) Entry {
	v, flags := d.block.arrays()
	return v.entry(i, flags[i]&flagPrimary != 0)
}

// Slot returns the slot of entry i.
func (d Delta) Slot(i int) uint32 {
	return binary.LittleEndian.Uint32(d.block.buf[4*i:])
}

// Generation returns the placement generation of entry i.
func (d Delta) Generation(i int) uint8 {
	return d.block.buf[(factorsBytes-1)*d.block.room+i]
}

// Primary tells whether entry i is the primary copy of its vector.
func (d Delta) Primary(i int) bool {
	return d.block.buf[factorsBytes*d.block.room+i]&flagPrimary != 0
}

// MemoryBytes is the memory that the delta holds, room for further entries
// included. Values that share memory each count it.
func (d Delta) MemoryBytes() int64 {
	if d.block == nil {
		return 0
	}
	return int64(unsafe.Sizeof(*d.block)) + int64(cap(d.block.buf))
}

// ScanDelta is Scan for the entries that are not in the extent yet: it appends to
// dst the entries of d whose lower bound est - eps·err is at most limit.
func (s *Scanner) ScanDelta(dst []Hit, l *Layout, d Delta, q *rq.Query, qc2, eps, limit float32) []Hit {
	if d.n == 0 {
		return dst
	}
	v, _ := d.block.arrays()
	v.N = d.n // the arrays are longer, the scan reads the first N
	return s.Scan(dst, l, &v, q, qc2, eps, limit)
}

func (b *deltaBlock) codeSize() int { return len(b.buf)/b.room - deltaEntryBytes }

// arrays cuts the block into arrays of room entries each. Only those of a View
// that hold entries are set.
func (b *deltaBlock) arrays() (v View, flags []byte) {
	rest, n := b.buf, b.room
	take := func(k int) []byte {
		s := rest[:k:k]
		rest = rest[k:]
		return s
	}
	v.N = n
	v.slots, v.add, v.rescale, v.errs = take(4*n), take(4*n), take(4*n), take(2*n)
	v.gens, flags = take(n), take(n)
	v.codes = rest
	return v, flags
}

// put writes entry i of a view that the caller owns.
func (v *View) put(i int, e *Entry) {
	le := binary.LittleEndian
	le.PutUint32(v.slots[4*i:], e.Slot)
	le.PutUint32(v.add[4*i:], math.Float32bits(e.Factors.Add))
	le.PutUint32(v.rescale[4*i:], math.Float32bits(e.Factors.Rescale))
	le.PutUint16(v.errs[2*i:], rq.PutBF16Up(e.Factors.Error))
	v.gens[i] = e.Generation
	copy(v.Code(i), e.Code)
}

// entry returns entry i; the code aliases the view.
func (v *View) entry(i int, primary bool) Entry {
	return Entry{
		Slot: v.Slot(i), Generation: v.Generation(i), Primary: primary,
		Factors: v.Factors(i), Code: v.Code(i),
	}
}
