package rq

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestQueryParts checks that the integer parts add up to the vector and agree with
// each other, at any magnitude.
func TestQueryParts(t *testing.T) {
	var q Query // reused: nothing may be left of the query before
	rapid.Check(t, func(t *rapid.T) {
		d := 8 * rapid.IntRange(0, 60).Draw(t, "D/8")
		magnitude := math.Pow(10, rapid.Float64Range(-30, 18).Draw(t, "log10"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		v, greatest := make([]float32, d), 0.0
		for i := range v {
			v[i] = float32(rng.NormFloat64() * magnitude)
			greatest = max(greatest, math.Abs(float64(v[i])))
		}
		q.Reset(v)
		if q.D() != d || distance(q.Vector(), v) != 0 {
			t.Fatal("the query is not a copy of the vector")
		}
		if want := math.Min(dot(v, v), maxSquare); math.Abs(float64(q.NormSq())-want) > 1e-6*want+1e-45 {
			t.Fatalf("NormSq %v, want %v", q.NormSq(), want)
		}
		var sumHi, sumLo int32
		for i, x := range v {
			sumHi, sumLo = sumHi+int32(q.hi[i]), sumLo+int32(q.lo[i])
			both := float64(q.deltaHi)*float64(q.hi[i]) + float64(q.deltaLo)*float64(q.lo[i])
			if e := math.Abs(both - float64(x)); e > greatest/64516*1.01 {
				t.Fatalf("component %d: %v for %v, greatest %v", i, both, x, greatest)
			}
			hi, lo := fromPlanes(q.planesHi, i), fromPlanes(q.planesLo, i)
			if hi != q.hi[i] || lo != q.lo[i] {
				t.Fatalf("component %d: planes hold %d and %d, bytes %d and %d", i, hi, lo, q.hi[i], q.lo[i])
			}
		}
		if q.sumHi != sumHi || q.sumLo != sumLo {
			t.Fatalf("sums %d and %d, want %d and %d", q.sumHi, q.sumLo, sumHi, sumLo)
		}
	})
}

// fromPlanes reads component i back from 8 bit planes.
func fromPlanes(planes []uint64, i int) int8 {
	var b byte
	words := len(planes) / 8
	for p := range 8 {
		b |= byte(planes[p*words+i/64]>>(i%64)&1) << p
	}
	return int8(b)
}

func TestQueryExtremes(t *testing.T) {
	var q Query
	for _, m := range []float32{0, math.SmallestNonzeroFloat32, 1e-40, 1e-20, 1e15, 1e18, math.MaxFloat32} {
		v := make([]float32, 16)
		v[3], v[5] = m, -m/2
		q.Reset(v)
		for _, f := range []float32{q.normSq, q.deltaHi, q.deltaLo} {
			if f != f || f < 0 || f > math.MaxFloat32 {
				t.Errorf("greatest component %g: norm² %g, steps %g and %g", m, q.normSq, q.deltaHi, q.deltaLo)
			}
		}
		if want := int8(127); m > 0 && q.hi[3] != want {
			t.Errorf("greatest component %g is rounded to %d steps, want %d", m, q.hi[3], want)
		}
	}
}
