package bench

import (
	"math"
	"strconv"
)

// pow10 holds the powers of ten that float64 represents exactly.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// number reads a JSON number and rounds it once, to the nearest float32. What
// rounds beyond float32's range is a fault, as are NaN, Infinity and every other
// spelling that RFC 8259 lacks.
func (s *jsonScanner) number() (float32, error) {
	s.peek()
	start := s.pos
	neg := s.accept('-')
	intStart := s.pos
	mant, digits := s.digits(0)
	if digits == 0 || digits > 1 && s.line[intStart] == '0' {
		return 0, s.fault(start, "a number")
	}
	exp := 0
	if s.accept('.') {
		var n int
		mant, n = s.digits(mant)
		if n == 0 {
			return 0, s.fault(start, "a number")
		}
		digits += n
		exp = -n
	}
	if s.accept('e') || s.accept('E') {
		negExp := s.accept('-')
		if !negExp {
			s.accept('+')
		}
		e, n := s.digits(0)
		if n == 0 {
			return 0, s.fault(start, "a number")
		}
		if n > 18 { // e may have wrapped; any value out of the exact range will do
			e = 9999
		}
		e = min(e, 9999)
		if negExp {
			exp -= int(e)
		} else {
			exp += int(e)
		}
	}
	if digits <= 19 { // mant did not wrap
		if f, ok := fastFloat32(mant, exp); ok {
			if neg {
				f = -f
			}
			return f, nil
		}
	}
	f, err := strconv.ParseFloat(string(s.line[start:s.pos]), 32)
	if err != nil {
		return 0, s.fault(start, "a number in the range of float32")
	}
	return float32(f), nil
}

// accept consumes c if it is the next byte.
func (s *jsonScanner) accept(c byte) bool {
	if s.pos < len(s.line) && s.line[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// digits consumes decimal digits, appends them to mant (which wraps beyond 19
// digits in all) and returns how many there were.
func (s *jsonScanner) digits(mant uint64) (uint64, int) {
	start := s.pos
	for s.pos < len(s.line) {
		d := s.line[s.pos] - '0'
		if d > 9 {
			break
		}
		mant = mant*10 + uint64(d)
		s.pos++
	}
	return mant, s.pos - start
}

// fastFloat32 returns mant x 10^exp correctly rounded, or false when it cannot tell
// cheaply. The power of ten is exact in float64, so the result there is off by at
// most two roundings, of mant and of the product or quotient, together two units in
// the last place. Rounding that to float32 is right unless the boundary between two
// float32 is that close. The range of exponents keeps the result normal.
func fastFloat32(mant uint64, exp int) (float32, bool) {
	if exp < -22 || exp > 22 {
		return 0, false
	}
	f := float64(mant)
	if exp < 0 {
		f /= pow10[-exp]
	} else {
		f *= pow10[exp]
	}
	const (
		discarded = 1<<29 - 1 // mantissa bits that float32 lacks
		half      = 1 << 28   // their value half way between two float32
		margin    = 4
	)
	low := int64(math.Float64bits(f) & discarded)
	if low >= half-margin && low <= half+margin || f > math.MaxFloat32 {
		return 0, false
	}
	return float32(f), true
}
