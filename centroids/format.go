package centroids

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/spratdb/sprat/rq"
)

// A stored set is the file `centroids` of an index. All integers and floats are
// little endian. n = rows, g = groups (0 in a flat set), Z = bytes of a row's code
// (D at 8 bits, D/2 at 4 bits).
//
//	| offset | bytes | field                                                       |
//	|--------|-------|-------------------------------------------------------------|
//	| 0      | 4     | magic "SPC1"                                                |
//	| 4      | 4     | CRC32C of bytes 8 .. end                                    |
//	| 8      | 2     | format version, 1                                           |
//	| 10     | 1     | bits of a dimension, 4 or 8                                 |
//	| 11     | 1     | zero                                                        |
//	| 12     | 4     | D, dimensions                                               |
//	| 16     | 4     | n                                                           |
//	| 20     | 4     | g                                                           |
//	| 24     | 8     | length in bytes of the whole                                |
//	| 32     | 32    | zero                                                        |
//	| 64     | 4n    | ids, uint32                                                 |
//	| then   | 4n    | scales of the codes, float32                                |
//	| then   | 4n    | squared norms of the decoded centroids, float32             |
//	| then   | 4g    | rows of each group, uint32; the rows above are in the order |
//	|        |       | of the groups                                               |
//	| then   | 4g    | scales of the codes of the group centres, float32           |
//	| then   | 4g    | squared norms of the decoded group centres, float32         |
//	| then   | Zn    | codes of the rows                                           |
//	| then   | Dg    | codes of the group centres, 8 bits a dimension              |
const (
	formatMagic   = "SPC1"
	formatVersion = 1
	headerBytes   = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// storedBytes returns the length of a stored set; it cannot overflow.
func storedBytes(coder rq.CentroidCoder, rows, groups uint32) uint64 {
	return headerBytes + uint64(rows)*uint64(12+coder.CodeSize()) + uint64(groups)*uint64(12+coder.D())
}

// AppendBinary appends the stored form of s to dst; Decode reads it back. The
// error is always nil.
func (s *Set) AppendBinary(dst []byte) ([]byte, error) {
	le := binary.LittleEndian
	rows, supers := uint32(s.Len()), s.supers
	groups := uint32(0)
	if supers != nil {
		groups = uint32(len(s.blocks))
	}
	from := len(dst)
	dst = slices.Grow(dst, int(storedBytes(s.coder, rows, groups)))
	dst = append(dst, make([]byte, headerBytes)...)
	copy(dst[from:], formatMagic)
	head := dst[from:]
	le.PutUint16(head[8:], formatVersion)
	head[10] = byte(s.Bits())
	le.PutUint32(head[12:], uint32(s.Dim()))
	le.PutUint32(head[16:], rows)
	le.PutUint32(head[20:], groups)
	le.PutUint64(head[24:], storedBytes(s.coder, rows, groups))

	dst = s.appendFactors(dst)
	if supers != nil {
		for _, b := range s.blocks {
			dst = le.AppendUint32(dst, uint32(len(b.ids)))
		}
		dst = supers.appendScales(dst)
	}
	for _, b := range s.blocks {
		dst = append(dst, b.codes...)
	}
	if supers != nil {
		for _, b := range supers.blocks {
			dst = append(dst, b.codes...)
		}
	}
	le.PutUint32(dst[from+4:], crc32.Checksum(dst[from+8:], castagnoli))
	return dst, nil
}

// appendFactors appends ids, scales and squared norms.
func (s *Set) appendFactors(dst []byte) []byte {
	for _, b := range s.blocks {
		for _, id := range b.ids {
			dst = binary.LittleEndian.AppendUint32(dst, id)
		}
	}
	return s.appendScales(dst)
}

// appendScales appends scales and squared norms.
func (s *Set) appendScales(dst []byte) []byte {
	for _, b := range s.blocks {
		dst = appendFloats(dst, b.scale)
	}
	for _, b := range s.blocks {
		dst = appendFloats(dst, b.normSq)
	}
	return dst
}

func appendFloats(dst []byte, src []float32) []byte {
	for _, f := range src {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	}
	return dst
}

// Decode returns the set that AppendBinary stored in data, all of data. Nothing of
// data is kept. What is not the bytes of a set is ErrCorrupt, a set of a newer
// format ErrVersion. Memory is taken only after every length was checked against
// len(data).
func Decode(data []byte) (*Set, error) {
	coder, rows, groups, err := decodeHeader(data)
	if err != nil {
		return nil, fmt.Errorf("stored centroids: %w", err)
	}
	n, g := int(rows), int(groups)
	r := reader{data[headerBytes:]}
	all := &block{ids: r.uint32s(n), scale: r.floats(n), normSq: r.floats(n)}
	sizes := r.uint32s(g)
	centres := &block{scale: r.floats(g), normSq: r.floats(g)}
	all.codes, centres.codes = r.take(n*coder.CodeSize()), r.take(g*coder.D())

	if err := all.check(coder); err != nil {
		return nil, fmt.Errorf("stored centroids: %w", err)
	}
	if err := uniqueIDs([]*block{all}, n); err != nil {
		return nil, fmt.Errorf("stored centroids: %w: %w", ErrCorrupt, err)
	}
	if g == 0 {
		return newSet(coder, all.split(flatSizes(n), coder.CodeSize())), nil
	}
	s, err := decodeGroups(coder, all, centres, sizes)
	if err != nil {
		return nil, fmt.Errorf("stored centroids: %w", err)
	}
	return s, nil
}

// decodeHeader checks the header, the length and the checksum of data.
func decodeHeader(data []byte) (coder rq.CentroidCoder, rows, groups uint32, err error) {
	le := binary.LittleEndian
	corrupt := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
	}
	if len(data) < headerBytes {
		return coder, 0, 0, corrupt("%d bytes, less than a header", len(data))
	}
	if string(data[:4]) != formatMagic {
		return coder, 0, 0, corrupt("magic %q", data[:4])
	}
	if got, want := crc32.Checksum(data[8:], castagnoli), le.Uint32(data[4:]); got != want {
		return coder, 0, 0, corrupt("checksum %#08x, stored %#08x", got, want)
	}
	if v := le.Uint16(data[8:]); v != formatVersion {
		return coder, 0, 0, fmt.Errorf("%w: version %d, this program reads %d", ErrVersion, v, formatVersion)
	}
	dim := le.Uint32(data[12:])
	coder, err = rq.NewCentroidCoder(int(dim), int(data[10]))
	if err != nil {
		return coder, 0, 0, corrupt("%w", err)
	}
	rows, groups = le.Uint32(data[16:]), le.Uint32(data[20:])
	switch {
	case data[11] != 0 || !bytes.Equal(data[32:headerBytes], make([]byte, headerBytes-32)):
		err = corrupt("reserved bytes are not zero")
	case rows > math.MaxInt32 || groups > rows:
		err = corrupt("%d rows in %d groups", rows, groups)
	case le.Uint64(data[24:]) != uint64(len(data)) || storedBytes(coder, rows, groups) != uint64(len(data)):
		err = corrupt("%d bytes, header says %d, %d rows in %d groups take %d", len(data),
			le.Uint64(data[24:]), rows, groups, storedBytes(coder, rows, groups))
	}
	return coder, rows, groups, err
}

