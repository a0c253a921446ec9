package parquetpage

import "encoding/binary"

// maxDeltaBlock bounds the values of a block; writers use 128 to 2,048.
const maxDeltaBlock = 1 << 16

// deltaInts decodes DELTA_BINARY_PACKED into dst, which it fills exactly, and
// returns the bytes that follow:
//
//	values in a block | miniblocks in a block | values | first value   varints, the last zigzag
//	blocks: least delta, a zigzag varint | width u8 of each miniblock | miniblocks
//
// A miniblock holds what each delta exceeds the least one by, packed in width bits,
// low bits first. Miniblocks without values are left out; a last one is padded.
func deltaInts(dst []int64, src []byte) ([]byte, error) {
	t := thriftReader{b: src} // for its varints
	var head [3]uint64
	for i := range head {
		v, err := t.uint()
		if err != nil {
			return nil, errShort
		}
		head[i] = v
	}
	last, err := t.int()
	if err != nil {
		return nil, errShort
	}
	block, minis := head[0], head[1]
	if block == 0 || block > maxDeltaBlock || minis == 0 || block%minis != 0 || block/minis%8 != 0 {
		return nil, errBlocks
	}
	if head[2] != uint64(len(dst)) {
		return nil, errCount
	}
	if len(dst) > 0 {
		dst[0], dst = last, dst[1:]
	}
	for len(dst) > 0 {
		if dst, last, err = t.deltaBlock(dst, last, int(minis), int(block/minis)); err != nil {
			return nil, err
		}
	}
	return src[t.pos:], nil
}

// deltaBlock decodes one block of minis miniblocks of size values. It returns what
// is left of dst, and the last value.
func (r *thriftReader) deltaBlock(dst []int64, last int64, minis, size int) ([]int64, int64, error) {
	least, err := r.int()
	if err != nil {
		return nil, 0, errShort
	}
	start := r.pos
	if r.advance(uint64(minis)) != nil {
		return nil, 0, errShort
	}
	for _, w := range r.b[start:r.pos] {
		if len(dst) == 0 {
			break
		}
		width := int(w)
		if width > 64 {
			return nil, 0, errWidth
		}
		packed := r.b[r.pos:]
		if r.advance(uint64(size*width/8)) != nil {
			return nil, 0, errShort
		}
		n := min(size, len(dst))
		for i := range dst[:n] {
			last += least + int64(bitsAt(packed, i*width, width))
			dst[i] = last
		}
		dst = dst[n:]
	}
	return dst, last, nil
}

// putInts stores values as little-endian integers of size bytes.
func putInts(dst []byte, values []int64, size int) {
	for i, v := range values {
		if size == 4 {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
		} else {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(v))
		}
	}
}
