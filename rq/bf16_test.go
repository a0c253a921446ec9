package rq

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestBF16Cases(t *testing.T) {
	inf := float32(math.Inf(1))
	smallest := float32(math.SmallestNonzeroFloat32)
	for _, c := range []struct{ in, want float32 }{
		{0, 0},
		{1, 1},
		{1 + 1.0/256, 1 + 1.0/128},
		{-1 - 1.0/256, -1},
		{smallest, math.Float32frombits(1 << 16)}, // the least subnormal bfloat16
		{math.Float32frombits(1 << 16), math.Float32frombits(1 << 16)},
		{-smallest, 0},
		{math.MaxFloat32, inf}, // above the greatest finite bfloat16
		{inf, inf},
		{-inf, -inf},
	} {
		if got := BF16(PutBF16Up(c.in)); got != c.want {
			t.Errorf("%g becomes %g, want %g", c.in, got, c.want)
		}
	}
	if nan := BF16(PutBF16Up(float32(math.NaN()))); nan == nan {
		t.Errorf("NaN becomes %g", nan)
	}
	if low := math.Float32frombits(0x7f800001); BF16(PutBF16Up(low)) == BF16(PutBF16Up(low)) {
		t.Error("a NaN whose payload is cut off stops being one")
	}
}

// TestBF16Up checks that rounding is upwards and to the nearest neighbour there.
func TestBF16Up(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32().Draw(t, "f")
		u := PutBF16Up(f)
		if got := BF16(u); got < f {
			t.Fatalf("%g became less: %g", f, got)
		}
		below := u - 1 // the next bfloat16 towards zero, or away for negatives
		if f < 0 {
			below = u + 1
		}
		if f != 0 && u&0x7fff != 0 && BF16(below) >= f {
			t.Fatalf("%g became %g, but %g is nearer", f, BF16(u), BF16(below))
		}
	})
}
