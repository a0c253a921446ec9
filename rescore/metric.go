package rescore

import (
	"fmt"
	"math"

	"github.com/spratdb/sprat/rq/simd"
)

// Metric says how two vectors are compared. Values are on disk and never
// renumbered.
type Metric uint8

const (
	// Cosine answers 1 - <q,v>/(|q||v|), in 0..2.
	Cosine Metric = 1
	// Euclidean answers the squared L2 distance.
	Euclidean Metric = 2
	// Dot answers the inner product; larger is nearer.
	Dot Metric = 3
)

// ParseMetric reads cosine, euclidean or dot.
func ParseMetric(s string) (Metric, error) {
	for _, m := range []Metric{Cosine, Euclidean, Dot} {
		if s == m.String() {
			return m, nil
		}
	}
	return 0, fmt.Errorf("metric %q: want cosine, euclidean or dot", s)
}

// String is the metric's name, as ParseMetric reads it.
func (m Metric) String() string {
	switch m {
	case Cosine:
		return "cosine"
	case Euclidean:
		return "euclidean"
	case Dot:
		return "dot"
	}
	return fmt.Sprintf("Metric(%d)", uint8(m))
}

// Target is a query prepared for exact distances.
type Target struct {
	Metric Metric
	Vector []float32 // as the caller gave it
	norm   float64   // |q|, for cosine
}

// NewTarget prepares q, which it keeps.
func NewTarget(m Metric, q []float32) Target {
	t := Target{Metric: m, Vector: q}
	if m == Cosine {
		t.norm = math.Sqrt(simd.SumSqF64(q))
	}
	return t
}

// Distance is the exact distance to v as the index answers it. Sums are float64
// in a fixed order, so every machine gives the same bits.
func (t *Target) Distance(v []float32) float64 {
	switch t.Metric {
	case Euclidean:
		return simd.L2F64(t.Vector, v)
	case Dot:
		return simd.DotF64(t.Vector, v)
	}
	n := t.norm * math.Sqrt(simd.SumSqF64(v))
	if n == 0 {
		return 1
	}
	return min(max(1-simd.DotF64(t.Vector, v)/n, 0), 2)
}

// Order maps an answered distance to a number that is smaller when nearer.
func (m Metric) Order(distance float64) float64 {
	if m == Dot {
		return -distance
	}
	return distance
}
