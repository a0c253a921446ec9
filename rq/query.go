package rq

import (
	"math"

	"github.com/spratdb/sprat/rq/simd"
)

// Query is a rotated query in the forms that the estimators need. Fill it with
// Reset; after that it is read-only and may be shared by goroutines until the next
// Reset. The zero value is a query of no dimensions.
//
// The estimators see the vector through integers, in two parts of 8 bits:
// v ≈ deltaHi·hi + deltaLo·lo. The high part alone errs by up to max|v|/254 a
// component, both together by up to max|v|/64,516.
type Query struct {
	v                  []float32
	normSq             float32
	hi, lo             []int8   // -127..127
	planesHi, planesLo []uint64 // the same as bit planes, see simd.PackQuery
	sumHi, sumLo       int32    // Σ hi, Σ lo
	deltaHi, deltaLo   float32
}

// Reset takes a copy of the rotated vector v, whose length D is a multiple of 8, and
// derives the other forms. Memory is reused.
func (q *Query) Reset(v []float32) {
	d := len(v)
	q.v = grow(q.v, d)
	q.hi, q.lo = grow(q.hi, d), grow(q.lo, d)
	words := (d + 63) / 64
	q.planesHi, q.planesLo = grow(q.planesHi, 8*words), grow(q.planesLo, 8*words)

	// Quantize at a scale near 1, so that neither a step nor its inverse leaves the
	// range of float32. q.v serves as scratch until the end.
	down, up := powerScale(simd.AbsMaxDiff(v, nil))
	simd.SubScale(q.v, v, nil, down)
	step := simd.AbsMaxDiff(q.v, nil) / 127
	if step == 0 {
		step = 1 // the zero vector: any step will do
	}
	fine := step / 254
	q.sumHi = simd.RoundS8(q.hi, q.v, q.v, 1/step, step)
	q.sumLo = simd.RoundS8(q.lo, q.v, q.v, 1/fine, fine)
	q.deltaHi, q.deltaLo = float32(float64(step)*up), float32(float64(fine)*up)
	simd.PackQuery(q.planesHi, q.hi)
	simd.PackQuery(q.planesLo, q.lo)

	copy(q.v, v)
	q.normSq = clampSquare(simd.SumSqF64(v))
}

// D returns the number of dimensions.
func (q *Query) D() int { return len(q.v) }

// Vector returns the rotated query, D components. It belongs to the query: it is
// valid until the next Reset and must not be written.
func (q *Query) Vector() []float32 { return q.v }

// NormSq returns the squared norm of the query.
func (q *Query) NormSq() float32 { return q.normSq }

// combination returns what turns dot products of unsigned codes with the query into
// <x,v>·factor, where x is the code less mid/2 in each dimension.
func (q *Query) combination(factor float32, mid int32) simd.Combination {
	return simd.Combination{
		ScaleHi: factor * q.deltaHi / 2, OffsetHi: mid * q.sumHi,
		ScaleLo: factor * q.deltaLo / 2, OffsetLo: mid * q.sumLo,
	}
}

// maxSquare is where squared lengths saturate: the sum of a few stays finite.
const maxSquare = math.MaxFloat32 / 4

// clampSquare narrows a squared length, or a part of one, to float32.
func clampSquare(x float64) float32 {
	return float32(max(-maxSquare, min(maxSquare, x)))
}

// powerScale returns a power of two that brings a greatest magnitude of m to 0.5..1,
// or as near as the normal range of float32 allows, and the inverse of it. Scaling
// by it is exact and keeps squares away from overflow and underflow.
func powerScale(m float32) (down float32, up float64) {
	_, e := math.Frexp(float64(m))
	e = max(-126, min(126, e))
	return float32(math.Ldexp(1, -e)), math.Ldexp(1, e)
}
