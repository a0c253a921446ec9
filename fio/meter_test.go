package fio

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRateOfSlices is the reason for the slope: a throttle of 3,000 operations a
// second that lets 300 through every 100 ms, cut at any phase.
func TestRateOfSlices(t *testing.T) {
	for phase := range 10 {
		bins := make([]int64, 100) // one second
		for i := phase; i < len(bins); i += 10 {
			bins[i] = 300
		}
		if got := rate(bins, binWidth); math.Abs(got-3000) > 60 {
			t.Errorf("phase %d: %.0f operations a second, want 3,000", phase, got)
		}
	}
	bins := make([]int64, 75) // 8 slices in 7.5 of them: the quotient is 3,200
	for i := 0; i < len(bins); i += 10 {
		bins[i] = 300
	}
	if got := rate(bins, binWidth); math.Abs(got-3000) > 90 {
		t.Errorf("%.0f operations a second, want 3,000", got)
	}
}

func TestRateOfSteady(t *testing.T) {
	if got := rate(nil, binWidth); got != 0 {
		t.Errorf("no bins: %g", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		bins := make([]int64, rapid.IntRange(1, 300).Draw(t, "bins"))
		per := rapid.Int64Range(0, 1000).Draw(t, "per")
		for i := range bins {
			bins[i] = per
		}
		if got, want := rate(bins, binWidth), float64(per)*100; math.Abs(got-want) > 1e-6*want+1e-9 {
			t.Fatalf("%g, want %g", got, want)
		}
	})
}

// TestMeter counts what ends within the window, and only that.
func TestMeter(t *testing.T) {
	start := time.Unix(1000, 0)
	m := newMeter(start, 30*time.Millisecond)
	for i, c := range []struct {
		end  time.Duration
		took time.Duration
		want bool
	}{
		{-1, time.Millisecond, false},
		{0, time.Millisecond, true},
		{29 * time.Millisecond, 3 * time.Millisecond, true},
		{30 * time.Millisecond, time.Millisecond, false},
	} {
		end := start.Add(c.end)
		if got := m.add(i, end.Add(-c.took), end); got != c.want {
			t.Errorf("end at %v: counted %v", c.end, got)
		}
	}
	if got := m.counts(); len(got) != 3 || got[0] != 1 || got[1] != 0 || got[2] != 1 {
		t.Errorf("bins %v", got)
	}
	l, n := m.latency()
	if n != 2 || math.Abs(l.Mean-2000) > 5 || math.Abs(l.P50-1000) > 2 || math.Abs(l.P999-3000) > 5 {
		t.Errorf("%d operations, %+v", n, l)
	}
}

func TestBusyTime(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"cpu  100 20 30 4000 500 1 2 3 77 88": 156 * 10 * time.Millisecond,
		"cpu  1 1 1 1 1 1 1 1":                60 * time.Millisecond,
		"cpu 1 2":                             0,
		"intr 1 2 3 4 5 6 7 8":                0,
		"cpu  1 x 1 1 1 1 1 1":                0,
		"":                                    0,
	} {
		if got := busyTime(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
