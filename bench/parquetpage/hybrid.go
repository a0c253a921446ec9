package parquetpage

import (
	"encoding/binary"
)

// hybrid fills dst with values of width bits, 0 to 32, from runs of two kinds:
//
//	count<<1 varint    | value, in whole bytes          the value, count times
//	groups<<1|1 varint | groups x 8 values, packed      low bits first
//
// Values beyond len(dst), with which the last group is padded, are dropped.
func hybrid[T byte | uint32](dst []T, src []byte, width int) error {
	if width > 32 {
		return errWidth
	}
	for len(dst) > 0 {
		head, n := binary.Uvarint(src)
		if n <= 0 {
			return errShort
		}
		src = src[n:]
		if head&1 == 0 {
			bytes := (width + 7) / 8
			if bytes > len(src) {
				return errShort
			}
			n := int(min(head>>1, uint64(len(dst))))
			v := T(bitsAt(src, 0, width))
			for i := range dst[:n] {
				dst[i] = v
			}
			dst, src = dst[n:], src[bytes:]
			continue
		}
		groups := int(min(head>>1, uint64(len(dst)+7)/8))
		n = min(8*groups, len(dst))
		if (n*width+7)/8 > len(src) {
			return errShort
		}
		for i := range dst[:n] {
			dst[i] = T(bitsAt(src, i*width, width))
		}
		dst, src = dst[n:], src[min(groups*width, len(src)):]
	}
	return nil
}

// bitsAt returns width bits, 0 to 64, from position bit on. Bits are numbered from
// the lowest of the first byte; those beyond src are zero.
func bitsAt(src []byte, bit, width int) uint64 {
	at, shift := bit/8, bit%8
	if at >= len(src) || width == 0 {
		return 0
	}
	var v uint64
	if len(src)-at >= 9 {
		v = binary.LittleEndian.Uint64(src[at:]) >> shift
		if shift > 0 {
			v |= uint64(src[at+8]) << (64 - shift)
		}
	} else {
		var p [9]byte
		copy(p[:], src[at:])
		v = binary.LittleEndian.Uint64(p[:]) >> shift
		if shift > 0 {
			v |= uint64(p[8]) << (64 - shift)
		}
	}
	return v & (1<<width - 1)
}
