package fio

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// gp3 is a volume as it comes, at 1 ms, with two processors.
var gp3 = VolumeModel{IOPS: 3000, BytesPerSecond: 125 * mib, BaseLatency: 0.001, Processors: 2}

// TestPredict compares with values computed by hand.
func TestPredict(t *testing.T) {
	for _, c := range []struct {
		name    string
		v       VolumeModel
		c       Cost
		clients int
		want    Prediction
	}{
		{
			// 3000/20; 125 MiB / 400 KiB; 2/0.5 ms. Far from a crossing: the lowest.
			"IOPS bind", gp3, Cost{Reads: 20, Bytes: 400 << 10, Waves: 3, CPUTime: 0.0005}, 64,
			Prediction{ByIOPS: 150, ByThroughput: 320, ByCPU: 4000, ByVolume: 150, Binds: ByIOPS, Clients: 64, QPS: 150,
				Latency: 426.67, LatencyFloor: 3},
		},
		{
			// 10 reads of 64 KiB: 125 MiB / 640 KiB.
			"throughput binds", gp3, Cost{Reads: 10, Bytes: 640 << 10, Waves: 2, CPUTime: 0.0005}, 64,
			Prediction{ByIOPS: 300, ByThroughput: 200, ByCPU: 4000, ByVolume: 200, Binds: ByThroughput, Clients: 64, QPS: 200,
				Latency: 320, LatencyFloor: 2},
		},
		{
			"CPU binds", gp3, Cost{Reads: 0.5, Bytes: 4096, Waves: 0.5, CPUTime: 0.004}, 64,
			Prediction{ByIOPS: 6000, ByThroughput: 32000, ByCPU: 500, ByVolume: 6000, Binds: ByCPU, Clients: 64, QPS: 500,
				Latency: 128, LatencyFloor: 0.5},
		},
		{
			"all in memory", gp3, Cost{CPUTime: 0.001}, 1,
			Prediction{ByCPU: 2000, Binds: ByCPU, Clients: 1, QPS: 1000, Latency: 1},
		},
		{"nothing", gp3, Cost{}, 8, Prediction{Clients: 8}},
		{
			// One client, one processor, one place in the volume: 10 ms there, then 10 ms
			// here. G(0) = 1, G(1) = 0.02.
			"one client", VolumeModel{IOPS: 1000, Processors: 1}, Cost{Reads: 10, Bytes: 40960, Waves: 1, CPUTime: 0.01}, 1,
			Prediction{ByIOPS: 100, ByCPU: 100, ByVolume: 100, Binds: ByIOPS, Clients: 1, QPS: 50, Latency: 20},
		},
		{
			// At a crossing of two equal rates of 100, N clients reach 100 N/(N+1):
			// G(n) = (n+1)/100^n.
			"a crossing", VolumeModel{IOPS: 1000, Processors: 1}, Cost{Reads: 10, Bytes: 40960, Waves: 1, CPUTime: 0.01}, 9,
			Prediction{ByIOPS: 100, ByCPU: 100, ByVolume: 100, Binds: ByIOPS, Clients: 9, QPS: 90, Latency: 100},
		},
		{
			// Two processors of 50 each and a volume of 100, two clients: f_cpu = 1, 1/50,
			// 1/(50*100); f_volume = 1, 1/100, 1/100^2. G(1) = 0.03, G(2) = 0.0002+0.0002+0.0001.
			"two processors", VolumeModel{IOPS: 1000, Processors: 2}, Cost{Reads: 10, Bytes: 40960, Waves: 1, CPUTime: 0.02}, 2,
			Prediction{ByIOPS: 100, ByCPU: 100, ByVolume: 100, Binds: ByIOPS, Clients: 2, QPS: 60, Latency: 33.33},
		},
	} {
		if got := Predict(c.v, c.c, c.clients); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// TestPredictDepth has few reads in flight, so that the volume is not full: two
// clients with one read each reach what the sweep found at depth 2.
func TestPredictDepth(t *testing.T) {
	v := gp3
	v.Depths = at(1, 1000, 2, 2000, 4, 3000, 8, 3000)
	c := Cost{Reads: 1, Bytes: 4096, Waves: 1}
	for clients, want := range map[int]float64{1: 1000, 2: 2000, 3: 2500, 4: 3000, 64: 3000} {
		if got := Predict(v, c, clients).QPS; got != want {
			t.Errorf("%d clients: %g, want %g", clients, got, want)
		}
	}
	// Waves of four reads fill it with one client.
	if got := Predict(v, Cost{Reads: 8, Bytes: 8 * 4096, Waves: 2}, 1).QPS; got != 375 {
		t.Errorf("waves of four: %g, want 375", got)
	}
}

// TestRateOfSize has a device whose reads take 1 ms and 1 ms more for 64 KiB.
func TestRateOfSize(t *testing.T) {
	v := VolumeModel{IOPS: 1000, BytesPerSecond: 1e12, Sizes: []Point{
		{Bytes: 4 << 10, IOPS: 1000}, {Bytes: 64 << 10, IOPS: 500}, {Bytes: 128 << 10, IOPS: 250}}}
	for size, want := range map[float64]float64{
		1 << 10:   1000,
		4 << 10:   1000,
		6 << 10:   1000,       // 968: within 5 % of the smallest
		34 << 10:  1000 / 1.5, // halfway between 1 and 2 ms
		64 << 10:  500,        //
		96 << 10:  1000.0 / 3, // halfway between 2 and 4 ms
		512 << 10: 250,        // no further than measured
	} {
		if got := v.rateOfSize(size); math.Abs(got-want) > 0.01 {
			t.Errorf("%g bytes: %g, want %g", size, got, want)
		}
	}
	// The sweep was at the knee, where a cap is not quite reached.
	v.IOPS = 1040
	if got := v.rateOfSize(64 << 10); math.Abs(got-520) > 0.01 {
		t.Errorf("%g, want 520", got)
	}
	v.BytesPerSecond = 64 << 20
	if got := v.rateOfSize(256 << 10); got != 256 {
		t.Errorf("%g, want 256: throughput", got)
	}
}

// TestPredictBounds: never above a ceiling, and never less with more clients.
func TestPredictBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
		v := VolumeModel{IOPS: draw("iops", 100, 300_000), BytesPerSecond: draw("bytes/s", 1e6, 1e10), BaseLatency: 0.001,
			Processors: rapid.IntRange(1, 64).Draw(t, "processors")}
		c := Cost{Reads: draw("reads", 0.01, 1000), Waves: draw("waves", 1, 6), CPUTime: draw("cpu", 1e-5, 0.1)}
		c.Bytes = c.Reads * draw("size", 4096, 262144)
		last := 0.0
		for _, n := range []int{1, 2, 8, 32, 128, 1000} {
			p := Predict(v, c, n)
			top := min(p.ByIOPS, p.ByThroughput, p.ByCPU)
			if !(p.QPS > 0) || p.QPS > top*1.001+0.001 || p.QPS < last-0.002 {
				t.Fatalf("%d clients: %+v after %g", n, p, last)
			}
			last = p.QPS
		}
	})
}

