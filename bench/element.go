package bench

import (
	"encoding/binary"
	"math"
)

// element is the type of the stored values of a binary format.
type element uint8

const (
	elemF32 element = iota
	elemF64
	elemF16
	elemU8
	elemI8
	elemI16
	elemI32
	elemI64
)

var elementNames = [...]string{"float32", "float64", "float16", "uint8", "int8", "int16", "int32", "int64"}
var elementSizes = [...]int{4, 8, 2, 1, 1, 2, 4, 8}

func (e element) String() string { return elementNames[e] }

// size is the stored size of one value in bytes.
func (e element) size() int { return elementSizes[e] }

// isInt tells whether values are whole numbers.
func (e element) isInt() bool { return e >= elemU8 }

// floats decodes len(dst) values of src and returns the index of the first one
// which is not a finite float32, or -1. Integers round to the nearest float32.
func (e element) floats(dst []float32, src []byte) int {
	bad := -1
	switch e {
	case elemF32:
		bad = decodeF32(dst, src)
	case elemF64:
		bad = decodeF64(dst, src)
	case elemF16:
		bad = decodeF16(dst, src)
	case elemU8:
		for i, b := range src[:len(dst)] {
			dst[i] = float32(b)
		}
	case elemI8:
		for i, b := range src[:len(dst)] {
			dst[i] = float32(int8(b))
		}
	case elemI16:
		for i := range dst {
			dst[i] = float32(int16(binary.LittleEndian.Uint16(src[2*i:])))
		}
	case elemI32:
		for i := range dst {
			dst[i] = float32(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case elemI64:
		for i := range dst {
			dst[i] = float32(int64(binary.LittleEndian.Uint64(src[8*i:])))
		}
	}
	return bad
}

// An IEEE value is not finite when all bits of its exponent are set.
const (
	expF32 = 0x7f800000
	expF16 = 0x7c00
)

func decodeF32(dst []float32, src []byte) int {
	src = src[:4*len(dst)]
	bad := -1
	for i := len(dst) - 1; i >= 0; i-- {
		u := binary.LittleEndian.Uint32(src[4*i:])
		dst[i] = math.Float32frombits(u)
		if u&expF32 == expF32 {
			bad = i
		}
	}
	return bad
}

func decodeF64(dst []float32, src []byte) int {
	src = src[:8*len(dst)]
	bad := -1
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
		if math.Float32bits(dst[i])&expF32 == expF32 {
			bad = i
		}
	}
	return bad
}

func decodeF16(dst []float32, src []byte) int {
	src = src[:2*len(dst)]
	bad := -1
	for i := len(dst) - 1; i >= 0; i-- {
		h := binary.LittleEndian.Uint16(src[2*i:])
		// Moved into float32's fields, exponent and mantissa read as the value
		// times 2^-112 (the difference of the biases); the product is exact, also
		// for the subnormal halves.
		f := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
		dst[i] = math.Float32frombits(math.Float32bits(f) | uint32(h&0x8000)<<16)
		if h&expF16 == expF16 {
			bad = i
		}
	}
	return bad
}

// ints decodes len(dst) whole numbers of src and returns the index of the first one
// outside int32, or -1. It must only be called when isInt holds.
func (e element) ints(dst []int32, src []byte) int {
	for i := range dst {
		var v int64
		switch e {
		case elemU8:
			v = int64(src[i])
		case elemI8:
			v = int64(int8(src[i]))
		case elemI16:
			v = int64(int16(binary.LittleEndian.Uint16(src[2*i:])))
		case elemI32:
			v = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		default:
			v = int64(binary.LittleEndian.Uint64(src[8*i:]))
		}
		if v != int64(int32(v)) {
			return i
		}
		dst[i] = int32(v)
	}
	return -1
}
