package rescore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/spratdb/sprat/internal/diskfile"
)

const (
	block = 4096

	recordHeader = 12
	flagKey      = 1 // the key is in the catalog
	flagMeta     = 2 // the metadata is in the catalog

	// MaxKeyBytes is the longest key.
	MaxKeyBytes = 1024
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Stride is how the fixed-size records of a file lie on the volume.
type Stride struct {
	Bytes    int
	PerBlock int // records in a block of 4 KiB; 0 when records lie back to back
}

// packStride chooses the layout for records of need bytes. Records keep within
// a block where that wastes at most an eighth of it; otherwise they lie back to
// back, because padding costs every cached and every sequential byte while a
// straddling record costs one more block of one read.
func packStride(need int) Stride {
	need = roundUp(need, 4)
	if n := block / need; n > 0 && block-n*need <= block/8 {
		return Stride{Bytes: need, PerBlock: n}
	}
	return Stride{Bytes: need}
}

// Offset is the first byte of a slot's record in its file.
func (s Stride) Offset(slot uint32) int64 {
	if s.PerBlock == 0 {
		return diskfile.HeaderBytes + int64(slot)*int64(s.Bytes)
	}
	n := uint32(s.PerBlock)
	return diskfile.HeaderBytes + int64(slot/n)*block + int64(slot%n)*int64(s.Bytes)
}

// RecordLayout is the geometry of vector records.
type RecordLayout struct {
	Stride
	Dim     int // d, as given by the user
	KeyCap  int // inline key bytes
	MetaCap int // inline metadata bytes
}

// NewRecordLayout lays out records for vectors of dim float32, with keyCap and
// metaCap bytes of key and metadata inline.
func NewRecordLayout(dim, keyCap, metaCap int) RecordLayout {
	keyCap, metaCap = roundUp(keyCap, 4), roundUp(metaCap, 4)
	return RecordLayout{
		Stride: packStride(recordHeader + keyCap + 4*dim + metaCap),
		Dim:    dim, KeyCap: keyCap, MetaCap: metaCap,
	}
}

// Header is the file header that belongs to the layout.
func (l RecordLayout) Header(indexID uint32, align int) diskfile.Header {
	return diskfile.Header{
		Kind: diskfile.Records, IndexID: indexID, Stride: uint32(l.Bytes), PerBlock: uint32(l.PerBlock),
		Dim: uint32(l.Dim), KeyCap: uint32(l.KeyCap), MetaCap: uint32(l.MetaCap), Align: uint32(align),
	}
}

// Record is one vector record. Decoded slices alias the buffer read.
type Record struct {
	Key        []byte // empty when KeyElsewhere
	Metadata   []byte // nil when there is none, or MetaElsewhere
	Generation uint8
	// KeyElsewhere and MetaElsewhere say that the field did not fit inline and
	// is in the catalog.
	KeyElsewhere, MetaElsewhere bool
	vector                      []byte
}

// Vector decodes the record's vector into dst, which has the index's dimension.
func (r *Record) Vector(dst []float32) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.vector[4*i:]))
	}
}

// Encode writes the record of slot into dst, which has Stride.Bytes bytes. It
// reports whether the key and the metadata found room; what did not must be
// kept in the catalog by the caller.
func (l *RecordLayout) Encode(dst []byte, slot uint32, gen uint8, key, meta []byte, v []float32) (keyInline, metaInline bool) {
	clear(dst)
	le := binary.LittleEndian
	keyInline, metaInline = len(key) <= l.KeyCap, len(meta) <= l.MetaCap
	le.PutUint16(dst[4:], uint16(len(key)))
	le.PutUint32(dst[8:], uint32(len(meta)))
	if keyInline {
		copy(dst[recordHeader:], key)
	} else {
		dst[6] |= flagKey
	}
	vec := dst[recordHeader+l.KeyCap:]
	for i, x := range v {
		le.PutUint32(vec[4*i:], math.Float32bits(x))
	}
	if metaInline {
		copy(vec[4*len(v):], meta)
	} else {
		dst[6] |= flagMeta
	}
	l.Seal(dst, slot, gen)
	return keyInline, metaInline
}

// Seal gives an encoded record its slot and generation, which a live put knows
// only when it commits.
func (l *RecordLayout) Seal(dst []byte, slot uint32, gen uint8) {
	dst[7] = gen
	binary.LittleEndian.PutUint32(dst, slotChecksum(slot, dst[4:l.Bytes]))
}

// Decode checks the record of slot in src. Errors are *CorruptError without
// their place, which the caller knows.
func (l *RecordLayout) Decode(src []byte, slot uint32) (Record, error) {
	if len(src) < l.Bytes {
		return Record{}, corrupt(slot, "%d bytes, want %d", len(src), l.Bytes)
	}
	le := binary.LittleEndian
	if got, want := slotChecksum(slot, src[4:l.Bytes]), le.Uint32(src); got != want {
		return Record{}, corrupt(slot, "checksum %#08x, want %#08x", got, want)
	}
	keyLen, metaLen := int(le.Uint16(src[4:])), int(le.Uint32(src[8:]))
	r := Record{
		Generation: src[7], KeyElsewhere: src[6]&flagKey != 0, MetaElsewhere: src[6]&flagMeta != 0,
	}
	switch {
	case keyLen == 0 || keyLen > MaxKeyBytes:
		return Record{}, corrupt(slot, "key of %d bytes", keyLen)
	case !r.KeyElsewhere && keyLen > l.KeyCap, !r.MetaElsewhere && metaLen > l.MetaCap:
		return Record{}, corrupt(slot, "key of %d or metadata of %d bytes do not fit inline", keyLen, metaLen)
	}
	if !r.KeyElsewhere {
		r.Key = src[recordHeader : recordHeader+keyLen]
	}
	r.vector = src[recordHeader+l.KeyCap : recordHeader+l.KeyCap+4*l.Dim]
	if metaLen > 0 && !r.MetaElsewhere {
		at := recordHeader + l.KeyCap + 4*l.Dim
		r.Metadata = src[at : at+metaLen]
	}
	return r, nil
}

// slotChecksum is CRC32C over the slot number, then the body.
func slotChecksum(slot uint32, body []byte) uint32 {
	s := [4]byte{byte(slot), byte(slot >> 8), byte(slot >> 16), byte(slot >> 24)}
	return crc32.Update(crc32.Checksum(s[:], castagnoli), castagnoli, body)
}

func corrupt(slot uint32, format string, args ...any) error {
	return &CorruptError{Slot: slot, Reason: fmt.Sprintf(format, args...)}
}

// Located returns err with its place in the volume, when it is a *CorruptError.
func Located(err error, path string, off int64) error {
	if e, ok := err.(*CorruptError); ok {
		return &CorruptError{Path: path, Offset: off, Slot: e.Slot, Reason: e.Reason}
	}
	return err
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
