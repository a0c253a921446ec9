package simd

import (
	"encoding/binary"
	"math/bits"
)

func dotU8S8Generic(dst []int32, q []int8, codes []byte) {
	for i := range dst {
		row := codes[i*len(q) : (i+1)*len(q)]
		var s int32
		for j, c := range row {
			s += int32(c) * int32(q[j])
		}
		dst[i] = s
	}
}

func dotU4S8Generic(dst []int32, qlo, qhi []int8, codes []byte) {
	for i := range dst {
		row := codes[i*len(qlo) : (i+1)*len(qlo)]
		var s int32
		for j, c := range row {
			s += int32(c&15)*int32(qlo[j]) + int32(c>>4)*int32(qhi[j])
		}
		dst[i] = s
	}
}

// planeWeight is what a bit of query plane p is worth: two's complement, so the
// top plane counts negative.
var planeWeight = [8]int32{1, 2, 4, 8, 16, 32, 64, -128}

func dotPlanesGeneric(dst []int32, q []uint64, codes []byte, nbits, planeBytes int) {
	words := (planeBytes + 7) / 8
	for i := range dst {
		var s int32
		for p := range nbits {
			plane := codes[(i*nbits+p)*planeBytes:][:planeBytes]
			s += planeDot(q, plane, words) << p
		}
		dst[i] = s
	}
}

// planeDot returns Σ q[j] over the dimensions j whose bit is set in plane.
func planeDot(q []uint64, plane []byte, words int) int32 {
	var s int32
	for w := range words {
		c := loadWord(plane[8*w:])
		for p, weight := range planeWeight {
			s += weight * int32(bits.OnesCount64(c&q[p*words+w]))
		}
	}
	return s
}

// loadWord reads up to 8 bytes, little endian, as if zeros followed.
func loadWord(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var w uint64
	for i, x := range b {
		w |= uint64(x) << (8 * i)
	}
	return w
}

func packQueryGeneric(dst []uint64, q []int8) {
	clear(dst)
	words := len(dst) / 8
	for j, x := range q {
		for p := range 8 {
			dst[p*words+j/64] |= uint64(byte(x)>>p&1) << (j % 64)
		}
	}
}

// Multiplying eight bytes of 0 or 1 by gatherBits moves the lowest bit of byte k to
// bit 56+k, without carries.
const (
	lowestBits = 0x0101010101010101
	gatherBits = 0x0102040810204080
)

func packPlanesGeneric(dst, u []byte, nbits, stride int) {
	for j := 0; j < len(u); j += 8 {
		w := loadWord(u[j:])
		for p := range nbits {
			dst[p*stride+j/8] = byte((w >> p & lowestBits) * gatherBits >> 56)
		}
	}
}
