package sprat

import (
	"math"
	"unicode/utf8"

	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq/simd"
)

const (
	// MaxDimension is the largest number of dimensions of a vector.
	MaxDimension = 4096
	// MaxKeyBytes is the longest key, in bytes of UTF-8.
	MaxKeyBytes = rescore.MaxKeyBytes
	// MaxK is the largest number of results of a query.
	MaxK = 10_000
	// MaxMetadataBytes is the largest metadata document of a vector.
	MaxMetadataBytes = 40 << 10
	// MaxMagnitude bounds the absolute value of a component under Euclidean and
	// Dot: squares of 4,096 such components still fit a float32 with room for the
	// products of factors. Under Cosine any finite component is allowed.
	MaxMagnitude = 1e15

	maxNameBytes = 255
)

// checkVector refuses vectors that no index of the metric can hold.
func checkVector(field string, m Metric, dim int, v []float32) error {
	if len(v) != dim {
		return invalid(field, "the dimension of the index", "%d components instead of %d", len(v), dim)
	}
	bound, want := MaxMagnitude, "finite components of magnitude at most 1e15"
	if m == Cosine {
		bound, want = math.MaxFloat32, "finite components"
	}
	for i, x := range v {
		if !(math.Abs(float64(x)) <= bound) {
			return invalid(field, want, "%v at component %d", x, i)
		}
	}
	if m == Cosine && tooShort(v) {
		return invalid(field, "a vector that is not zero under cosine", "length %g", math.Sqrt(simd.SumSqF64(v)))
	}
	return nil
}

// tooShort says that v has no direction that float32 can hold.
func tooShort(v []float32) bool { return simd.SumSqF64(v) < 1e-60 }

func checkKey(key string) error {
	switch {
	case key == "" || len(key) > MaxKeyBytes:
		return invalid("key", "1 to 1,024 bytes of UTF-8", "%d bytes", len(key))
	case !utf8.ValidString(key):
		return invalid("key", "valid UTF-8", "%q", key)
	}
	return nil
}

// checkName checks the name of a bucket or index.
func checkName(field, name string) error {
	if name == "" || len(name) > maxNameBytes {
		return invalid(field, "1 to 255 bytes", "%d bytes", len(name))
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == '/' || c == 0x7f {
			return invalid(field, "a name without spaces, control characters and slashes", "%q", name)
		}
	}
	if !utf8.ValidString(name) {
		return invalid(field, "valid UTF-8", "%q", name)
	}
	return nil
}
