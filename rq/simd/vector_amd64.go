//go:build !noasm

package simd

//go:noescape
func absMaxAVX2(a []float32) float32

//go:noescape
func absMaxAVX512(a []float32) float32

func absMax(a []float32) float32 {
	switch active {
	case avx512:
		return absMaxAVX512(a)
	case avx2:
		return absMaxAVX2(a)
	}
	return absMaxGeneric(a)
}

//go:noescape
func absMaxDiffAVX2(a, b []float32) float32

//go:noescape
func absMaxDiffAVX512(a, b []float32) float32

func absMaxDiff(a, b []float32) float32 {
	switch active {
	case avx512:
		return absMaxDiffAVX512(a, b)
	case avx2:
		return absMaxDiffAVX2(a, b)
	}
	return absMaxDiffGeneric(a, b)
}

//go:noescape
func scaleAVX2(dst, a []float32, s float32)

//go:noescape
func scaleAVX512(dst, a []float32, s float32)

func scale(dst, a []float32, s float32) {
	switch active {
	case avx512:
		scaleAVX512(dst, a, s)
		return
	case avx2:
		n := len(dst) &^ 7
		scaleAVX2(dst[:n], a, s)
		dst, a = dst[n:], a[n:]
	}
	scaleGeneric(dst, a, s)
}

//go:noescape
func subScaleAVX2(dst, a, b []float32, s float32)

//go:noescape
func subScaleAVX512(dst, a, b []float32, s float32)

func subScale(dst, a, b []float32, s float32) {
	switch active {
	case avx512:
		subScaleAVX512(dst, a, b, s)
		return
	case avx2:
		n := len(dst) &^ 7
		subScaleAVX2(dst[:n], a, b, s)
		dst, a, b = dst[n:], a[n:], b[n:]
	}
	subScaleGeneric(dst, a, b, s)
}

//go:noescape
func decodeU8AVX2(dst []float32, u []byte, s, mid float32)

//go:noescape
func decodeU8AVX512(dst []float32, u []byte, s, mid float32)

func decodeU8(dst []float32, u []byte, s, mid float32) {
	switch active {
	case avx512:
		decodeU8AVX512(dst, u, s, mid)
		return
	case avx2:
		n := len(dst) &^ 7
		decodeU8AVX2(dst[:n], u, s, mid)
		dst, u = dst[n:], u[n:]
	}
	decodeU8Generic(dst, u, s, mid)
}

//go:noescape
func decodeU4AVX2(dst []float32, code []byte, s, mid float32)

//go:noescape
func decodeU4AVX512(dst []float32, code []byte, s, mid float32)

func decodeU4(dst []float32, code []byte, s, mid float32) {
	switch {
	case active == avx512:
		decodeU4AVX512(dst, code, s, mid)
	case active == avx2 && len(code)%8 == 0:
		decodeU4AVX2(dst, code, s, mid)
	default:
		decodeU4Generic(dst, code, s, mid)
	}
}
