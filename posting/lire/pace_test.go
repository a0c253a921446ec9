package lire

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var redraw = flag.Bool("redraw", false, "rewrite testdata/pace.golden")

// TestPaceGolden draws the curve: a change of how writers are slowed is a diff.
func TestPaceGolden(t *testing.T) {
	var b strings.Builder
	b.WriteString("debt   delay of a vector\n")
	for i := range 23 {
		debt := float64(i) / 20
		d := Pace(debt)
		if d == Block {
			fmt.Fprintf(&b, "%.2f    block  %s|\n", debt, strings.Repeat("#", 40))
			continue
		}
		fmt.Fprintf(&b, "%.2f  %4d µs  %s\n", debt, d.Microseconds(), strings.Repeat("#", int(40*d/maxPace)))
	}
	const path = "testdata/pace.golden"
	if *redraw {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the curve is now\n%s", b.String())
	}
}

func TestPaceRisesSmoothly(t *testing.T) {
	last := Pace(0)
	for i := range 10_000 {
		d := Pace(float64(i) / 10_000)
		if d < last || d-last > maxPace/1000 || d > maxPace {
			t.Fatalf("from %v to %v at a debt of %v", last, d, float64(i)/10_000)
		}
		last = d
	}
	for debt, want := range map[float64]bool{math.Inf(1): true, 1: true, 7: true, -1: false, math.Inf(-1): false} {
		if (Pace(debt) == Block) != want || !want && Pace(debt) != 0 {
			t.Errorf("at a debt of %v the delay is %v", debt, Pace(debt))
		}
	}
	if Pace(math.NaN()) != 0 {
		t.Error("an unknown debt slows writers")
	}
}

func TestDebt(t *testing.T) {
	cases := []struct {
		b    Backlog
		want float64
	}{
		{Backlog{}, 0},
		{Backlog{DeltaBytes: 5, DeltaLimit: 10, LandingBytes: 1, LandingLimit: 10, Oversized: 1, OversizedLimit: 10}, 0.5},
		{Backlog{DeltaBytes: 1, DeltaLimit: 10, LandingBytes: 6, LandingLimit: 10, Oversized: 1, OversizedLimit: 10}, 0.6},
		{Backlog{DeltaBytes: 1, DeltaLimit: 10, LandingBytes: 1, LandingLimit: 10, Oversized: 70, OversizedLimit: 10}, 7},
		{Backlog{DeltaBytes: 100, LandingBytes: 100, Oversized: 100}, 0},
		{Backlog{DeltaBytes: -3, DeltaLimit: 10}, 0},
	}
	for _, c := range cases {
		if got := c.b.Debt(); got != c.want {
			t.Errorf("%+v: debt %v, want %v", c.b, got, c.want)
		}
	}
}
