package rq

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// awkwardDims are powers of two, one off them, and odd multiples of 8.
var awkwardDims = []int{1, 2, 7, 8, 9, 16, 24, 40, 63, 100, 104, 128, 200, 384, 520, 768, 776, 960, 1023, 1536, 4096, 4097}

func rotation(t testing.TB, dim int, seed uint64) *Rotation {
	t.Helper()
	r, err := NewRotation(dim, seed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rotate(r *Rotation, src []float32) []float32 {
	dst := make([]float32, r.D())
	r.Apply(dst, src)
	return dst
}

func TestRotationDimensions(t *testing.T) {
	for _, dim := range []int{-1, 0, MaxDim + 1} {
		if _, err := NewRotation(dim, 1); !errors.Is(err, ErrDimension) {
			t.Errorf("%d dimensions: error %v, want ErrDimension", dim, err)
		}
	}
	for dim, d := range map[int]int{1: 8, 8: 8, 9: 16, 768: 768, 769: 776, MaxDim: 4104} {
		r := rotation(t, dim, 1)
		if r.Dim() != dim || r.D() != d || PaddedDim(dim) != d {
			t.Errorf("Dim %d, D %d, PaddedDim %d; want %d, %d", r.Dim(), r.D(), PaddedDim(dim), dim, d)
		}
	}
}

// TestRotationIsOrthonormal checks that inner products survive and that Invert is
// the inverse, for any dimension and seed.
func TestRotationIsOrthonormal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(1, MaxDim), rapid.SampledFrom(awkwardDims)).Draw(t, "dim")
		r, err := NewRotation(dim, rapid.Uint64().Draw(t, "rotation"))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "vectors"), 0))
		a, b := make([]float32, dim), make([]float32, dim)
		for i := range a {
			a[i], b[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
		}
		ra, rb := rotate(r, a), rotate(r, b)
		for _, p := range [][4][]float32{{a, b, ra, rb}, {a, a, ra, ra}} {
			tolerance := 1e-6 * math.Sqrt(dot(p[0], p[0])*dot(p[1], p[1]))
			if want, got := dot(p[0], p[1]), dot(p[2], p[3]); math.Abs(got-want) > tolerance {
				t.Fatalf("inner product %v became %v", want, got)
			}
		}
		back := make([]float32, dim)
		r.Invert(back, ra)
		if e := distance(back, a); e > 1e-11*dot(a, a) {
			t.Fatalf("Invert(Apply(v)) is off by %v of ||v||² = %v", e, dot(a, a))
		}
	})
}

// TestRotationScatters rotates sparse and regular vectors: what comes out looks
// Gaussian, which the estimators rely on.
func TestRotationScatters(t *testing.T) {
	for _, dim := range awkwardDims {
		if dim < 63 {
			continue // too few components to look like anything
		}
		t.Run(fmt.Sprint(dim), func(t *testing.T) {
			var stats scatter
			for seed := range uint64(4) {
				r := rotation(t, dim, seed)
				for _, v := range plainVectors(dim) {
					stats.add(rotate(r, v))
				}
			}
			// The greatest of n normal variables is near sqrt(2·ln(2n)); 1.35 times
			// that has a chance below 1e-5.
			limit := 1.35 * math.Sqrt(2*math.Log(2*float64(stats.n)))
			if stats.greatest > limit {
				t.Errorf("a component of %.2f sigma among %d, want at most %.2f", stats.greatest, stats.n, limit)
			}
			if k := stats.fourth / float64(stats.n); k < 2.5 || k > 3.3 {
				t.Errorf("kurtosis %.2f, that of a normal variable is 3", k)
			}
		})
	}
}

// plainVectors are unit vectors that a weak rotation leaves structured: basis
// vectors, sums of two and four of them, constant and alternating ones.
func plainVectors(dim int) [][]float32 {
	var vs [][]float32
	put := func(at ...int) {
		v := make([]float32, dim)
		for _, i := range at {
			v[i%dim] += float32(1 / math.Sqrt(float64(len(at))))
		}
		vs = append(vs, v)
	}
	for i := 0; i < dim; i += 1 + dim/97 {
		put(i)
		put(i, i+dim/2)
		put(i, i+1, i+2, i+3)
	}
	constant, alternating := make([]float32, dim), make([]float32, dim)
	for i := range constant {
		constant[i] = float32(1 / math.Sqrt(float64(dim)))
		alternating[i] = constant[i] * float32(1-2*(i%2))
	}
	return append(vs, constant, alternating)
}

// scatter gathers statistics of the components of unit vectors, in units of the
// standard deviation 1/sqrt(D).
type scatter struct {
	n                int
	greatest, fourth float64
}

func (s *scatter) add(v []float32) {
	for _, x := range v {
		z := math.Abs(float64(x)) * math.Sqrt(float64(len(v)))
		s.greatest = max(s.greatest, z)
		s.fourth += z * z * z * z
	}
	s.n += len(v)
}

func TestRotationSeedsDiffer(t *testing.T) {
	v := make([]float32, 64)
	v[3] = 1
	a, b, c := rotate(rotation(t, 64, 1), v), rotate(rotation(t, 64, 1), v), rotate(rotation(t, 64, 2), v)
	if distance(a, b) != 0 {
		t.Error("the same seed gives different rotations")
	}
	if distance(a, c) < 0.5 {
		t.Error("different seeds give about the same rotation")
	}
}

func dot(a, b []float32) float64 {
	var s float64
	for i, x := range a {
		s += float64(x) * float64(b[i])
	}
	return s
}
