package fio

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at makes points of depths and rates.
func at(pairs ...float64) []Point {
	var out []Point
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Point{Depth: int(pairs[i]), Bytes: block, IOPS: pairs[i+1]})
	}
	return out
}

func TestPlateauAndKnee(t *testing.T) {
	for _, c := range []struct {
		name    string
		points  []Point
		plateau float64
		knee    int
	}{
		{"gp3 at 1 ms", at(1, 1000, 2, 2000, 4, 2990, 8, 3000, 16, 3010), 3000, 4},
		{"an accident at depth 1", at(1, 3700, 4, 3000, 16, 3000, 64, 3000), 3000, 1},
		{"never level", at(1, 100, 2, 200, 4, 400), 200, 2},
		{"falls when deep", at(1, 20, 8, 42, 32, 43, 1024, 18), 42.5, 8},
		{"one point", at(16, 500), 500, 16},
		{"none", nil, 0, 1},
	} {
		got := plateau(c.points)
		if got != c.plateau || kneeOf(c.points, got) != c.knee {
			t.Errorf("%s: plateau %g, knee %d, want %g, %d", c.name, got, kneeOf(c.points, got), c.plateau, c.knee)
		}
	}
}

// TestRecommended: 1.5 to 2 times the knee.
func TestRecommended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		knee := rapid.IntRange(1, 1024).Draw(t, "knee")
		if d := recommended(knee); 2*d < 3*knee || d > 2*knee {
			t.Fatalf("knee %d: %d", knee, d)
		}
	})
}

func TestDerive(t *testing.T) {
	main := EngineReport{Engine: "io_uring", Direct: true, Plateau: 3000, Knee: 4,
		Depths: []Point{{Depth: 1, Bytes: block, IOPS: 1000, Latency: Latency{Mean: 1100, P50: 1000}}}}
	sizes := []Point{{Bytes: 4 << 10, MiBps: 11.7}, {Bytes: 48 << 10, MiBps: 139}, {Bytes: 256 << 10, MiBps: 124}} // 139 is an accident
	steady := &Sustained{Mean: 3010, First: 3010, Last: 3010}
	got := derive(main, sizes, &Point{MiBps: 125}, steady)
	want := Derived{Engine: "io_uring", Direct: true, IOPS: 3010, MiBps: 125, BalancedBytes: 43546, SaturationBytes: 48 << 10,
		BaseLatency: 1000, Knee: 4, LittleDepth: 3.01, Depth: 7, DeeperLatency: 9302.3}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		name string
		s    *Sustained
		iops float64
	}{
		{"no longer run", nil, 3000},
		{"a disturbed one", &Sustained{Mean: 1000}, 3000},
		{"a burst that ends", &Sustained{Mean: 2500, First: 3000, Last: 1000, BurstLimited: true}, 1000},
	} {
		if got := derive(main, sizes, nil, c.s).IOPS; got != c.iops {
			t.Errorf("%s: %g IOPS, want %g", c.name, got, c.iops)
		}
	}
	if d := derive(EngineReport{}, nil, nil, nil); d.BalancedBytes != 0 || d.DeeperLatency != 0 {
		t.Errorf("nothing measured: %+v", d)
	}
}

func TestBalancedBlocks(t *testing.T) {
	points := []Point{{Bytes: 4 << 10, MiBps: 11.7}, {Bytes: 32 << 10, MiBps: 94}, {Bytes: 128 << 10, MiBps: 125}, {Bytes: 256 << 10, MiBps: 125}}
	for iops, want := range map[float64]int{
		3000:    40 << 10, // 42.7 KiB
		4000:    0,        // 32 KiB is there
		100:     0,        // 1,280 KiB: larger than any
		100_000: 0,        // smaller than a block
		0:       0,
	} {
		if got := balancedBlocks(points, iops); got != want {
			t.Errorf("%g IOPS: %d, want %d", iops, got, want)
		}
	}
	if got := balancedBlocks(nil, 1000); got != 0 {
		t.Errorf("no points: %d", got)
	}
}

func TestCliff(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		fell  bool
	}{
		{[]float64{100, 100, 100, 100, 100, 89}, false}, // 94.5 on average
		{[]float64{100, 100, 100, 100, 89, 89}, true},
		{[]float64{100, 100, 100, 91, 91, 91}, false},
		{[]float64{50, 50, 50, 100, 100, 100}, false},
		{[]float64{100, 1}, false},
		{nil, false},
	} {
		if _, _, fell := cliffOf(c.rates); fell != c.fell {
			t.Errorf("%v: %v", c.rates, fell)
		}
	}
	run := func(bins int) measured {
		m := measured{bins: make([]int64, bins)}
		for i := range m.bins {
			m.bins[i] = choose[int64](i < bins/2, 30, 10)
		}
		return m
	}
	s := windows(run(1200), 7, 12)
	if len(s.IOPS) != 12 || !s.BurstLimited || s.First != 3000 || s.Last != 1000 || s.Window != 1 || s.Seconds != 12 {
		t.Errorf("a burst of 6 s: %+v", s)
	}
	if s := windows(run(120), 7, 12); s.BurstLimited {
		t.Errorf("a run of 1.2 s cannot tell: %+v", s)
	}
}

// TestSweep: all points in each round, then those that do not agree, no more
// often than allowed.
func TestSweep(t *testing.T) {
	answers := map[int][]float64{1: {100, 101}, 2: {100, 150, 152, 1}, 4: {100, 200, 300, 400, 1}}
	var order []int
	s := sweep{points: atDepths([]int{1, 2, 4}), rounds: 2, extra: 2, until: time.Now().Add(time.Hour), step: func(Point, int) {}}
	got, err := s.run(t.Context(), func(_ context.Context, depth, bytes int) (Point, error) {
		order = append(order, depth)
		p := Point{Depth: depth, Bytes: bytes, IOPS: answers[depth][0], Rounds: 1}
		answers[depth] = answers[depth][1:]
		return p, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 4, 1, 2, 4, 2, 4, 4}; !slices.Equal(order, want) {
		t.Errorf("measured %v, want %v", order, want)
	}
	want := []struct {
		iops   float64
		rounds int
		agree  bool
	}{{100.5, 2, true}, {151, 3, true}, {350, 4, false}}
	for i, w := range want {
		if p := got[i]; p.IOPS != w.iops || p.Rounds != w.rounds || p.Agree != w.agree {
			t.Errorf("depth %d: %+v, want %+v", p.Depth, p, w)
		}
	}
}

// TestSweepBounds: time that is up ends it after the first round, an error at
// once.
func TestSweepBounds(t *testing.T) {
	count := 0
	s := sweep{points: ofSizes([]int{4096, 8192}, 3), rounds: 3, until: time.Now().Add(-time.Hour), step: func(Point, int) {}}
	got, err := s.run(t.Context(), func(_ context.Context, depth, bytes int) (Point, error) {
		count++
		return Point{Depth: depth, Bytes: bytes, Rounds: 1}, nil
	})
	if err != nil || count != 2 || !reflect.DeepEqual(got, []Point{{Depth: 3, Bytes: 4096, Rounds: 1}, {Depth: 3, Bytes: 8192, Rounds: 1}}) {
		t.Errorf("%d measurements: %+v, %v", count, got, err)
	}
	broken := errors.New("broken")
	if _, err := s.run(t.Context(), func(context.Context, int, int) (Point, error) { return Point{}, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
