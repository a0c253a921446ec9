package simd

// lanes32 is the number of strided partial sums of every float32 sum.
const lanes32 = 32

// fold32 adds the lanes by halves: the order that a vector register takes.
func fold32(s *[lanes32]float32) float32 {
	for h := lanes32 / 2; h > 0; h /= 2 {
		for j := range h {
			s[j] += s[j+h]
		}
	}
	return s[0]
}

// The conversions float32(x*y) below forbid the compiler to fuse the multiply
// with the add, which it would do on arm64.

func dotF32Generic(a, b []float32) float32 {
	var s [lanes32]float32
	for ; len(a) >= lanes32; a, b = a[lanes32:], b[lanes32:] {
		x, y := (*[lanes32]float32)(a), (*[lanes32]float32)(b)
		for j := range s {
			s[j] += float32(x[j] * y[j])
		}
	}
	for j, x := range a {
		s[j] += float32(x * b[j])
	}
	return fold32(&s)
}

func l2F32Generic(a, b []float32) float32 {
	var s [lanes32]float32
	for ; len(a) >= lanes32; a, b = a[lanes32:], b[lanes32:] {
		x, y := (*[lanes32]float32)(a), (*[lanes32]float32)(b)
		for j := range s {
			d := x[j] - y[j]
			s[j] += float32(d * d)
		}
	}
	for j, x := range a {
		d := x - b[j]
		s[j] += float32(d * d)
	}
	return fold32(&s)
}

func dotRowsF32Generic(dst []float32, q, rows []float32) {
	for i := range dst {
		dst[i] = dotF32Generic(q, rows[i*len(q):(i+1)*len(q)])
	}
}
