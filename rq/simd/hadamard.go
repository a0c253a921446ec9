package simd

import "fmt"

// Hadamard replaces x by its Walsh-Hadamard transform in natural order, without
// scaling: applying it twice multiplies by len(x), which is a power of two.
func Hadamard(x []float32) {
	if len(x)&(len(x)-1) != 0 {
		panic(fmt.Errorf("simd: Hadamard of %d elements, want a power of two", len(x)))
	}
	hadamard(x)
}

// Butterfly sets a[i], b[i] = a[i]+b[i], a[i]-b[i] for len(a) elements. a and b
// do not overlap.
func Butterfly(a, b []float32) {
	butterfly(a, first(b, len(a)))
}

// Mul sets dst[i] = a[i]·b[i] for len(dst) elements. dst may be a or b.
func Mul(dst, a, b []float32) {
	mul(dst, first(a, len(dst)), first(b, len(dst)))
}
