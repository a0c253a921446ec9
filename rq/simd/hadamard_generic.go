package simd

func hadamardGeneric(x []float32) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			butterflyGeneric(x[i:i+h], x[i+h:i+2*h])
		}
	}
}

func butterflyGeneric(a, b []float32) {
	for i, x := range a {
		y := b[i]
		a[i], b[i] = x+y, x-y
	}
}

func mulGeneric(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}
