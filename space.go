package sprat

import (
	"math"

	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

// Metric says how vectors are compared.
type Metric = rescore.Metric

const (
	// Cosine answers 1 - <q,v>/(|q||v|), in 0..2. Zero vectors are refused.
	Cosine = rescore.Cosine
	// Euclidean answers the squared L2 distance.
	Euclidean = rescore.Euclidean
	// Dot answers the inner product; larger is nearer. Vectors of any length.
	Dot = rescore.Dot
)

// ParseMetric reads cosine, euclidean or dot.
func ParseMetric(s string) (Metric, error) { return rescore.ParseMetric(s) }

// space maps vectors of an index into the one space the engine works in:
// squared L2 between rotated vectors, for every metric.
//
//   - cosine: vectors are scaled to length 1; ||q-v||² = 2(1-cos).
//   - euclidean: scaled by a power of two, which brings the longest vector of the
//     first load near length 1: squares of squares must fit a float32.
//   - dot: scaled likewise, and one more dimension makes all data vectors equally long, v' = (v,
//     sqrt(M²-|v|²)) with M the largest length, q' = (q·M/|q|, 0), so that ||q'-v'||²
//     = 2M² - 2M<q,v>/|q|: nearest in L2 is largest in inner product (Bachrach et al.,
//     RecSys 2014). A later vector longer than M gets 0 there; only its estimates
//     suffer, its exact distance does not.
//
// Then the origin (mean of a sample) is subtracted, which makes codes of
// one-sided data (pictures, histograms) finer, and the rotation applied. A
// space is immutable and safe for concurrent use.
type space struct {
	metric    Metric
	dim       int       // d, as the user gives vectors
	origin    []float32 // [inner], nil is zero
	scale     float64   // euclidean and dot; a power of two
	maxNormSq float64   // M² after scaling, dot only
	rotation  *rq.Rotation
}

// innerDim is the dimension before rotation.
func innerDim(m Metric, dim int) int {
	if m == Dot {
		return dim + 1
	}
	return dim
}

func newSpace(m Metric, dim int, seed uint64, origin []float32, scale, maxNormSq float64) (*space, error) {
	rot, err := rq.NewRotation(innerDim(m, dim), seed)
	if err != nil {
		return nil, err
	}
	return &space{metric: m, dim: dim, origin: origin, scale: scale, maxNormSq: maxNormSq, rotation: rot}, nil
}

// d is the dimension of the rotated space.
func (s *space) d() int { return s.rotation.D() }

// inner is the scratch that data and query need.
func (s *space) inner() []float32 { return make([]float32, innerDim(s.metric, s.dim)) }

// data maps a data vector into dst [d()]; scratch is from inner.
func (s *space) data(dst, v, scratch []float32) {
	s.innerData(scratch, v)
	s.finish(dst, scratch)
}

// innerData is data without origin and rotation.
func (s *space) innerData(dst, v []float32) {
	switch s.metric {
	case Cosine:
		scale(dst, v, 1/math.Sqrt(simd.SumSqF64(v)))
	case Dot:
		scale(dst, v, s.scale)
		dst[s.dim] = float32(math.Sqrt(max(0, s.maxNormSq-simd.SumSqF64(v)*s.scale*s.scale)))
	default:
		scale(dst, v, s.scale)
	}
}

// query maps a query vector into dst [d()]; scratch is from inner.
func (s *space) query(dst, q, scratch []float32) {
	switch s.metric {
	case Dot:
		f := 0.0
		if n := simd.SumSqF64(q); n > 0 {
			f = math.Sqrt(s.maxNormSq / n)
		}
		scale(scratch[:s.dim], q, f)
		scratch[s.dim] = 0
	case Euclidean:
		// From very far only the direction decides which vectors are near.
		f := s.scale
		if n := math.Sqrt(simd.SumSqF64(q)) * f; n > farAway {
			f *= farAway / n
		}
		scale(scratch, q, f)
	default:
		s.innerData(scratch, q)
	}
	s.finish(dst, scratch)
}

// farAway is how many times farther than the longest vector a query may lie.
const farAway = 1e6

// powerScale is the power of two that brings a squared length near 1.
func powerScale(normSq float64) float64 {
	if normSq == 0 {
		return 1
	}
	_, e := math.Frexp(math.Sqrt(normSq))
	return math.Ldexp(1, -e)
}

func (s *space) finish(dst, scratch []float32) {
	for i, o := range s.origin {
		scratch[i] -= o
	}
	s.rotation.Apply(dst, scratch)
}

func scale(dst, v []float32, f float64) {
	for i, x := range v {
		dst[i] = float32(float64(x) * f)
	}
}

// dotDistance is ||q'-v'||² in the space for an inner product of dot with q.
func (s *space) dotDistance(dot float64, q []float32) float64 {
	n := simd.SumSqF64(q)
	if n == 0 {
		return s.maxNormSq
	}
	return max(0, 2*s.maxNormSq-2*dot*s.scale*math.Sqrt(s.maxNormSq/n))
}
