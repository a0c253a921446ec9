package posting

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/spratdb/sprat/rq"
)

const (
	// Version of the posting format that this code writes.
	Version = 1
	// ExtentAlign is the unit of extents, in bytes.
	ExtentAlign = 4096
	// MaxBytes is the largest posting: one operation of a block volume reads
	// up to 256 KiB, and a posting must cost one.
	MaxBytes = 256 << 10

	magic        = 0x314f5053 // "SPO1"
	headerBytes  = 64
	factorsBytes = 4 + 4 + 4 + 2 + 1 // slot, Add, Rescale, Error, generation
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Layout is the geometry of an index's postings. It is immutable.
type Layout struct {
	IndexID      uint32
	D            int // dimensions of a code
	Bits         int // bits a dimension of an entry's code, 1-8
	CentroidBits int // bits a dimension of the centroid's code, 4 or 8

	coder        rq.Coder
	codeSize     int
	centroidSize int
}

// NewLayout checks the geometry and returns it. Errors come from rq.NewCoder
// and rq.NewCentroidCoder.
func NewLayout(indexID uint32, d, bits, centroidBits int) (Layout, error) {
	coder, err := rq.NewCoder(d, bits)
	if err != nil {
		return Layout{}, fmt.Errorf("posting layout: %w", err)
	}
	cc, err := rq.NewCentroidCoder(d, centroidBits)
	if err != nil {
		return Layout{}, fmt.Errorf("posting layout: %w", err)
	}
	return Layout{
		IndexID: indexID, D: d, Bits: bits, CentroidBits: centroidBits,
		coder: coder, codeSize: coder.CodeSize(), centroidSize: cc.CodeSize(),
	}, nil
}

// Coder returns the coder of the entries.
func (l *Layout) Coder() rq.Coder { return l.coder }

// CodeSize is the bytes of one entry's code.
func (l *Layout) CodeSize() int { return l.codeSize }

// EntryBytes is what one more entry adds to a posting.
func (l *Layout) EntryBytes() int { return factorsBytes + l.codeSize }

// Bytes is the length of a posting of n entries, padding excluded.
func (l *Layout) Bytes(n int) int {
	return headerBytes + roundUp(l.centroidSize, 8) + n*l.EntryBytes()
}

// Capacity is the largest number of entries in a posting of at most the given
// bytes.
func (l *Layout) Capacity(bytes int) int {
	return max(0, (bytes-l.Bytes(0))/l.EntryBytes())
}

// Centroid is a posting's own copy of its centroid.
type Centroid struct {
	Code   []byte
	Scale  float32
	NormSq float32
}

// View is a parsed posting. Its slices alias the buffer it was parsed from.
type View struct {
	ID        uint32
	N         int // entries
	Primaries int // of which this many, the first, have their primary copy here
	Centroid  Centroid

	slots, add, rescale, errs []byte
	gens                      []byte
	codes                     []byte
}

// Slot returns the slot of entry i.
func (v *View) Slot(i int) uint32 { return binary.LittleEndian.Uint32(v.slots[4*i:]) }

// Generation returns the placement generation of entry i.
func (v *View) Generation(i int) uint8 { return v.gens[i] }

// Factors returns the factors of entry i.
func (v *View) Factors(i int) rq.Factors {
	return rq.Factors{
		Add:     math.Float32frombits(binary.LittleEndian.Uint32(v.add[4*i:])),
		Rescale: math.Float32frombits(binary.LittleEndian.Uint32(v.rescale[4*i:])),
		Error:   rq.BF16(binary.LittleEndian.Uint16(v.errs[2*i:])),
	}
}

// Code returns the code of entry i.
func (v *View) Code(i int) []byte {
	c := len(v.codes) / v.N
	return v.codes[i*c : (i+1)*c]
}

// Entry returns entry i. Its code aliases the view.
func (v *View) Entry(i int) Entry { return v.entry(i, i < v.Primaries) }

// Parse checks a posting and returns a view of it. buf may be longer than the
// posting (padding). wantID is the posting that the directory promised. The
// error is a *CorruptError without its place, which the caller knows.
func (l *Layout) Parse(buf []byte, wantID uint32) (View, error) {
	h, n, err := l.parseHeader(buf)
	if err != nil {
		return View{}, err
	}
	v := View{
		ID: binary.LittleEndian.Uint32(h[12:]), N: n,
		Primaries: int(binary.LittleEndian.Uint32(h[20:])),
	}
	if v.ID != wantID {
		return View{}, corrupt("posting %d stands where posting %d was expected", v.ID, wantID)
	}
	v.Centroid = Centroid{
		Code:   buf[headerBytes : headerBytes+l.centroidSize],
		Scale:  math.Float32frombits(binary.LittleEndian.Uint32(h[36:])),
		NormSq: math.Float32frombits(binary.LittleEndian.Uint32(h[40:])),
	}
	rest := buf[headerBytes+roundUp(l.centroidSize, 8):]
	take := func(k int) []byte {
		s := rest[:k:k]
		rest = rest[k:]
		return s
	}
	v.slots, v.add, v.rescale, v.errs = take(4*n), take(4*n), take(4*n), take(2*n)
	v.gens, v.codes = take(n), take(n*l.codeSize)
	return v, nil
}

// parseHeader checks everything that does not depend on the posting's id:
// magic, version, geometry, lengths, and the checksum last.
func (l *Layout) parseHeader(buf []byte) (header []byte, n int, err error) {
	if len(buf) < headerBytes {
		return nil, 0, corrupt("%d bytes, shorter than a header", len(buf))
	}
	h := buf[:headerBytes]
	le := binary.LittleEndian
	if m := le.Uint32(h); m != magic {
		return nil, 0, corrupt("magic %#08x, want %#08x", m, uint32(magic))
	}
	if v := le.Uint16(h[8:]); v != Version {
		return nil, 0, corrupt("format version %d, this program reads %d", v, Version)
	}
	length := int(le.Uint32(h[24:]))
	if length < headerBytes || length > len(buf) || length > MaxBytes {
		return nil, 0, corrupt("length %d of %d bytes read", length, len(buf))
	}
	if got, want := crc32.Checksum(buf[8:length], castagnoli), le.Uint32(h[4:]); got != want {
		return nil, 0, corrupt("checksum %#08x, want %#08x", got, want)
	}
	n = int(le.Uint32(h[16:]))
	switch {
	case int(h[10]) != l.Bits || int(h[11]) != l.CentroidBits || int(le.Uint16(h[28:])) != l.D:
		return nil, 0, corrupt("codes of %d x %d bits, centroid %d bits; the index has %d x %d and %d",
			le.Uint16(h[28:]), h[10], h[11], l.D, l.Bits, l.CentroidBits)
	case le.Uint32(h[32:]) != l.IndexID:
		return nil, 0, corrupt("belongs to index %d, want %d", le.Uint32(h[32:]), l.IndexID)
	case n > MaxBytes || l.Bytes(n) != length:
		return nil, 0, corrupt("%d entries do not fill %d bytes", n, length)
	case int(le.Uint32(h[20:])) > n:
		return nil, 0, corrupt("%d primary entries of %d", le.Uint32(h[20:]), n)
	}
	return h, n, nil
}

func corrupt(format string, args ...any) error {
	return &CorruptError{Reason: fmt.Sprintf(format, args...)}
}

// Located returns err with its place in the volume, when it is a *CorruptError.
func Located(err error, path string, off int64) error {
	if e, ok := err.(*CorruptError); ok {
		return &CorruptError{Path: path, Offset: off, Reason: e.Reason}
	}
	return err
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
