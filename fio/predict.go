package fio

import "math"

// Cost is what a query takes, on average.
type Cost struct {
	Reads   float64 `json:"reads"` // operations of the volume
	Bytes   float64 `json:"bytes"`
	Waves   float64 `json:"waves"`       // of reads, one after the other
	CPUTime float64 `json:"cpu_seconds"` // of the process, with many queries at one time
}

// VolumeModel is what predictions are made from.
type VolumeModel struct {
	IOPS           float64 // cap
	BytesPerSecond float64 // cap
	BaseLatency    float64 // seconds, of a read alone
	Processors     int
	Depths         []Point // 4 KiB reads; may be empty
	Sizes          []Point // may be empty
}

// The limits of a rate of queries.
const (
	ByIOPS       = "IOPS"
	ByThroughput = "throughput"
	ByCPU        = "CPU"
)

// Prediction is what a number of clients in a closed loop get: each asks its next
// query when the last is answered. A ceiling of 0 is none.
type Prediction struct {
	ByIOPS       float64 `json:"qps_by_iops"`       // IOPS / reads
	ByThroughput float64 `json:"qps_by_throughput"` // bytes per second / bytes
	ByCPU        float64 `json:"qps_by_cpu"`        // processors / CPU time
	Binds        string  `json:"binds"`             // what runs out first
	// ByVolume is what the volume does with reads of this mean size, by the sweep of
	// sizes: the lower of the first two, or less where a volume slows down before
	// either cap.
	ByVolume     float64 `json:"qps_by_volume"`
	Clients      int     `json:"clients"`
	QPS          float64 `json:"qps"`
	Latency      float64 `json:"latency_ms"`       // mean, with these clients
	LatencyFloor float64 `json:"latency_floor_ms"` // waves x base latency: a query alone on the volume
}

// Predict computes the three ceilings and what clients get below them.
//
// Near a crossing of two ceilings neither is reached: while some queries wait for
// the volume, processors are idle, and the other way round. So the clients are
// taken as a closed network of two stations, the volume and the processors, each
// with a rate that depends on how many queries are with it, which has a solution
// in product form: with f(n) the product of 1/rate(i) for i = 1..n, and G(N) the
// sum over n of f_volume(n) f_cpu(N-n), the throughput of N clients is
// G(N-1)/G(N). Far from a crossing it is the lowest ceiling.
//
// The volume's rate follows from the reads' mean size, by the sweep of sizes:
// the time of a read grows about linearly with its size on a device, and where
// IOPS and throughput are limited apart, as providers do it, only their sums
// count; both make the mean size the right one. With few queries in it the rate
// is what the sweep of depths reached with as many reads in flight.
func Predict(v VolumeModel, c Cost, clients int) Prediction {
	p := Prediction{Clients: clients, LatencyFloor: round(1000*c.Waves*v.BaseLatency, 3)}
	p.ByIOPS = round(quotient(v.IOPS, c.Reads), 3)
	p.ByThroughput = round(quotient(v.BytesPerSecond, c.Bytes), 3)
	p.ByCPU = round(quotient(float64(v.Processors), c.CPUTime), 3)
	var volume, cpu station
	if c.Reads > 0 && v.IOPS > 0 {
		perWave := c.Reads / max(c.Waves, 1)
		rate := v.rateOfSize(c.Bytes / c.Reads)
		p.ByVolume = round(rate/c.Reads, 3)
		volume = func(n int) float64 { return min(v.rateAtDepth(float64(n)*perWave), rate) / c.Reads }
	}
	if c.CPUTime > 0 && v.Processors > 0 {
		cpu = func(n int) float64 { return float64(min(n, v.Processors)) / c.CPUTime }
	}
	p.Binds = binding(p)
	p.QPS = throughput(volume, cpu, clients)
	if p.QPS > 0 {
		p.Latency = round(1000*float64(clients)/p.QPS, 2)
	}
	p.QPS = round(p.QPS, 3)
	return p
}