func TestNeed(t *testing.T) {
	c := Cost{Reads: 20, Bytes: 512 << 10, CPUTime: 0.001}
	for _, x := range []struct {
		qps  float64
		want Needs
	}{
		{100, Needs{QPS: 100, IOPS: 2000, MiBps: 50, Processors: 0.1}},
		{200, Needs{QPS: 200, IOPS: 4000, MiBps: 100, Processors: 0.2, Missing: ByIOPS}},
		{3000, Needs{QPS: 3000, IOPS: 60000, MiBps: 1500, Processors: 3, Missing: ByCPU}},
	} {
		if got := Need(gp3, c, x.qps); got != x.want {
			t.Errorf("%+v, want %+v", got, x.want)
		}
	}
	v := gp3
	v.IOPS = 80_000
	if got := Need(v, c, 300).Missing; got != ByThroughput {
		t.Errorf("missing %q", got)
	}
}

// TestCorrected: the base knows ten queries, the cell the four cheapest. Each
// costs three times as much in the cell, plus one.
func TestCorrected(t *testing.T) {
	var base, cell loopResult
	base.mu.works, cell.mu.works = map[int64]Cost{}, map[int64]Cost{}
	for i := range int64(10) {
		b := Cost{Reads: float64(i), Bytes: float64(100 * i), Waves: 2}
		base.mu.works[i] = b
		if i < 4 {
			cell.mu.works[i] = Cost{Reads: 3*b.Reads + 1, Bytes: 2 * b.Bytes, Waves: 3}
		}
	}
	part := mean(cell.mu.works, func(int64) bool { return true })
	part.CPUTime = 0.001
	want := Cost{Reads: 14.5, Bytes: 900, Waves: 3, CPUTime: round(0.001*14.5/5.5, 6)}
	if got := cell.corrected(part, &base); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := base.corrected(part, &cell); got != part {
		t.Errorf("by fewer queries: %+v", got)
	}
	if got := cell.corrected(part, nil); got != part {
		t.Errorf("without a base: %+v", got)
	}
}
