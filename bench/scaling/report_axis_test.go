package scaling

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestAxes: every value has a place on its axis, and every tick, too.
func TestAxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1e-3, 1e7), 1, 8).Draw(t, "values")
		whole := make([]int, len(values))
		for i, v := range values {
			whole[i] = int(v) + 1
		}
		for name, a := range map[string]axis{"zero": zeroAxis("", values), "log": logAxis("", values), "span": spanAxis("", values, math.Inf(1)),
			"list": listAxis("", whole)} {
			for i, v := range values {
				if name == "list" {
					v = float64(whole[i])
				}
				if p := a.place(v); !(p >= -1e-9 && p <= 1+1e-9) {
					t.Fatalf("%s: %g stands at %g of %+v", name, v, p, a)
				}
			}
			if len(a.ticks) == 0 || len(a.ticks) > 40 {
				t.Fatalf("%s has %d ticks", name, len(a.ticks))
			}
			for _, m := range a.ticks {
				if p := a.place(m.at); !(p >= -1e-6 && p <= 1+1e-6) || m.text == "" {
					t.Fatalf("%s: tick %+v stands at %g", name, m, p)
				}
			}
		}
	})
}

func TestAxisNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 0.9: "0.9", 1: "1", 2.5: "2.5", 12_000: "12,000", -0.5: "-0.5"} {
		if got := axisNumber(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

func TestThinned(t *testing.T) {
	var points []point
	for i := range 100 {
		points = append(points, point{x: float64(i), y: float64(i), gap: i%25 == 24})
	}
	out := thinned(points, 20, highest)
	if len(out) != 20 || out[0].x != 2 || out[0].y != 4 || !out[4].gap || out[5].y != 29 {
		t.Errorf("%d points: %+v", len(out), out)
	}
	if same := thinned(points, 100, mean); len(same) != 100 {
		t.Errorf("%d points", len(same))
	}
}
