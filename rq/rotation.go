package rq

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/spratdb/sprat/rq/simd"
)

// MaxDim is the greatest dimension of a vector: 4,096 and one of norm augmentation.
const MaxDim = 4097

// rounds is the number of Hadamard transforms of a rotation.
const rounds = 4

// Rotation is a pseudo-random orthonormal map from Dim to D dimensions. It is
// immutable and safe for concurrent use. The same dimension and seed give the same
// map, to the last bit, on every machine and for ever: stored codes depend on it.
//
// It is a walk of four rounds in the manner of Kac. Each flips the sign of each
// component at random and applies a Hadamard transform to the first 2^k components
// (even rounds) or the last 2^k (odd rounds), 2^k being the greatest power of two up
// to D. After each odd round, when both ends have been transformed, pairs half the
// length apart are turned by 45 degrees, so that what lies outside the overlap of
// both ends mixes as well; there is nothing to mix where 2^k = D.
type Rotation struct {
	dim, d int
	half   int // D/2 when the halves are mixed, 0 when D is a power of two
	span   int // 2^k
	scale  [rounds][]float32
}

// PaddedDim returns D for a vector of dim components: dim rounded up to a multiple
// of 8.
func PaddedDim(dim int) int { return (dim + 7) &^ 7 }

// NewRotation returns the rotation of vectors of dim components (1..[MaxDim], or
// [ErrDimension]) that seed selects.
func NewRotation(dim int, seed uint64) (*Rotation, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("%w: rotation of %d dimensions, want 1..%d", ErrDimension, dim, MaxDim)
	}
	d := PaddedDim(dim)
	r := &Rotation{dim: dim, d: d, span: 1 << (bits.Len(uint(d)) - 1)}
	if r.span != d {
		r.half = d / 2
	}
	rng := splitmix{state: seed}
	for i := range r.scale {
		r.scale[i] = r.roundScale(i, &rng)
	}
	return r, nil
}

// roundScale returns the diagonal of round i: random signs, and the factors that
// make the unscaled Hadamard transform and the unscaled mixing orthonormal.
func (r *Rotation) roundScale(i int, rng *splitmix) []float32 {
	hadamard, mix := 1/math.Sqrt(float64(r.span)), 1.0
	if r.mixes(i) {
		mix = math.Sqrt2 / 2
	}
	s := make([]float32, r.d)
	from := r.from(i)
	for j := range s {
		f := mix
		if j >= from && j < from+r.span {
			f *= hadamard
		}
		if rng.next()>>63 != 0 {
			f = -f
		}
		s[j] = float32(f)
	}
	return s
}

// from returns the first component that the Hadamard transform of round i covers.
func (r *Rotation) from(i int) int {
	if i%2 == 0 {
		return 0
	}
	return r.d - r.span
}

// mixes tells whether round i ends with mixing the halves.
//
// To mix after even rounds too, as RaBitQ-Library does, would be worse: the mixing
// would move energy back to the end that the next transform does not cover. With
// D = 960 a quarter of the length of a basis vector then stays in one component.
func (r *Rotation) mixes(i int) bool { return r.half > 0 && i%2 == 1 }

// Dim returns the number of components of an input vector.
func (r *Rotation) Dim() int { return r.dim }

// D returns the number of components of a rotated vector: Dim rounded up to a
// multiple of 8.
func (r *Rotation) D() int { return r.d }

// Apply rotates src (len Dim, taken as padded with zeros) into dst (len D). dst and
// src must not overlap. Norms and inner products are kept to float32 rounding. It
// does not allocate.
func (r *Rotation) Apply(dst, src []float32) {
	dst = dst[:r.d]
	clear(dst[copy(dst, src[:r.dim]):])
	for i, scale := range r.scale {
		simd.Mul(dst, dst, scale)
		from := r.from(i)
		simd.Hadamard(dst[from : from+r.span])
		if r.mixes(i) {
			simd.Butterfly(dst[:r.half], dst[r.half:])
		}
	}
}

// Invert undoes Apply: it sets dst (len Dim) to the vector whose rotation is src
// (len D), to float32 rounding. dst and src may overlap.
//
// Each step of Apply is a symmetric matrix, so the transpose, which is the inverse,
// is the same steps backwards.
func (r *Rotation) Invert(dst, src []float32) {
	ws := workspaces.Get().(*Workspace)
	defer workspaces.Put(ws)
	v, _, _ := ws.vectors(r.d)
	copy(v, src[:r.d])
	for i := rounds - 1; i >= 0; i-- {
		if r.mixes(i) {
			simd.Butterfly(v[:r.half], v[r.half:])
		}
		from := r.from(i)
		simd.Hadamard(v[from : from+r.span])
		simd.Mul(v, v, r.scale[i])
	}
	copy(dst[:r.dim], v)
}
