//go:build !noasm

package simd

//go:noescape
func combineAVX2(dst []float32, hi, lo []int32, add, mul []float32, base, scaleHi, scaleLo, low float32, offsetHi, offsetLo int32)

//go:noescape
func combineAVX512(dst []float32, hi, lo []int32, add, mul []float32, base, scaleHi, scaleLo, low float32, offsetHi, offsetLo int32)

func combine(dst []float32, hi, lo []int32, add, mul []float32, c Combination) {
	switch active {
	case avx512:
		combineAVX512(dst, hi, lo, add, mul, c.Base, c.ScaleHi, c.ScaleLo, c.Min, c.OffsetHi, c.OffsetLo)
		return
	case avx2:
		n := len(dst) &^ 7
		combineAVX2(dst[:n], hi, lo, add, mul, c.Base, c.ScaleHi, c.ScaleLo, c.Min, c.OffsetHi, c.OffsetLo)
		dst, hi, lo, add, mul = dst[n:], hi[n:], lo[n:], add[n:], mul[n:]
	}
	combineGeneric(dst, hi, lo, add, mul, c)
}
