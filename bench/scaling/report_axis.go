package scaling

import "math"

// axis maps values to places from 0 to 1.
type axis struct {
	label  string
	log    bool
	lo, hi float64
	ticks  []mark
}

// mark is a value that an axis names.
type mark struct {
	at   float64
	text string
}

// place is where a value stands; outside of the axis it is below 0 or above 1.
func (a axis) place(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		if v <= 0 {
			return 0
		}
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	if hi == lo {
		return 0.5
	}
	return (v - lo) / (hi - lo)
}

// listAxis names each of a few values above 0, which stand as far apart as they are by
// factors. values is not empty.
func listAxis(label string, values []int) axis {
	a := axis{label: label, log: true, lo: math.Inf(1), hi: math.Inf(-1)}
	for _, v := range values {
		v = max(v, 1)
		a.lo, a.hi = min(a.lo, float64(v)), max(a.hi, float64(v))
		a.ticks = append(a.ticks, mark{float64(v), thousands(int64(v))})
	}
	// Room at both ends, so that marks do not stand on the frame.
	room := math.Pow(a.hi/a.lo, 0.07)
	if a.hi == a.lo {
		room = 2
	}
	a.lo, a.hi = a.lo/room, a.hi*room
	return a
}

// zeroAxis goes from 0 to above the largest value.
func zeroAxis(label string, values []float64) axis {
	most := 0.0
	for _, v := range values {
		if known(v) {
			most = max(most, v)
		}
	}
	if most == 0 {
		most = 1
	}
	step := stepUp(most / 4)
	a := axis{label: label, hi: step * math.Ceil(most*1.02/step)}
	for i := 0; float64(i)*step <= a.hi*(1+1e-9); i++ {
		a.ticks = append(a.ticks, mark{float64(i) * step, axisNumber(float64(i) * step)})
	}
	return a
}

// spanAxis goes from below the least to above the largest value, which may not be
// above top.
func spanAxis(label string, values []float64, top float64) axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if known(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if math.IsInf(lo, 0) {
		lo, hi = 0, top
	}
	step := stepUp(max(hi-lo, 1e-3) / 4)
	a := axis{label: label, lo: step * math.Floor(lo/step), hi: min(step*math.Ceil(hi/step+1e-9), top)}
	if a.hi <= a.lo {
		a.lo -= step
	}
	for v := a.lo; v <= a.hi+step/1e6; v += step {
		a.ticks = append(a.ticks, mark{v, axisNumber(v)})
	}
	return a
}

// logAxis covers positive values by 1, 2 and 5 times powers of ten, named where
// there is room.
func logAxis(label string, values []float64) axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if known(v) && v > 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if math.IsInf(lo, 0) {
		lo, hi = 1, 10
	}
	a := axis{label: label, log: true, lo: stepDown(lo), hi: stepUp(hi)}
	if a.lo == a.hi {
		a.lo, a.hi = a.lo/2, a.hi*2
	}
	wide := a.hi/a.lo > 2000
	for decade := math.Pow(10, math.Floor(math.Log10(a.lo))); decade <= a.hi*(1+1e-9); decade *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := decade * m; v >= a.lo*(1-1e-9) && v <= a.hi*(1+1e-9) && (m == 1 || !wide) {
				a.ticks = append(a.ticks, mark{v, axisNumber(v)})
			}
		}
	}
	return a
}

// stepUp is 1, 2 or 5 times a power of ten, at least v; stepDown at most v.
func stepUp(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if decade*m >= v*(1-1e-9) {
			return decade * m
		}
	}
	return decade * 10
}

func stepDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)+1e-12))
	for _, m := range []float64{5, 2} {
		if decade*m <= v*(1+1e-9) {
			return decade * m
		}
	}
	return decade
}

// axisNumber writes a number of an axis.
func axisNumber(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return thousands(int64(math.Round(v)))
	case a == 0:
		return "0"
	}
	// As many digits as the value has, up to four.
	for digits := 0; digits < 4; digits++ {
		if s := fixed(v, digits); math.Abs(round(v, digits)-v) < 1e-9 {
			return s
		}
	}
	return fixed(v, 4)
}
