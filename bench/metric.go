package bench

import (
	"fmt"
	"math"
)

// The metrics, by the names the engine uses.
const (
	// Cosine compares directions; the truth's distance is 1 - cos, 0 to 2.
	Cosine = "cosine"
	// Euclidean is the truth's plain distance; the engine answers its square.
	Euclidean = "euclidean"
	// Dot prefers larger inner products; the truth's distance is -dot.
	Dot = "dot"
)

// checkMetric refuses names other than the three.
func checkMetric(metric string) error {
	switch metric {
	case Cosine, Euclidean, Dot:
		return nil
	}
	return fmt.Errorf("bench: %w %q, want %s, %s or %s", ErrMetric, metric, Cosine, Euclidean, Dot)
}

// TruthDistance converts a distance as the engine answers it to the truth's, in
// which smaller is nearer for every metric: the square root of squared L2, minus
// the inner product, 1 - cos as it is. A squared distance that rounding made
// negative counts as 0. An unknown metric gives NaN, which no comparison calls
// near.
func TruthDistance(metric string, answer float64) float64 {
	switch metric {
	case Cosine:
		return answer
	case Euclidean:
		return math.Sqrt(max(answer, 0))
	case Dot:
		return -answer
	}
	return math.NaN()
}
