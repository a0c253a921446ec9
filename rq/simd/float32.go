package simd

// DotF32 returns Σ a[i]·b[i]. It reads len(a) elements of both.
func DotF32(a, b []float32) float32 {
	return dotF32(a, first(b, len(a)))
}

// L2F32 returns Σ (a[i]-b[i])². It reads len(a) elements of both.
func L2F32(a, b []float32) float32 {
	return l2F32(a, first(b, len(a)))
}

// DotRowsF32 sets dst[i] = Σ q·rows[i] for the row-major matrix
// rows [len(dst)][len(q)]. Each value has the bits that [DotF32] would give.
func DotRowsF32(dst []float32, q, rows []float32) {
	dotRowsF32(dst, q, first(rows, len(dst)*len(q)))
}
