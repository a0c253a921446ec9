package simd

import "math"

// abs32 clears the sign bit.
func abs32(x float32) float32 {
	return math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
}

func absMaxGeneric(a []float32) float32 {
	var m float32
	for _, x := range a {
		if x = abs32(x); x > m {
			m = x
		}
	}
	return m
}

func absMaxDiffGeneric(a, b []float32) float32 {
	var m float32
	for i, x := range a {
		if x = abs32(x - b[i]); x > m {
			m = x
		}
	}
	return m
}

func scaleGeneric(dst, a []float32, s float32) {
	for i := range dst {
		dst[i] = a[i] * s
	}
}

func subScaleGeneric(dst, a, b []float32, s float32) {
	for i := range dst {
		dst[i] = (a[i] - b[i]) * s
	}
}

// level returns the quantized magnitude of |r|, see FitCode.
func level(r, t, top float32) float32 {
	return float32(int32(min(abs32(r)*t, top))) + 0.5
}

func fitCodeGeneric(r []float32, t, top float32) (xr, xx float32) {
	var sr, sx [lanes32]float32
	for ; len(r) > 0; r = r[min(lanes32, len(r)):] {
		for j, v := range r[:min(lanes32, len(r))] {
			x := level(v, t, top)
			sr[j] += float32(x * abs32(v))
			sx[j] += float32(x * x)
		}
	}
	return fold32(&sr), fold32(&sx)
}

func roundCodeGeneric(u []byte, x, r []float32, t, top float32) {
	for i := range u {
		l := level(r[i], t, top)
		if !(r[i] > 0) {
			l = -l
		}
		x[i] = l
		u[i] = byte(int32(l + top + 0.5))
	}
}

func roundS8Generic(dst []int8, rest, v []float32, inv, delta float32) int32 {
	var sum int32
	for i := range dst {
		n := int8(math.RoundToEven(float64(max(-127, min(127, v[i]*inv)))))
		rest[i] = v[i] - float32(delta*float32(n))
		dst[i] = n
		sum += int32(n)
	}
	return sum
}

func decodeU8Generic(dst []float32, u []byte, s, mid float32) {
	for i := range dst {
		dst[i] = (float32(u[i]) - mid) * s
	}
}

func decodeU4Generic(dst []float32, code []byte, s, mid float32) {
	hi := dst[len(code):]
	for i, b := range code {
		dst[i] = (float32(b&15) - mid) * s
		hi[i] = (float32(b>>4) - mid) * s
	}
}
