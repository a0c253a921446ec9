package vecbin

import "math"

// FromHalf returns the value of the IEEE 754 binary16 number h. Every half,
// subnormals, infinities and NaNs included, has an exact float32 value.
func FromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 0x1f
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0:
		// Zero or subnormal: fraction * 2^-24, exact in float32.
		value := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(value) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	// 127-15 re-biases the exponent.
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// ToHalf returns the binary16 number nearest to f, ties to the even one.
// Magnitudes of 65520 and above become infinity, below 2^-25 zero; a NaN stays
// a NaN.
func ToHalf(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits>>16) & 0x8000
	magnitude := bits & 0x7fffffff
	switch {
	case magnitude > 0x7f800000: // NaN: keep it one, whatever its payload
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // 65520 rounds to the first value out of range
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2^-14: subnormal, in units of 2^-24
		units := math.Float32frombits(magnitude) * 0x1p24
		return sign | uint16(math.RoundToEven(float64(units)))
	}
	// Adding half an ulp, less one unless the kept part is odd, rounds to
	// nearest even; a carry runs into the exponent, which is what is wanted.
	odd := magnitude >> 13 & 1
	magnitude += 0xfff + odd
	return sign | uint16(magnitude>>13-112<<10)
}
