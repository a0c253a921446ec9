package simd

// lanes64 is the number of strided partial sums of every float64 sum.
const lanes64 = 8

// fold64 adds the lanes by halves: the order that a vector register takes.
func fold64(s *[lanes64]float64) float64 {
	for h := lanes64 / 2; h > 0; h /= 2 {
		for j := range h {
			s[j] += s[j+h]
		}
	}
	return s[0]
}

func dotF64Generic(a, b []float32) float64 {
	var s [lanes64]float64
	for ; len(a) >= lanes64; a, b = a[lanes64:], b[lanes64:] {
		x, y := (*[lanes64]float32)(a), (*[lanes64]float32)(b)
		for j := range s {
			// The product of two float32 is exact in float64.
			s[j] += float64(float64(x[j]) * float64(y[j]))
		}
	}
	for j, x := range a {
		s[j] += float64(float64(x) * float64(b[j]))
	}
	return fold64(&s)
}

func l2F64Generic(a, b []float32) float64 {
	var s [lanes64]float64
	for ; len(a) >= lanes64; a, b = a[lanes64:], b[lanes64:] {
		x, y := (*[lanes64]float32)(a), (*[lanes64]float32)(b)
		for j := range s {
			d := float64(x[j]) - float64(y[j])
			s[j] += float64(d * d)
		}
	}
	for j, x := range a {
		d := float64(x) - float64(b[j])
		s[j] += float64(d * d)
	}
	return fold64(&s)
}
