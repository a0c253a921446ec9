//go:build !noasm

package simd

import "unsafe"

//go:noescape
func dotU8S8AVX2(dst []int32, q []int8, codes []byte)

//go:noescape
func dotU8S8AVX512(dst []int32, q []int8, codes []byte)

func dotU8S8(dst []int32, q []int8, codes []byte) {
	switch {
	case active == avx512:
		dotU8S8AVX512(dst, q, codes)
	case active == avx2 && len(q)%4 == 0:
		dotU8S8AVX2(dst, q, codes)
	default:
		dotU8S8Generic(dst, q, codes)
	}
}

//go:noescape
func dotU4S8AVX2(dst []int32, qlo, qhi []int8, codes []byte)

//go:noescape
func dotU4S8AVX512(dst []int32, qlo, qhi []int8, codes []byte)

func dotU4S8(dst []int32, qlo, qhi []int8, codes []byte) {
	switch {
	case active == avx512:
		dotU4S8AVX512(dst, qlo, qhi, codes)
	case active == avx2 && len(qlo)%4 == 0:
		dotU4S8AVX2(dst, qlo, qhi, codes)
	default:
		dotU4S8Generic(dst, qlo, qhi, codes)
	}
}

//go:noescape
func dotPlanesAVX2(dst []int32, q []uint64, codes []byte, bits, planeBytes int)

//go:noescape
func dotPlanesAVX512(dst []int32, q []uint64, codes []byte, bits, planeBytes int)

func dotPlanes(dst []int32, q []uint64, codes []byte, bits, planeBytes int) {
	switch {
	case active == avx512:
		dotPlanesAVX512(dst, q, codes, bits, planeBytes)
	case active == avx2 && planeBytes%4 == 0:
		dotPlanesAVX2(dst, q, codes, bits, planeBytes)
	case active == avx2 && planeBytes > 4 && len(dst) > 0:
		// AVX2 reads whole double words, up to 3 bytes of the row that follows;
		// after the last row nothing follows.
		last := len(dst) - 1
		rowBytes := bits * planeBytes
		dotPlanesAVX2(dst[:last], q, codes, bits, planeBytes)
		dotPlanesGeneric(dst[last:], q, codes[last*rowBytes:], bits, planeBytes)
	default:
		dotPlanesGeneric(dst, q, codes, bits, planeBytes)
	}
}

//go:noescape
func packPlanesAVX2(dst, u []byte, bits, stride int)

//go:noescape
func packPlanesAVX512(dst, u []byte, bits, stride int)

func packPlanes(dst, u []byte, bits, stride int) {
	switch active {
	case avx512:
		packPlanesAVX512(dst, u, bits, stride)
		return
	case avx2:
		n := len(u) &^ 31
		packPlanesAVX2(dst, u[:n], bits, stride)
		dst, u = dst[n/8:], u[n:]
	}
	packPlanesGeneric(dst, u, bits, stride)
}

// packQuery packs the bytes of the query: amd64 is little endian, as the words of
// the planes are.
func packQuery(dst []uint64, q []int8) {
	if active == generic || len(q) == 0 {
		packQueryGeneric(dst, q)
		return
	}
	planes := unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 8*len(dst))
	clear(planes)
	packPlanes(planes, unsafe.Slice((*byte)(unsafe.Pointer(&q[0])), len(q)), 8, len(dst))
}
