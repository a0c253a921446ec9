package fio

import "math"

// Derived is what the measurements say about the volume as the store's engine
// sees it.
type Derived struct {
	Engine string `json:"engine"` // io_uring or pread
	Direct bool   `json:"direct"`

	IOPS            float64 `json:"iops"`                // cap, 4 KiB random reads
	MiBps           float64 `json:"mib_per_second"`      // cap
	BalancedBytes   int     `json:"balanced_read_bytes"` // size at which both caps bind
	SaturationBytes int     `json:"saturation_bytes"`    // smallest size measured that reaches 95 % of the throughput cap; 0 when none
	BaseLatency     float64 `json:"base_latency_us"`     // median of a read alone
	Knee            int     `json:"knee_depth"`          // smallest depth at 95 % of the plateau
	LittleDepth     float64 `json:"little_depth"`        // IOPS x base latency: what the knee should be near
	Depth           int     `json:"recommended_depth"`   // reads to keep in flight
	// DeeperLatency is what a read waits, in microseconds, at four times the
	// recommended depth, where the rate is the same: depth / IOPS.
	DeeperLatency float64 `json:"deeper_latency_us"`
}

// reached is the share of a cap that counts as having reached it.
const reached = 0.95

// plateau is the rate that a sweep levels off at: the mean of the points within
// 5 % of the second best. The best alone may be an accident of a short window.
func plateau(points []Point) float64 {
	var best, second float64
	for _, p := range points {
		if p.IOPS > best {
			best, second = p.IOPS, best
		} else {
			second = max(second, p.IOPS)
		}
	}
	if len(points) == 1 {
		second = best
	}
	sum, n := 0.0, 0.0
	for _, p := range points {
		if math.Abs(p.IOPS-second) <= agreement*second {
			sum, n = sum+p.IOPS, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// kneeOf is the smallest depth that reaches 95 % of a rate; the deepest when
// none does.
func kneeOf(points []Point, rate float64) int {
	knee := 1
	for _, p := range points {
		knee = p.Depth
		if p.IOPS >= reached*rate {
			break
		}
	}
	return knee
}

// recommended is the number of reads to keep in flight: 1.75 times the knee,
// rounded up, and no more than twice.
func recommended(knee int) int { return (7*knee + 3) / 4 }

// throughputOf is the most MiB/s of a sweep of sizes: the second best, since the
// best alone may be an accident of a short window.
func throughputOf(points []Point) float64 {
	var best, second float64
	for _, p := range points {
		if p.MiBps > best {
			best, second = p.MiBps, best
		} else {
			second = max(second, p.MiBps)
		}
	}
	return second
}

// saturation is the smallest size that reaches 95 % of a throughput, 0 when none
// does.
func saturation(points []Point, mibps float64) int {
	for _, p := range points {
		if p.MiBps >= reached*mibps {
			return p.Bytes
		}
	}
	return 0
}

// capOf is a cap by short runs and by a longer one, which is more exact, unless
// it is so much lower that something must have disturbed it.
func capOf(short, longer float64) float64 {
	if longer >= (1-cliff)*short {
		return longer
	}
	return short
}

// balancedBlocks is the balanced size in whole blocks, 0 when it is one of those
// measured or outside of them.
func balancedBlocks(points []Point, iops float64) int {
	if len(points) == 0 || iops <= 0 {
		return 0
	}
	size := int(throughputOf(points)*mib/iops) / block * block
	for _, p := range points {
		if p.Bytes == size {
			return 0
		}
	}
	if size < points[0].Bytes || size > points[len(points)-1].Bytes {
		return 0
	}
	return size
}

func derive(main EngineReport, sizes []Point, large *Point, s *Sustained) Derived {
	d := Derived{Engine: main.Engine, Direct: main.Direct, Knee: main.Knee, Depth: recommended(main.Knee)}
	d.IOPS = main.Plateau
	if s != nil && s.BurstLimited {
		d.IOPS = s.Last
	} else if s != nil {
		d.IOPS = capOf(main.Plateau, s.Mean)
	}
	d.MiBps = throughputOf(sizes)
	if large != nil {
		d.MiBps = capOf(d.MiBps, large.MiBps)
	}
	d.SaturationBytes = saturation(sizes, d.MiBps)
	if d.IOPS > 0 {
		d.BalancedBytes = int(math.Round(d.MiBps * mib / d.IOPS))
		d.DeeperLatency = micros(4 * float64(d.Depth) / d.IOPS * 1e6)
	}
	if len(main.Depths) > 0 && main.Depths[0].Depth == 1 {
		d.BaseLatency = main.Depths[0].Latency.P50
	}
	d.LittleDepth = round(d.IOPS*d.BaseLatency/1e6, 2)
	return d
}

// Sustained is a run that is long enough to exhaust a burst allowance, cut into
// windows of equal length.
type Sustained struct {
	Depth        int       `json:"depth"`
	Seconds      float64   `json:"seconds"`
	Window       float64   `json:"window_seconds"`
	IOPS         []float64 `json:"iops"` // of each window
	Mean         float64   `json:"mean_iops"`
	First        float64   `json:"first_third_iops"`
	Last         float64   `json:"last_third_iops"`
	BurstLimited bool      `json:"burst_limited"` // the last third is more than 10 % below the first, in a run of 9 s or more
	Latency      Latency   `json:"latency"`
}

// cliff is how far the last third of a run is below the first when a burst
// allowance has run out.
const cliff = 0.10

// leastForCliff is how long a run must be, in seconds, for its thirds to tell a
// cliff from the noise of a machine.
const leastForCliff = 9

// windows cuts the bins of a run into n windows of equal length.
func windows(m measured, depth, n int) *Sustained {
	per := max(len(m.bins)/n, 1)
	s := &Sustained{Depth: depth, Window: round(float64(per)*binWidth.Seconds(), 2), Latency: m.latency}
	for i := 0; i+per <= len(m.bins) && len(s.IOPS) < n; i += per {
		s.IOPS = append(s.IOPS, round(rate(m.bins[i:i+per], binWidth), 1))
	}
	s.Seconds = round(float64(len(m.bins))*binWidth.Seconds(), 2)
	s.Mean = round(rate(m.bins, binWidth), 1)
	fell := false
	s.First, s.Last, fell = cliffOf(s.IOPS)
	s.BurstLimited = fell && s.Seconds >= leastForCliff
	return s
}

// cliffOf compares the first third of a run with the last.
func cliffOf(rates []float64) (first, last float64, fell bool) {
	third := len(rates) / 3
	if third == 0 {
		return 0, 0, false
	}
	for i := range third {
		first += rates[i] / float64(third)
		last += rates[len(rates)-1-i] / float64(third)
	}
	return round(first, 1), round(last, 1), last < (1-cliff)*first
}
