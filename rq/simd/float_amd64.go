//go:build !noasm

package simd

//go:noescape
func dotF32AVX2(a, b []float32) float32

//go:noescape
func dotF32AVX512(a, b []float32) float32

func dotF32(a, b []float32) float32 {
	switch active {
	case avx512:
		return dotF32AVX512(a, b)
	case avx2:
		return dotF32AVX2(a, b)
	}
	return dotF32Generic(a, b)
}

//go:noescape
func l2F32AVX2(a, b []float32) float32

//go:noescape
func l2F32AVX512(a, b []float32) float32

func l2F32(a, b []float32) float32 {
	switch active {
	case avx512:
		return l2F32AVX512(a, b)
	case avx2:
		return l2F32AVX2(a, b)
	}
	return l2F32Generic(a, b)
}

//go:noescape
func dotRowsF32AVX2(dst, q, rows []float32)

//go:noescape
func dotRowsF32AVX512(dst, q, rows []float32)

func dotRowsF32(dst, q, rows []float32) {
	switch active {
	case avx512:
		dotRowsF32AVX512(dst, q, rows)
	case avx2:
		dotRowsF32AVX2(dst, q, rows)
	default:
		dotRowsF32Generic(dst, q, rows)
	}
}

//go:noescape
func dotF64AVX2(a, b []float32) float64

//go:noescape
func dotF64AVX512(a, b []float32) float64

func dotF64(a, b []float32) float64 {
	switch active {
	case avx512:
		return dotF64AVX512(a, b)
	case avx2:
		return dotF64AVX2(a, b)
	}
	return dotF64Generic(a, b)
}

//go:noescape
func l2F64AVX2(a, b []float32) float64

//go:noescape
func l2F64AVX512(a, b []float32) float64

func l2F64(a, b []float32) float64 {
	switch active {
	case avx512:
		return l2F64AVX512(a, b)
	case avx2:
		return l2F64AVX2(a, b)
	}
	return l2F64Generic(a, b)
}
