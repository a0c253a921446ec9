package scaling

import "math"

// none stands where a figure is not known.
const none = "–"

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// decimal writes a figure that is never zero when it is known with three digits
// that count.
func decimal(v float64) string {
	if !known(v) || v == 0 {
		return none
	}
	return figures(v)
}

// percent writes a share, with a digit after the point.
func percent(v float64) string {
	if !known(v) {
		return none
	}
	return fixed(100*v, 1) + " %"
}

// percentOrNone is percent for a share that is 0 when it is not known.
func percentOrNone(v float64) string {
	if v == 0 {
		return none
	}
	return percent(v)
}

// signed writes a deviation, with its sign.
func signed(v float64) string {
	if known(v) && v > 0 {
		return "+" + percent(v)
	}
	return percent(v)
}

// inMiB writes bytes, 0 for unknown.
func inMiB(n int64) string {
	if n <= 0 {
		return none
	}
	return figures(mebibytes(n))
}
