package rq

import "math"

// PutBF16Up returns f as a bfloat16 (the upper half of a float32) rounded towards
// +Inf, so that [BF16] of it is never less than f: an error bound stored this way
// still holds. Values above the greatest finite bfloat16 become +Inf; NaN stays NaN.
func PutBF16Up(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 1<<6 // keep it a NaN: a quiet one
	}
	if b>>31 == 0 && b&0xffff != 0 {
		return uint16(b>>16) + 1
	}
	return uint16(b >> 16) // exact, or negative: dropping bits moves up
}

// BF16 returns the value of a bfloat16.
func BF16(u uint16) float32 { return math.Float32frombits(uint32(u) << 16) }