// quotient is 0 where there is nothing to divide by.
func quotient(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// binding names what runs out first, "" when nothing can.
func binding(p Prediction) string {
	volume := ByIOPS
	if p.ByThroughput > 0 && p.ByThroughput < p.ByIOPS {
		volume = ByThroughput
	}
	switch {
	case p.ByVolume == 0 && p.ByCPU == 0:
		return ""
	case p.ByVolume == 0 || p.ByCPU > 0 && p.ByCPU < p.ByVolume:
		return ByCPU
	}
	return volume
}

// rateOfSize is the reads a second of a size in bytes, at the best depth. The
// time of a read is interpolated between the sizes measured. A rate that is 95 %
// or more of that of the smallest size is taken as the cap: measurements of a
// short time scatter that much, and at the knee it is that far from the cap.
func (v VolumeModel) rateOfSize(size float64) float64 {
	rate := v.IOPS
	if len(v.Sizes) > 0 && v.Sizes[0].IOPS > 0 {
		x := make([]float64, len(v.Sizes))
		y := make([]float64, len(v.Sizes))
		for i, p := range v.Sizes {
			x[i], y[i] = float64(p.Bytes), 1/max(p.IOPS, 1)
		}
		if at := 1 / interpolate(x, y, size); at < reached*v.Sizes[0].IOPS {
			rate = min(rate, at*min(max(v.IOPS/v.Sizes[0].IOPS, 1), 1/reached))
		}
	}
	if v.BytesPerSecond > 0 && size > 0 {
		rate = min(rate, v.BytesPerSecond/size)
	}
	return rate
}

// rateAtDepth is the 4 KiB reads a second with so many reads in flight on
// average.
func (v VolumeModel) rateAtDepth(depth float64) float64 {
	if len(v.Depths) == 0 {
		return v.IOPS
	}
	x, y := []float64{0}, []float64{0}
	top := plateau(v.Depths)
	for _, p := range v.Depths {
		x, y = append(x, float64(p.Depth)), append(y, p.IOPS)
	}
	share := quotient(interpolate(x, y, depth), top)
	if share >= reached {
		return v.IOPS
	}
	return v.IOPS * share
}

// interpolate is the value at `at` of the line through points with rising x, and
// that of the nearest point outside of them.
func interpolate(x, y []float64, at float64) float64 {
	if at <= x[0] {
		return y[0]
	}
	for i := 1; i < len(x); i++ {
		if at <= x[i] {
			return y[i-1] + (y[i]-y[i-1])*(at-x[i-1])/(x[i]-x[i-1])
		}
	}
	return y[len(y)-1]
}

// station is the rate at which queries leave it when n >= 1 are with it; nil is
// a station that none visits.
type station func(n int) float64

// throughput is that of n clients in a closed network of two stations. It is
// computed in logarithms, since the products leave the range of a float64.
func throughput(a, b station, n int) float64 {
	switch {
	case n < 1 || a == nil && b == nil:
		return 0
	case a == nil:
		return b(n)
	case b == nil:
		return a(n)
	}
	fa, fb := weights(a, n), weights(b, n)
	return math.Exp(logSum(fa, fb, n-1) - logSum(fa, fb, n))
}

// weights are the logarithms of f(0..n).
func weights(s station, n int) []float64 {
	f := make([]float64, n+1)
	for i := 1; i <= n; i++ {
		f[i] = f[i-1] - math.Log(max(s(i), math.SmallestNonzeroFloat64))
	}
	return f
}

// logSum is the logarithm of the sum over i of fa(i) fb(n-i).
func logSum(fa, fb []float64, n int) float64 {
	top := math.Inf(-1)
	for i := range n + 1 {
		top = max(top, fa[i]+fb[n-i])
	}
	sum := 0.0
	for i := range n + 1 {
		sum += math.Exp(fa[i] + fb[n-i] - top)
	}
	return top + math.Log(sum)
}

// Needs is what a rate of queries takes.
type Needs struct {
	QPS        float64 `json:"qps"`
	IOPS       float64 `json:"iops"`
	MiBps      float64 `json:"mib_per_second"`
	Processors float64 `json:"processors"`
	// Missing names what this machine has too little of, "" when it has enough.
	Missing string `json:"missing,omitempty"`
}

// Need computes what a rate of queries takes of a volume and of processors. That
// is without any reserve: at the ceiling itself queries wait without end.
func Need(v VolumeModel, c Cost, qps float64) Needs {
	n := Needs{QPS: qps, IOPS: math.Ceil(round(c.Reads*qps, 3)), MiBps: round(c.Bytes*qps/mib, 1), Processors: round(c.CPUTime*qps, 2)}
	switch {
	case n.Processors > float64(v.Processors):
		n.Missing = ByCPU
	case n.IOPS > v.IOPS:
		n.Missing = ByIOPS
	case c.Bytes*qps > v.BytesPerSecond:
		n.Missing = ByThroughput
	}
	return n
}
