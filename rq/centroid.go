package rq

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/spratdb/sprat/rq/simd"
)

// centroidHeader is the bytes before the code of a stored centroid: its scale, a
// little endian float32.
const centroidHeader = 4

// CentroidCoder keeps a centroid in 4 or 8 bits a dimension. The decoded value IS
// the centroid: component i is scale·(u_i - (2^bits-1)/2), residuals are taken to
// it, and so nothing is lost by its rounding. It is an immutable value, safe for
// concurrent use; make it with [NewCentroidCoder].
type CentroidCoder struct {
	coder Coder
}

// NewCentroidCoder returns the coder for centroids of D dimensions (as in
// [NewCoder]) with 4 or 8 bits a dimension (or [ErrBits]).
func NewCentroidCoder(D, bits int) (CentroidCoder, error) {
	if bits != 4 && bits != 8 {
		return CentroidCoder{}, fmt.Errorf("%w: centroid of %d bits, want 4 or 8", ErrBits, bits)
	}
	coder, err := NewCoder(D, bits)
	return CentroidCoder{coder}, err
}

// D returns the number of dimensions.
func (c CentroidCoder) D() int { return c.coder.d }

// Bits returns the number of bits a dimension.
func (c CentroidCoder) Bits() int { return c.coder.bits }

// Size returns the bytes of a stored centroid: 4 of the scale, then the code.
func (c CentroidCoder) Size() int { return centroidHeader + c.CodeSize() }

// CodeSize returns the bytes of a code without scale, as EncodeParts writes it.
func (c CentroidCoder) CodeSize() int { return c.coder.d * c.coder.bits / 8 }

// Encode writes the centroid for the rotated vector v (len D) to dst (at least Size
// bytes).
func (c CentroidCoder) Encode(dst []byte, v []float32) {
	scale, _ := c.EncodeParts(dst[centroidHeader:c.Size()], v)
	binary.LittleEndian.PutUint32(dst, math.Float32bits(scale))
}

// Decode sets dst (at least D) to the centroid stored in code (at least Size bytes).
// A scale that is not finite, as only damaged bytes hold, gives components that are
// not finite.
func (c CentroidCoder) Decode(dst []float32, code []byte) {
	scale := math.Float32frombits(binary.LittleEndian.Uint32(code))
	c.DecodeParts(dst, code[centroidHeader:c.Size()], scale)
}

// EncodeParts writes the code of v (rotated, len D) without its scale to code (at
// least CodeSize bytes). It returns the scale and the squared norm of the decoded
// centroid, which [CentroidCoder.Distances] takes in arrays of their own.
func (c CentroidCoder) EncodeParts(code []byte, v []float32) (scale, normSq float32) {
	ws := workspaces.Get().(*Workspace)
	defer workspaces.Put(ws)
	r, x, u := ws.vectors(c.coder.d)
	down, up := powerScale(simd.AbsMaxDiff(v[:c.coder.d], nil))
	simd.SubScale(r, v, nil, down)
	c.coder.quantize(u, x, r)
	c.pack(code[:c.CodeSize()], u)
	// This scale is the one that leaves the least ||v - scale·x||; it is 0 for v = 0.
	rx, xx := simd.DotF64(r, x), simd.SumSqF64(x)
	if simd.SumSqF64(r) == 0 {
		rx = 0
	}
	scale = float32(up * rx / xx)
	return scale, clampSquare(float64(scale) * float64(scale) * xx)
}

// pack stores the byte codes u in the layout of the coder: as they are, or with
// dimensions i and i+D/2 in the low and high half of byte i.
func (c CentroidCoder) pack(code, u []byte) {
	if c.coder.bits == 8 {
		copy(code, u)
		return
	}
	for i, high := range u[len(code):] {
		code[i] = u[i] | high<<4
	}
}

// DecodeParts sets dst (at least D) to the centroid with the given code (at least
// CodeSize bytes) and scale.
func (c CentroidCoder) DecodeParts(dst []float32, code []byte, scale float32) {
	dst, code = dst[:c.coder.d], code[:c.CodeSize()]
	mid := float32(c.coder.mid()) / 2
	if c.coder.bits == 8 {
		simd.DecodeU8(dst, code, scale, mid)
		return
	}
	simd.DecodeU4(dst, code, scale, mid)
}

// blockBytes is how much of the codes is read before the second pass over them, so
// that the second pass finds them in the first-level cache.
const blockBytes = 16 << 10

// Distances sets dst[i] = ||q-c_i||² for the centroids with codes
// [len(dst)][CodeSize] and the scales and squared norms that EncodeParts returned
// (len(dst) each). 8-bit codes meet the query in 16 bits, which is as good as
// float32; 4-bit codes meet it in 8 bits, with an error of standard deviation about
// 0.015·||q||·||c||/sqrt(D).
func (c CentroidCoder) Distances(dst []float32, q *Query, codes []byte, scale, normSq []float32, ws *Workspace) {
	hi, lo := ws.dots(len(dst))
	combination := q.combination(-2, c.coder.mid())
	combination.Base = min(q.normSq, maxSquare)
	if c.coder.bits == 4 {
		half := c.coder.d / 2
		simd.DotU4S8(hi, q.hi[:half], q.hi[half:c.coder.d], codes)
		lo, combination.ScaleLo = hi, 0
	} else {
		d := c.coder.d
		step := max(1, blockBytes/d)
		for i := 0; i < len(dst); i += step {
			n := min(i+step, len(dst))
			simd.DotU8S8(hi[i:n], q.hi[:d], codes[i*d:n*d])
			simd.DotU8S8(lo[i:n], q.lo[:d], codes[i*d:n*d])
		}
	}
	simd.Combine(dst, hi, lo, normSq, scale, combination)
}
