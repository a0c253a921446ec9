package scaling

import (
	"flag"
	"math"
	"math/rand/v2"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/iopath"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeMachine is what fake reports were made on.
var fakeMachine = bench.Machine{CPU: "Fake CPU @ 2.0GHz", Cores: 2, Kernels: "avx512", System: "Linux 6.1 amd64", Go: "go1.26"}

// fakeReport is as a report of these axes looks, with rates that follow from the
// costs of queries and a little noise. seconds is the length of a run.
func fakeReport(a Axes, seconds int) *Report {
	rng := rand.New(rand.NewPCG(1, 2))
	settings := a.Settings()
	runs := make([]Result, len(settings))
	for i, s := range settings {
		runs[i] = fakeRun(s, seconds, rng)
	}
	cfg := Config{Command: "sprat bench iops --data store --index bench/scaling"}
	return assemble(&cfg, Experiment{
		Set: "clustered768", Vectors: 300_000, Dimension: 768, Metric: "cosine", Queries: 1000, K: 10, RecallBy: "distance", Parameters: "1 bit",
		WarmupSeconds: 3, WindowSeconds: float64(seconds), MemoryLimit: 384 << 20, CgroupMemory: 512 << 20, Direct: "auto", Machine: fakeMachine,
	}, "cgroup v1", runs, []string{"device sda"})
}

func fakeRun(s Setting, seconds int, rng *rand.Rand) Result {
	noise := func(v, share float64) float64 { return round(v*(1+share*(2*rng.Float64()-1)), 3) }
	probe, rescore := float64(s.SearchProbe), float64(s.RescoreLimit)
	reads, cpu := 3+probe/16+rescore/25, 0.35+probe/180+rescore/700
	if !s.StopRules {
		reads, cpu = probe+rescore/3, cpu*2
	}
	if s.Engine != iopath.IOUring {
		cpu *= 1.3
	}
	kib := 14 * reads
	limit := Limit{IOPS: noise(float64(s.Volume.IOPS), 0.01), MiBps: noise(float64(s.Volume.MiBps), 0.01), BaseLatency: 0.21,
		Depths: []Point{{1, block, 900}, {16, block, 12_000}}, Sizes: []Point{{128, block, 3_000}}}
	volume := min(limit.IOPS/reads, limit.MiBps*1024/kib)
	processors := 2000 / cpu
	// Near a crossing neither ceiling is reached.
	qps := noise(math.Pow(math.Pow(volume, -8)+math.Pow(processors, -8), -1.0/8)*min(1, float64(s.Clients)/12), 0.03)
	recall := round(1-0.3*math.Exp(-probe/45)-0.02*math.Exp(-rescore/120), 4)
	mean := 1000 * float64(s.Clients) / qps
	r := Result{Setting: s, Limit: limit, IOEngine: s.Engine, DirectIO: s.Engine != iopath.Mmap, KiBPerRead: 14, IOPS: round(qps*reads, 1),
		MiBps: round(qps*kib/1024, 1), DeviceIOPS: round(qps*reads, 1), InFlight: min(64, float64(s.Clients)*2), Device: 8,
		Utilised: 0.97, CPU: round(qps*cpu/1000, 3), CPUShare: round(qps*cpu/2000, 3), Machine: 1.9, CgroupMean: 440 << 20, CgroupPeak: 470 << 20,
		RSSMean: 330 << 20, HeapMean: 60 << 20,
		Load: &bench.WorkloadReport{Queries: int64(qps) * int64(seconds), K: 10, Clients: s.Clients, Seconds: float64(seconds), Recall: &recall, QPS: qps,
			Latency:       bench.LatencyMS{Mean: round(mean, 2), P50: round(mean*0.9, 2), P95: round(mean*1.6, 2), P99: round(mean*2.2, 2), Max: round(mean*4, 2)},
			ReadsPerQuery: reads, PostingReadsPerQuery: reads / 2, RecordReadsPerQuery: reads / 2, KiBPerQuery: kib, WavesPerQuery: 4, ProbesPerQuery: probe,
			CodesPerQuery: 300 * probe, CPUMSPerQuery: round(cpu, 4), RSSMiB: 330, RSSPeakMiB: 341}}
	r.ShareOfLimit = round(max(ratioOf(r.IOPS, limit.IOPS), ratioOf(r.MiBps, limit.MiBps)), 4)
	for i := range seconds {
		r.Samples = append(r.Samples, Sample{Second: float64(i + 1), QPS: noise(qps, 0.05), ReadIOPS: min(noise(r.IOPS, 0.05), limit.IOPS*1.01),
			ReadMiBps: r.MiBps, Device: 8, InFlight: r.InFlight, Utilised: 0.97, CPU: r.CPU, Machine: 1.9,
			Cgroup: (430 + int64(rng.IntN(40))) << 20, RSS: (320 + int64(rng.IntN(20))) << 20, Heap: (45 + int64(rng.IntN(30))) << 20})
	}
	return r
}

// smallReport is the report of the golden files: written by hand, with figures that
// are easy to follow.
func smallReport() *Report {
	recall := func(v float64) *float64 { return &v }
	run := func(s Setting, r float64, qps, reads, cpu float64) Result {
		limit := Limit{IOPS: 3000, MiBps: 125, BaseLatency: 0.25}
		return Result{Setting: s, Limit: limit, IOEngine: s.Engine, DirectIO: true, KiBPerRead: 16, IOPS: qps * reads, MiBps: qps * reads / 64,
			ShareOfLimit: round(qps*reads/3000, 4), DeviceIOPS: qps * reads, InFlight: 32, Device: 30, Utilised: 0.99, CPU: qps * cpu / 1000,
			CPUShare: qps * cpu / 2000, Machine: 1, CgroupMean: 200 << 20, CgroupPeak: 220 << 20, RSSMean: 150 << 20, HeapMean: 40 << 20,
			Load: &bench.WorkloadReport{Queries: int64(2 * qps), K: 10, Clients: s.Clients, Seconds: 2, Recall: recall(r), QPS: qps,
				Latency:       bench.LatencyMS{Mean: 100, P50: 90, P95: 150, P99: 200, Max: 250},
				ReadsPerQuery: reads, KiBPerQuery: 16 * reads, WavesPerQuery: 3, CPUMSPerQuery: cpu},
			Samples: []Sample{{Second: 1, QPS: qps, ReadIOPS: 2900, RSS: 150 << 20, Heap: 30 << 20, Cgroup: 200 << 20},
				{Second: 2, QPS: qps, ReadIOPS: 2990, RSS: 151 << 20, Heap: 50 << 20, Cgroup: 210 << 20}}}
	}
	set := func(engine string, clients, probe int) Setting {
		return Setting{Volume: Volume{3000, 125}, Engine: engine, Clients: clients, SearchProbe: probe, RescoreLimit: 100, StopRules: true}
	}
	runs := []Result{
		run(set(iopath.IOUring, 32, 128), 0.988, 150, 19.5, 1.5),
		run(set(iopath.IOUring, 32, 64), 0.976, 290, 10, 1),
		run(set(iopath.IOUring, 128, 64), 0.976, 287.1, 10, 1),
		run(set(iopath.Pread, 32, 64), 0.976, 280, 10, 1.25),
	}
	runs[1].Prediction = &Prediction{From: "3000/125 io_uring, 128 clients, probe 64, rescore 100, rules on", ByIOPS: 300, ByThroughput: 800,
		ByCPU: 2000, Ceiling: 300, Binds: "IOPS", QPS: 295, Error: 0.0172, Near: true, Judged: true}
	runs[2].Prediction = &Prediction{From: "3000/125 io_uring, 32 clients, probe 64, rescore 100, rules on", ByIOPS: 300, ByThroughput: 800,
		ByCPU: 2000, Ceiling: 300, Binds: "IOPS", QPS: 299, Error: 0.0414, Near: true, Judged: true}
	return &Report{SchemaVersion: SchemaVersion, Command: "sprat bench iops", Throttle: "cgroup v2", Runs: runs, Flat: flat(runs),
		Predicted: summarise(runs), Notes: []string{"a note"},
		Experiment: Experiment{Set: "clustered768", Vectors: 300_000, Dimension: 768, Metric: "cosine", Queries: 100, K: 10, RecallBy: "distance",
			WarmupSeconds: 1, WindowSeconds: 2, MemoryLimit: 256 << 20, CgroupMemory: 512 << 20, CacheBytes: -1, Direct: "auto", Machine: fakeMachine}}
}
