package scaling

import (
	"math"
	"strconv"
)

// round rounds to a number of digits after the point. What is no number becomes 0,
// which JSON can hold.
func round(v float64, digits int) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// ratioOf is a/b, 0 where there is nothing to divide by.
func ratioOf(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// thousands writes a whole number with commas between groups of three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }

// fixed writes a number with so many digits after the point.
func fixed(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// figures writes a number with three digits that count, and groups them.
func figures(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return thousands(int64(math.Round(v)))
	case a >= 10:
		return fixed(v, 1)
	default:
		return fixed(v, 2)
	}
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