// decodeGroups returns a grouped set of the rows, sizes[i] of them around centre i.
func decodeGroups(coder rq.CentroidCoder, rows, centres *block, sizes []uint32) (*Set, error) {
	super, err := rq.NewCentroidCoder(coder.D(), 8)
	if err != nil {
		return nil, err
	}
	centres.ids = make([]uint32, len(sizes))
	if err := centres.check(super); err != nil {
		return nil, err
	}
	total := uint64(0)
	for i, size := range sizes {
		centres.ids[i] = uint32(i)
		if total += uint64(size); size == 0 {
			return nil, fmt.Errorf("%w: group %d is empty", ErrCorrupt, i)
		}
	}
	if total != uint64(len(rows.ids)) {
		return nil, fmt.Errorf("%w: groups hold %d of %d rows", ErrCorrupt, total, len(rows.ids))
	}
	s := newSet(coder, rows.split(sizes, coder.CodeSize()))
	s.supers = newSet(super, centres.split(flatSizes(len(sizes)), super.CodeSize()))
	return s, nil
}

// reader cuts arrays from the front of data, which is known to be long enough.
type reader struct{ data []byte }

func (r *reader) take(n int) []byte {
	head := r.data[:n]
	r.data = r.data[n:]
	return head
}

func (r *reader) uint32s(n int) []uint32 {
	out, src := make([]uint32, n), r.take(4*n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(src[4*i:])
	}
	return out
}

func (r *reader) floats(n int) []float32 {
	out, src := make([]float32, n), r.take(4*n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return out
}

// flatSizes returns the block sizes of a flat set of n rows.
func flatSizes(n int) []uint32 {
	var sizes []uint32
	for ; n > blockRows; n -= blockRows {
		sizes = append(sizes, blockRows)
	}
	return append(sizes, uint32(n))
}

// check tells whether all factors are ones that a code can have.
func (b *block) check(coder rq.CentroidCoder) error {
	for i := range b.scale {
		if !validFactors(coder, b.scale[i], b.normSq[i]) {
			return fmt.Errorf("%w: row %d has scale %v, squared norm %v", ErrCorrupt, i, b.scale[i], b.normSq[i])
		}
	}
	return nil
}

// split copies the rows of b into blocks of the given sizes, which add up to them.
func (b *block) split(sizes []uint32, size int) []*block {
	blocks, row := make([]*block, len(sizes)), 0
	for at, n := range sizes {
		blocks[at] = newBlock(int(n), size)
		for range n {
			blocks[at].pushRow(b, row, size)
			row++
		}
	}
	return blocks
}
