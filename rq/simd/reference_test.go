package simd

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The tests of this file check the kernels, on the path in use, against their
// definition; kernels_test.go checks that the paths agree.

func drawFloats(t *rapid.T, n int) []float32 {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func near(t *rapid.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

func TestFloatSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 900).Draw(t, "n")
		a, b := drawFloats(t, n), drawFloats(t, n)
		var dot, l2, sum float64
		for i := range a {
			x, y := float64(a[i]), float64(b[i])
			dot += x * y
			l2 += (x - y) * (x - y)
			sum += x * x
		}
		// Rounding grows with the sum of the magnitudes, here below 10 a term.
		loose, tight := 1e-5*float64(n)+1e-6, 1e-13*float64(n)+1e-14
		near(t, "DotF32", float64(DotF32(a, b)), dot, loose)
		near(t, "L2F32", float64(L2F32(a, b)), l2, loose)
		near(t, "DotF64", DotF64(a, b), dot, tight)
		near(t, "L2F64", L2F64(a, b), l2, tight)
		near(t, "SumSqF64", SumSqF64(a), sum, tight)
	})
}

func TestDotRowsIsDot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, rows := rapid.IntRange(0, 300).Draw(t, "n"), rapid.IntRange(0, 10).Draw(t, "rows")
		q, m, dst := drawFloats(t, n), drawFloats(t, n*rows), make([]float32, rows)
		DotRowsF32(dst, q, m)
		for i, got := range dst {
			if want := DotF32(q, m[i*n:(i+1)*n]); got != want {
				t.Fatalf("row %d: %v, DotF32 gives %v", i, got, want)
			}
		}
	})
}

// TestPlanesAreBytes packs the same codes and query in planes and in bytes: the
// dot products are equal, and equal to the definition.
func TestPlanesAreBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 8 * rapid.IntRange(1, 130).Draw(t, "planeBytes")
		width, rows := rapid.IntRange(1, 8).Draw(t, "bits"), rapid.IntRange(0, 6).Draw(t, "rows")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		q := make([]int8, n)
		for i := range q {
			q[i] = int8(r.IntN(255) - 127)
		}
		u := make([]byte, rows*n)
		for i := range u {
			u[i] = byte(r.IntN(1 << width))
		}
		codes := make([]byte, rows*width*n/8)
		for i := range rows {
			PackPlanes(codes[i*width*n/8:], u[i*n:(i+1)*n], width, n/8)
		}
		planes, fromPlanes, fromBytes := make([]uint64, 8*((n+63)/64)), make([]int32, rows), make([]int32, rows)
		PackQuery(planes, q)
		DotPlanes(fromPlanes, planes, codes, width, n/8)
		DotU8S8(fromBytes, q, u)
		for i := range rows {
			var want int32
			for j, c := range u[i*n : (i+1)*n] {
				want += int32(c) * int32(q[j])
			}
			if fromPlanes[i] != want || fromBytes[i] != want {
				t.Fatalf("row %d: %d from planes, %d from bytes, want %d", i, fromPlanes[i], fromBytes[i], want)
			}
		}
	})
}

func TestNibblesAreBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.IntRange(0, 300).Draw(t, "half")
		code := rapid.SliceOfN(rapid.Byte(), half, half).Draw(t, "code")
		q := rapid.SliceOfN(rapid.Int8Range(-127, 127), 2*half, 2*half).Draw(t, "q")
		u := make([]byte, 2*half)
		for i, b := range code {
			u[i], u[half+i] = b&15, b>>4
		}
		var got, want [1]int32
		DotU4S8(got[:], q[:half], q[half:], code)
		DotU8S8(want[:], q, u)
		if got != want {
			t.Fatalf("%d from nibbles, %d from bytes", got, want)
		}
		x, y := make([]float32, 2*half), make([]float32, 2*half)
		DecodeU4(x, code, 0.5, 7.5)
		DecodeU8(y, u, 0.5, 7.5)
		for i := range x {
			if x[i] != y[i] || y[i] != (float32(u[i])-7.5)/2 {
				t.Fatalf("element %d of code %d: %v from nibbles, %v from bytes", i, u[i], x[i], y[i])
			}
		}
	})
}

func TestHadamardIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 1 << rapid.IntRange(0, 8).Draw(t, "log")
		x := drawFloats(t, n)
		y := append([]float32{}, x...)
		Hadamard(y)
		for i := range y {
			var want float64
			for j, v := range x {
				want += float64(v) * float64(1-2*(bits.OnesCount(uint(i&j))&1))
			}
			near(t, "coefficient", float64(y[i]), want, 1e-4)
		}
	})
}

// TestRoundCode checks each code by its meaning: the nearest allowed level of the
// magnitude, towards zero, with the sign of r.
func TestRoundCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 8).Draw(t, "bits")
		top := float32(int(1)<<(width-1) - 1)
		r := append(drawFloats(t, rapid.IntRange(0, 200).Draw(t, "n")), 0, 1e30, -1e30)
		scale := rapid.Float32Range(0.1, 200).Draw(t, "t")
		u, x := make([]byte, len(r)), make([]float32, len(r))
		RoundCode(u, x, r, scale, top)
		var wantXR, wantXX float64
		for i, v := range r {
			level := min(float32(math.Floor(float64(abs32(v)*scale))), top) + 0.5
			wantXR += float64(level) * float64(abs32(v))
			wantXX += float64(level) * float64(level)
			if v <= 0 {
				level = -level
			}
			if x[i] != level || float32(u[i]) != level+top+0.5 {
				t.Fatalf("r = %v: x = %v, u = %d, want x = %v", v, x[i], u[i], level)
			}
		}
		xr, xx := FitCode(r, scale, top)
		near(t, "xr", float64(xr), wantXR, 1e-5*wantXR)
		near(t, "xx", float64(xx), wantXX, 1e-5*wantXX)
	})
}

func TestRoundS8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := append(drawFloats(t, rapid.IntRange(0, 200).Draw(t, "n")), 0, 1e30, -1e30)
		const delta = 1. / 32
		dst, rest := make([]int8, len(v)), make([]float32, len(v))
		sum := RoundS8(dst, rest, v, 1/delta, delta)
		var want int32
		for i, n := range dst {
			want += int32(n)
			whole := max(-127, min(127, math.RoundToEven(float64(v[i])/delta)))
			if float64(n) != whole || rest[i] != v[i]-delta*float32(n) {
				t.Fatalf("%v becomes %d and %v, want %v", v[i], n, rest[i], whole)
			}
		}
		if sum != want {
			t.Fatalf("sum %d, want %d", sum, want)
		}
	})
}

func TestElementwise(t *testing.T) {
	a, b, dst := []float32{3, -5, 0.5}, []float32{1, 2, -0.25}, make([]float32, 3)
	if got := AbsMaxDiff(a, b); got != 7 {
		t.Errorf("AbsMaxDiff = %v, want 7", got)
	}
	if got := AbsMaxDiff(a, nil); got != 5 {
		t.Errorf("AbsMaxDiff without b = %v, want 5", got)
	}
	SubScale(dst, a, b, 2)
	equalFloats(t, "SubScale", dst, []float32{4, -14, 1.5})
	SubScale(dst, a, nil, 2)
	equalFloats(t, "SubScale without b", dst, []float32{6, -10, 1})
	Mul(dst, a, b)
	equalFloats(t, "Mul", dst, []float32{3, -10, -0.125})
	Butterfly(a, b)
	equalFloats(t, "Butterfly, sums", a, []float32{4, -3, 0.25})
	equalFloats(t, "Butterfly, differences", b, []float32{2, -7, 0.75})
}

// TestCombine checks the formula, and that results stay finite and within limits.
func TestCombine(t *testing.T) {
	c := Combination{Base: 3, ScaleHi: 0.5, ScaleLo: 0.25, OffsetHi: 10, OffsetLo: 4, Min: -2}
	dst := make([]float32, 4)
	Combine(dst, []int32{7, 0, 1 << 20, 0}, []int32{1, 4, 0, 0},
		[]float32{1, -1, 0, 0}, []float32{2, 0.5, 1e38, 1e38}, c)
	// 3+1+2(0.5·4-0.25·2), 3-1+0.5(-0.5·10+0.25·4), limits
	equalFloats(t, "Combine", dst, []float32{7, 0, math.MaxFloat32, -2})
}

func equalFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}
