package simd

import "math"

func combineGeneric(dst []float32, hi, lo []int32, add, mul []float32, c Combination) {
	for i := range dst {
		h := float32(c.ScaleHi * float32(2*hi[i]-c.OffsetHi))
		l := float32(c.ScaleLo * float32(2*lo[i]-c.OffsetLo))
		d := (c.Base + add[i]) + float32(mul[i]*(h+l))
		dst[i] = max(c.Min, min(math.MaxFloat32, d))
	}
}
