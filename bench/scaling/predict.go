package scaling

import (
	"fmt"
	"math"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/fio"
	"github.com/spratdb/sprat/iopath"
)

// Prediction is the rate of a run, computed from the cost of a query that another
// run measured, and from the limit of this run's volume.
type Prediction struct {
	From string `json:"from"` // the run that measured reads, KiB and CPU of a query

	// The ceilings, each 0 when there is none: IOPS / reads, throughput / bytes,
	// processors / CPU.
	ByIOPS       float64 `json:"qps_by_iops"`
	ByThroughput float64 `json:"qps_by_throughput"`
	ByCPU        float64 `json:"qps_by_cpu"`
	Ceiling      float64 `json:"qps_ceiling"` // the lowest
	Binds        string  `json:"binds"`       // IOPS, throughput or CPU

	// QPS is what this many clients get below the ceilings, see [fio.Predict]: near a
	// crossing of two of them, or with few clients, it is less than the lowest.
	QPS    float64 `json:"qps"`
	Error  float64 `json:"error"`  // QPS / measured - 1
	Near   bool    `json:"near"`   // within 10 % of the measured
	Judged bool    `json:"judged"` // whether it counts: not for mmap, whose page cache answers reads
}

// Summary counts the predictions that count.
type Summary struct {
	Judged int `json:"judged"`
	Near   int `json:"near"` // within 10 %
}

// String is like "86 of 90 within 10 %".
func (s Summary) String() string {
	return fmt.Sprintf("%d of %d predictions within %.0f %%", s.Near, s.Judged, 100*Near)
}

// predict fills in the prediction of each run that another tells the cost of.
func predict(runs []Result, cores int) {
	for i := range runs {
		runs[i].derive(cores)
		runs[i].Prediction = nil
		from := source(runs, i)
		if from == nil || runs[i].Load.QPS <= 0 {
			continue
		}
		runs[i].Prediction = predictFrom(&runs[i], from, cores)
	}
}

// source is the run that is most like run i and not the same: of the same engine
// and dials, with other clients or on another volume. The cost of a query depends
// little on these, but its CPU time does a little: what is done together is cheaper.
func source(runs []Result, i int) *Result {
	var best *Result
	nearest := math.Inf(1)
	to := runs[i].Setting
	for j := range runs {
		s := runs[j].Setting
		same := s.Engine == to.Engine && s.SearchProbe == to.SearchProbe && s.RescoreLimit == to.RescoreLimit && s.StopRules == to.StopRules
		if j == i || !same || runs[j].Load.Queries == 0 {
			continue
		}
		// A run of the same volume comes first: it was measured in the same minutes.
		away := ratio(runs[i].Limit.IOPS, runs[j].Limit.IOPS) + ratio(float64(to.Clients), float64(s.Clients))
		if s.Volume == to.Volume {
			away -= 1000
		}
		if away < nearest {
			nearest, best = away, &runs[j]
		}
	}
	return best
}

// ratio is how far apart two numbers are as factors.
func ratio(a, b float64) float64 { return math.Abs(math.Log(max(a, 1) / max(b, 1))) }

func predictFrom(r, from *Result, cores int) *Prediction {
	w := from.Load
	limit := r.Limit.within(r.Setting.Volume)
	p := fio.Predict(limit.model(cores), fio.Cost{
		Reads: w.ReadsPerQuery, Bytes: w.KiBPerQuery * 1024, Waves: w.WavesPerQuery, CPUTime: w.CPUMSPerQuery / 1000,
	}, r.Setting.Clients)
	out := &Prediction{From: from.Setting.String(), ByIOPS: p.ByIOPS, ByThroughput: p.ByThroughput, ByCPU: p.ByCPU, QPS: p.QPS,
		Judged: r.Setting.Engine != iopath.Mmap}
	out.Ceiling, out.Binds = ceiling(p.ByCPU, bench.Volume{IOPS: limit.IOPS, MiBps: limit.MiBps}, w)
	out.Error = round(out.QPS/r.Load.QPS-1, 4)
	out.Near = math.Abs(out.Error) <= Near
	return out
}

// ceiling is the lowest of the three and its name; byCPU is 0 for none.
func ceiling(byCPU float64, v bench.Volume, w *bench.WorkloadReport) (float64, string) {
	qps, binds := v.QPS(w.ReadsPerQuery, w.KiBPerQuery)
	if byCPU > 0 && byCPU < qps {
		return byCPU, "CPU"
	}
	if math.IsInf(qps, 1) || math.IsNaN(qps) {
		return 0, ""
	}
	return round(qps, 3), binds
}

// model is the limit as predictions want it.
func (l Limit) model(cores int) fio.VolumeModel {
	points := func(list []Point) (out []fio.Point) {
		for _, p := range list {
			out = append(out, fio.Point{Depth: p.Depth, Bytes: p.Bytes, IOPS: p.IOPS})
		}
		return out
	}
	return fio.VolumeModel{IOPS: l.IOPS, BytesPerSecond: l.MiBps * (1 << 20), BaseLatency: l.BaseLatency / 1000,
		Processors: cores, Depths: points(l.Depths), Sizes: points(l.Sizes)}
}

// within caps a limit at the setting: what a throttle lets through in a short time
// scatters about it.
func (l Limit) within(v Volume) Limit {
	if v != (Volume{}) {
		l.IOPS, l.MiBps = min(l.IOPS, float64(v.IOPS)), min(l.MiBps, float64(v.MiBps))
	}
	return l
}

func summarise(runs []Result) (s Summary) {
	for _, r := range runs {
		if r.Prediction != nil && r.Prediction.Judged {
			s.Judged++
			if r.Prediction.Near {
				s.Near++
			}
		}
	}
	return s
}
