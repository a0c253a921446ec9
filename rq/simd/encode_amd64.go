//go:build !noasm

package simd

// The elementwise kernels with AVX2 take multiples of 8 elements, which is what
// rotated vectors have; plain Go does the rest.

//go:noescape
func fitCodeAVX2(r []float32, t, top float32) (xr, xx float32)

//go:noescape
func fitCodeAVX512(r []float32, t, top float32) (xr, xx float32)

func fitCode(r []float32, t, top float32) (xr, xx float32) {
	switch active {
	case avx512:
		return fitCodeAVX512(r, t, top)
	case avx2:
		return fitCodeAVX2(r, t, top)
	}
	return fitCodeGeneric(r, t, top)
}

//go:noescape
func roundCodeAVX2(u []byte, x, r []float32, t, top float32)

//go:noescape
func roundCodeAVX512(u []byte, x, r []float32, t, top float32)

func roundCode(u []byte, x, r []float32, t, top float32) {
	switch active {
	case avx512:
		roundCodeAVX512(u, x, r, t, top)
		return
	case avx2:
		n := len(u) &^ 7
		roundCodeAVX2(u[:n], x, r, t, top)
		u, x, r = u[n:], x[n:], r[n:]
	}
	roundCodeGeneric(u, x, r, t, top)
}

//go:noescape
func roundS8AVX2(dst []int8, rest, v []float32, inv, delta float32) int32

//go:noescape
func roundS8AVX512(dst []int8, rest, v []float32, inv, delta float32) int32

func roundS8(dst []int8, rest, v []float32, inv, delta float32) int32 {
	var sum int32
	switch active {
	case avx512:
		return roundS8AVX512(dst, rest, v, inv, delta)
	case avx2:
		n := len(dst) &^ 7
		sum = roundS8AVX2(dst[:n], rest, v, inv, delta)
		dst, rest, v = dst[n:], rest[n:], v[n:]
	}
	return sum + roundS8Generic(dst, rest, v, inv, delta)
}
