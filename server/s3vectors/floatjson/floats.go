package floatjson

import (
	"math"
	"strconv"
	"unsafe"
)

// decimal is a number as it is written: mantissa * 10^exponent, when exact.
type decimal struct {
	mantissa uint64
	exponent int
	negative bool
	exact    bool // all digits are in the mantissa, the exponent is true
}

// maxDigits is how many digits a uint64 always holds.
const maxDigits = 19

// number steps over a number and takes its digits.
func (s *Scanner) number() (d decimal, ok bool) {
	data, i := s.data, s.pos
	if i < len(data) && data[i] == '-' {
		d.negative = true
		i++
	}
	first := i
	for i < len(data) && data[i]-'0' <= 9 {
		d.mantissa = d.mantissa*10 + uint64(data[i]-'0')
		i++
	}
	digits := i - first
	if digits == 0 || digits > 1 && data[first] == '0' {
		return d, false
	}
	if i < len(data) && data[i] == '.' {
		i++
		point := i
		for i < len(data) && data[i]-'0' <= 9 {
			d.mantissa = d.mantissa*10 + uint64(data[i]-'0')
			i++
		}
		if i == point {
			return d, false
		}
		d.exponent = point - i
		digits += i - point
	}
	d.exact = digits <= maxDigits
	if i < len(data) && data[i]|0x20 == 'e' {
		var e int
		if e, i, ok = exponent(data, i+1); !ok {
			return d, false
		}
		d.exponent += e
	}
	s.pos = i
	return d, true
}

// exponent reads what follows the e of a number that starts at data[i]. One beyond
// any float is cut at a size that still is.
func exponent(data []byte, i int) (e, end int, ok bool) {
	negative := false
	if i < len(data) && (data[i] == '-' || data[i] == '+') {
		negative = data[i] == '-'
		i++
	}
	first := i
	for i < len(data) && data[i]-'0' <= 9 {
		if e < 1<<24 {
			e = e*10 + int(data[i]-'0')
		}
		i++
	}
	if negative {
		e = -e
	}
	return e, i, i > first
}

// exactPowers are the powers of ten that a float64 holds exactly.
var exactPowers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// float32 is the float32 nearest to the decimal, where that can be told from one
// float64 operation.
//
// The mantissa becomes a float64 (error at most half a unit in the last place) and is
// multiplied or divided by an exact power (another half), so the float64 is within
// two units of the true value. Its 52 bits of fraction exceed those of a float32 by
// 29: unless they are near the middle between two float32, where two units could
// decide, rounding the float64 rounds the true value.
func (d decimal) float32() (x float32, ok bool) {
	if !d.exact || d.exponent < -22 || d.exponent > 22 {
		return 0, false
	}
	wide := float64(d.mantissa)
	if d.exponent < 0 {
		wide /= exactPowers[-d.exponent]
	} else {
		wide *= exactPowers[d.exponent]
	}
	const middle, slack = 1 << 28, 4
	if low := math.Float64bits(wide) & (1<<29 - 1); low-(middle-slack) <= 2*slack {
		return 0, false
	}
	if d.mantissa != 0 && (wide < 0x1p-125 || wide > 0x1p127) {
		return 0, false // subnormal, or near the largest
	}
	if d.negative {
		wide = -wide
	}
	return float32(wide), true
}

// Float32 reads a number, or one of the strings "NaN", "Infinity" and "-Infinity".
func (s *Scanner) Float32() (float32, error) {
	s.space()
	at := s.pos
	if at < len(s.data) && s.data[at] == '"' {
		return s.notFinite()
	}
	d, ok := s.number()
	if !ok {
		return 0, s.fail("no number")
	}
	if x, ok := d.float32(); ok {
		return x, nil
	}
	// The string is not kept; strconv reports ranges by an infinite value.
	text := unsafe.String(&s.data[at], s.pos-at)
	x, _ := strconv.ParseFloat(text, 32)
	return float32(x), nil
}

func (s *Scanner) notFinite() (float32, error) {
	switch word, err := s.String(); {
	case err != nil:
		return 0, err
	case word == "NaN":
		return float32(math.NaN()), nil
	case word == "Infinity":
		return float32(math.Inf(1)), nil
	case word == "-Infinity":
		return float32(math.Inf(-1)), nil
	}
	return 0, s.fail("no number")
}

// Float32s reads an array of numbers and appends them to dst, of which it keeps at
// most limit. n is how many there were.
func (s *Scanner) Float32s(dst []float32, limit int) (out []float32, n int, err error) {
	if err := s.enter('['); err != nil {
		return dst, 0, err
	}
	if s.take(']') {
		s.depth--
		return dst, 0, nil
	}
	for {
		x, err := s.Float32()
		if err != nil {
			return dst, n, err
		}
		if n < limit {
			dst = append(dst, x)
		}
		n++
		if s.take(',') {
			continue
		}
		if s.take(']') {
			s.depth--
			return dst, n, nil
		}
		return dst, n, s.fail("no comma and no ]")
	}
}

// AppendFloat32 appends a finite x with the fewest digits that name it among all
// float32.
func AppendFloat32(dst []byte, x float32) []byte { return appendFloat(dst, float64(x), 32) }

// AppendWide appends a finite x with the fewest digits that name it among all
// float64, as Amazon S3 Vectors writes it.
func AppendWide(dst []byte, x float32) []byte { return appendFloat(dst, float64(x), 64) }

// appendFloat writes numbers of usual size in full and others with an exponent. JSON
// has nothing for what is not finite: that is null.
func appendFloat(dst []byte, x float64, bits int) []byte {
	abs := math.Abs(x)
	switch {
	case !(abs <= math.MaxFloat64):
		return append(dst, "null"...)
	case abs != 0 && (abs < 1e-5 || abs >= 1e16):
		return strconv.AppendFloat(dst, x, 'e', -1, bits)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, x, 'f', -1, bits)
	for _, c := range dst[at:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// AppendFloat32s appends an array. wide chooses AppendWide.
func AppendFloat32s(dst []byte, xs []float32, wide bool) []byte {
	bits := 32
	if wide {
		bits = 64
	}
	dst = append(dst, '[')
	for i, x := range xs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, float64(x), bits)
	}
	return append(dst, ']')
}
