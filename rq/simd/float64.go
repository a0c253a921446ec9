package simd

// The float64 kernels decide the order of answers, so their result is part of
// the contract: the float32 elements are widened first, 8 strided lanes (element
// i in lane i mod 8) are summed without fused multiply-add, and the lanes fold
// as ((s0+s4)+(s2+s6)) + ((s1+s5)+(s3+s7)).

// L2F64 returns Σ (a[i]-b[i])² in float64. It reads len(a) elements of both.
func L2F64(a, b []float32) float64 {
	return l2F64(a, first(b, len(a)))
}

// DotF64 returns Σ a[i]·b[i] in float64. It reads len(a) elements of both.
func DotF64(a, b []float32) float64 {
	return dotF64(a, first(b, len(a)))
}

// SumSqF64 returns Σ a[i]² in float64.
func SumSqF64(a []float32) float64 {
	return dotF64(a, a)
}
