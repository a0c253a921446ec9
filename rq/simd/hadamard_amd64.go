//go:build !noasm

package simd

//go:noescape
func hadamardAVX2(x []float32)

//go:noescape
func hadamardAVX512(x []float32)

// hadamard takes the widest vectors that x fills.
func hadamard(x []float32) {
	switch {
	case active == avx512 && len(x) >= 16:
		hadamardAVX512(x)
	case active >= avx2 && len(x) >= 8:
		hadamardAVX2(x)
	default:
		hadamardGeneric(x)
	}
}

//go:noescape
func butterflyAVX2(a, b []float32)

//go:noescape
func butterflyAVX512(a, b []float32)

func butterfly(a, b []float32) {
	switch active {
	case avx512:
		butterflyAVX512(a, b)
		return
	case avx2:
		n := len(a) &^ 7
		butterflyAVX2(a[:n], b)
		a, b = a[n:], b[n:]
	}
	butterflyGeneric(a, b)
}

//go:noescape
func mulAVX2(dst, a, b []float32)

//go:noescape
func mulAVX512(dst, a, b []float32)

func mul(dst, a, b []float32) {
	switch active {
	case avx512:
		mulAVX512(dst, a, b)
		return
	case avx2:
		n := len(dst) &^ 7
		mulAVX2(dst[:n], a, b)
		dst, a, b = dst[n:], a[n:], b[n:]
	}
	mulGeneric(dst, a, b)
}
