package rq

import (
	"fmt"
	"math"

	"github.com/spratdb/sprat/rq/simd"
)

// Factors turn a code into an estimate of a squared distance, see
// [Coder.Estimate]. With the residual r = v-c and its code x they are
type Factors struct {
	Add     float32 // ||r||² + 2·||r||²·<c,x>/<r,x>
	Rescale float32 // -2·||r||²/<r,x>
	Error   float32 // 2·||r||·sqrt((1/f²-1)/(D-1)) with f = cos(r,x): one standard deviation where ||q-c|| = 1
}

// Coder encodes rotated vectors with 1..8 bits a dimension and estimates distances
// from the codes. It is an immutable value, safe for concurrent use; make it with
// [NewCoder].
type Coder struct {
	d, bits int
	top     float32 // greatest level of a magnitude: 2^(bits-1) - 1
}

// maxD is the greatest number of rotated dimensions.
const maxD = (MaxDim + 7) &^ 7

// NewCoder returns the coder for vectors of D dimensions (a multiple of 8 up to
// 4,104, or [ErrDimension]) with bits bits a dimension (1..8, or [ErrBits]).
func NewCoder(D, bits int) (Coder, error) {
	if D < 8 || D > maxD || D%8 != 0 {
		return Coder{}, fmt.Errorf("%w: code of %d dimensions, want a multiple of 8 up to %d", ErrDimension, D, maxD)
	}
	if bits < 1 || bits > 8 {
		return Coder{}, fmt.Errorf("%w: code of %d bits, want 1..8", ErrBits, bits)
	}
	return Coder{d: D, bits: bits, top: float32(int(1)<<(bits-1) - 1)}, nil
}

// D returns the number of dimensions.
func (c Coder) D() int { return c.d }

// Bits returns the number of bits a dimension.
func (c Coder) Bits() int { return c.bits }

// CodeSize returns the bytes of a code: D/8 for each bit.
func (c Coder) CodeSize() int { return c.d / 8 * c.bits }

// mid is twice the code of a component 0.
func (c Coder) mid() int32 { return 2*int32(c.top) + 1 }

// Encode writes the code of v relative to center into code (at least CodeSize
// bytes) and returns its factors. v and center are rotated (len D); a nil center is
// the origin. The factors are finite for components up to 1e18.
func (c Coder) Encode(code []byte, v, center []float32, ws *Workspace) Factors {
	r, x, u := ws.vectors(c.d)
	// The residual is scaled by a power of two; its code does not depend on that.
	down, up := powerScale(simd.AbsMaxDiff(v[:c.d], center))
	simd.SubScale(r, v, center, down)
	c.quantize(u, x, r)
	c.pack(code, u)
	n2 := simd.SumSqF64(r)
	if n2 == 0 {
		return Factors{} // v is the center, and ||q-c||² the whole distance
	}
	rx, xx, cx := simd.DotF64(r, x), simd.SumSqF64(x), 0.0
	if center != nil {
		cx = simd.DotF64(x, center)
	}
	spread := max(0, n2*xx/(rx*rx)-1) / float64(c.d-1)
	shift := 2 * n2 / rx * cx // a variable: the sum below must not be fused
	return Factors{
		Add:     clampSquare(up * (up*n2 + shift)),
		Rescale: float32(-2 * up * n2 / rx),
		Error:   float32(2 * up * math.Sqrt(n2*spread)),
	}
}

// pack stores the byte codes u in the layout of the coder.
func (c Coder) pack(code, u []byte) {
	if c.bits == 8 {
		copy(code[:c.d], u)
		return
	}
	simd.PackPlanes(code, u, c.bits, c.d/8)
}

// trials is the number of scales tried for a code. The exact search of the paper
// would try D·2^(bits-1); from 100 dimensions on, 16 leave a variance within 2 % of
// its result.
const trials = 16

// scaleRange is where the best scale lies for residuals of a few dozen to a few
// thousand dimensions, by bits, as a multiple of the scale at which the greatest
// component just reaches the top level. Few bits do better when they clip.
var scaleRange = [9]struct{ from, to float32 }{
	2: {0.9, 2.2}, 3: {0.9, 1.8}, 4: {0.9, 1.6}, 5: {0.9, 1.3}, 6: {0.9, 1.12}, 7: {0.92, 1.04}, 8: {0.92, 1.01},
}

// quantize finds the code of r whose direction is nearest to that of r, among those
// of the form x = sign(r)·(floor(t·|r|)+½): as bytes u and as the vector x.
func (c Coder) quantize(u []byte, x, r []float32) {
	var t float32 // one bit has one level, at any scale
	if m := simd.AbsMaxDiff(r, nil); c.bits > 1 && m > 0 {
		base, s := (c.top+1)/m, scaleRange[c.bits]
		best := float32(-1)
		for i := range trials {
			trial := base * (s.from + (s.to-s.from)*(float32(i)+0.5)/trials)
			// The cosine is xr/sqrt(xx·||r||²).
			if xr, xx := simd.FitCode(r, trial, c.top); xr*xr > best*xx {
				best, t = xr*xr/xx, trial
			}
		}
	}
	simd.RoundCode(u, x, r, t, c.top)
}

// Estimate sets dst[i] to an estimate of ||q-v_i||², for codes
// [len(dst)][CodeSize] of vectors v_i that were encoded relative to one center, and
// their factors (len(dst) each). qc2 is ||q-center||².
//
// The estimate is unbiased over the choice of the rotation and may be below zero.
// It is off by more than eps·Error_i·sqrt(qc2) about as rarely as a normal variable
// is off by eps standard deviations, and less often where q-center is nearly
// parallel to v_i-center. It is finite.
func (c Coder) Estimate(dst []float32, q *Query, qc2 float32, codes []byte, add, rescale []float32, ws *Workspace) {
	hi, lo := ws.dots(len(dst))
	combination := q.combination(1, c.mid())
	combination.Base, combination.Min = min(qc2, maxSquare), -math.MaxFloat32
	c.dots(hi, q.hi, q.planesHi, codes)
	if c.needsLow(q, qc2) {
		c.dots(lo, q.lo, q.planesLo, codes)
	} else {
		lo, combination.ScaleLo = hi, 0
	}
	simd.Combine(dst, hi, lo, add, rescale, combination)
}

// dots sets dst to the dot products of the codes with one part of the query, which
// is given in both forms.
func (c Coder) dots(dst []int32, part []int8, planes []uint64, codes []byte) {
	if c.bits == 8 {
		simd.DotU8S8(dst, part[:c.d], codes)
		return
	}
	simd.DotPlanes(dst, planes, codes, c.bits, c.d/8)
}

// spreadByBits is 1/f²-1 for Gaussian residuals of many dimensions: the variance of
// an estimate, in units of 4·||r||²·||q-c||²/D.
var spreadByBits = [9]float32{
	1: 0.571, 2: 0.134, 3: 0.038, 4: 0.0113, 5: 0.0033, 6: 8.7e-4, 7: 2.2e-4, 8: 5.6e-5,
}

// needsLow tells whether the low part of the query is worth its time: where the
// rounding of the high part, Δ²/12 a dimension, would add more than 1/50 to the
// variance that the code has anyway. At usual distances that is from 5 bits on.
func (c Coder) needsLow(q *Query, qc2 float32) bool {
	rounding := q.deltaHi * q.deltaHi / 12 * float32(c.d)
	return !(rounding*50 < spreadByBits[c.bits]*qc2)
}
