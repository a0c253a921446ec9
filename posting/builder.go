package posting

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/spratdb/sprat/rq"
)

// Entry is one member of a posting before it is laid out.
type Entry struct {
	Slot       uint32
	Generation uint8
	Primary    bool
	Factors    rq.Factors
	Code       []byte // Layout.CodeSize bytes
}

// Builder collects the entries of one posting and lays them out. It is reused
// from posting to posting and belongs to one goroutine.
type Builder struct {
	layout    Layout
	primaries []Entry
	copies    []Entry
	codes     []byte // backs the entries' codes
	buf       []byte
}

// NewBuilder returns an empty builder.
func NewBuilder(l Layout) *Builder { return &Builder{layout: l} }

// Reset forgets the entries.
func (b *Builder) Reset() {
	b.primaries, b.copies, b.codes = b.primaries[:0], b.copies[:0], b.codes[:0]
}

// Len is the number of entries added since Reset.
func (b *Builder) Len() int { return len(b.primaries) + len(b.copies) }

// Add takes one entry; its code is copied.
func (b *Builder) Add(e Entry) {
	start := len(b.codes)
	b.codes = append(b.codes, e.Code...)
	e.Code = b.codes[start:len(b.codes):len(b.codes)]
	if e.Primary {
		b.primaries = append(b.primaries, e)
	} else {
		b.copies = append(b.copies, e)
	}
}

// Encode lays the entries out as posting id, primary copies first, each part in
// the order of Add. The result is valid until the next Encode and is padded
// with zeros to a multiple of ExtentAlign; used is its length without padding.
func (b *Builder) Encode(id uint32, c Centroid) (extent []byte, used int) {
	l, n := &b.layout, b.Len()
	used = l.Bytes(n)
	size := roundUp(used, ExtentAlign)
	if cap(b.buf) < size {
		b.buf = make([]byte, size)
	}
	b.buf = b.buf[:size]
	clear(b.buf)

	le := binary.LittleEndian
	h := b.buf[:headerBytes]
	le.PutUint32(h, magic)
	le.PutUint16(h[8:], Version)
	h[10], h[11] = byte(l.Bits), byte(l.CentroidBits)
	le.PutUint32(h[12:], id)
	le.PutUint32(h[16:], uint32(n))
	le.PutUint32(h[20:], uint32(len(b.primaries)))
	le.PutUint32(h[24:], uint32(used))
	le.PutUint16(h[28:], uint16(l.D))
	le.PutUint32(h[32:], l.IndexID)
	le.PutUint32(h[36:], math.Float32bits(c.Scale))
	le.PutUint32(h[40:], math.Float32bits(c.NormSq))
	copy(b.buf[headerBytes:], c.Code)

	b.encodeEntries(b.buf[headerBytes+roundUp(l.centroidSize, 8):], n)
	le.PutUint32(h[4:], crc32.Checksum(b.buf[8:used], castagnoli))
	return b.buf, used
}

func (b *Builder) encodeEntries(out []byte, n int) {
	le := binary.LittleEndian
	slots, add, rescale, errs := out, out[4*n:], out[8*n:], out[12*n:]
	gens, codes := out[14*n:], out[15*n:]
	i := 0
	for _, part := range [2][]Entry{b.primaries, b.copies} {
		for k := range part {
			e := &part[k]
			le.PutUint32(slots[4*i:], e.Slot)
			le.PutUint32(add[4*i:], math.Float32bits(e.Factors.Add))
			le.PutUint32(rescale[4*i:], math.Float32bits(e.Factors.Rescale))
			le.PutUint16(errs[2*i:], rq.PutBF16Up(e.Factors.Error))
			gens[i] = e.Generation
			copy(codes[i*b.layout.codeSize:], e.Code)
			i++
		}
	}
}
