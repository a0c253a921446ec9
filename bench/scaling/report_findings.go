package scaling

import (
	"fmt"
	"io"
	"strings"

	"github.com/spratdb/sprat/iopath"
)

// Findings are the few numbers that the experiment is made for. 0 means that no
// run tells.
type Findings struct {
	Within      int `json:"within"`      // predictions within 10 % of what was measured
	Predictions int `json:"predictions"` // that count

	FlatQPS float64 `json:"flat_qps"` // least of QPS with many clients / QPS with few
	// Saturation is the least share of the measured IOPS or throughput that a run used
	// which the volume bounds, and SaturatedRuns the number of these.
	Saturation    float64 `json:"saturation"`
	SaturatedRuns int     `json:"saturated_runs"`
	// Best are the highest rates of each volume by recall, slow volumes first.
	Best []Best `json:"best"`
}

// Best is the run with the highest rate among those with some recall at least.
type Best struct {
	Volume  Volume  `json:"volume"`
	AtLeast float64 `json:"at_least"` // recall
	Setting Setting `json:"setting"`
	Recall  float64 `json:"recall"`
	QPS     float64 `json:"qps"`
	P99     float64 `json:"p99_ms"`

	run *Result
}

// goodRecall is the recall at which volumes are compared in one line, and recalls
// those at which tables do.
const goodRecall = 0.97

var recalls = []float64{0.95, goodRecall, 0.99}

// A run saturates the volume when at least this many clients ask, and the
// processors would carry more by this factor: nearer to where the two ceilings
// cross neither is reached.
const (
	saturatingClients = 32
	clearlyBound      = 1.25
)

// Findings computes the figures from the runs.
func (r *Report) Findings() Findings {
	f := Findings{Within: r.Predicted.Near, Predictions: r.Predicted.Judged, Best: []Best{}}
	for i, flat := range r.Flat {
		if i == 0 || flat.Ratio < f.FlatQPS {
			f.FlatQPS = flat.Ratio
		}
	}
	for _, run := range r.sorted() {
		if r.saturates(run) {
			if f.SaturatedRuns == 0 || run.ShareOfLimit < f.Saturation {
				f.Saturation = run.ShareOfLimit
			}
			f.SaturatedRuns++
		}
	}
	for _, v := range r.axes().Volumes {
		for _, recall := range recalls {
			if b, ok := r.best(v, recall, nil); ok {
				f.Best = append(f.Best, b)
			}
		}
	}
	return f
}

// saturates tells whether the volume, and not the processors or the number of
// clients, bounds a run by its own cost. mmap never counts: the page cache
// answers part of its reads.
func (r *Report) saturates(run *Result) bool {
	w := run.load()
	if run.Setting.Engine == iopath.Mmap || run.Setting.Clients < saturatingClients || w.ReadsPerQuery <= 0 || w.KiBPerQuery <= 0 {
		return false
	}
	if w.CPUMSPerQuery <= 0 {
		return true
	}
	byVolume := min(run.Limit.IOPS/w.ReadsPerQuery, run.Limit.MiBps*1024/w.KiBPerQuery)
	byCPU := float64(r.Experiment.Machine.Cores) * 1000 / w.CPUMSPerQuery
	return byVolume > 0 && byCPU >= clearlyBound*byVolume
}

// best finds the run of a volume with the highest rate at a recall. mmap is left
// out: what it keeps in the page cache is no property of the engine. A condition
// narrows the choice, nil does not.
func (r *Report) best(v Volume, recall float64, holds func(*Setting) bool) (b Best, ok bool) {
	for _, run := range r.sorted() {
		s, w := run.Setting, run.load()
		if s.Volume != v || s.Engine == iopath.Mmap || run.recall() < recall || !known(w.QPS) || w.QPS <= b.QPS || holds != nil && !holds(&s) {
			continue
		}
		b, ok = Best{Volume: v, AtLeast: recall, Setting: s, Recall: run.recall(), QPS: w.QPS, P99: w.Latency.P99, run: run}, true
	}
	return b, ok
}

// Text writes the outcome in a few lines for a terminal.
func (r *Report) Text(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(r.lines(), "\n")+"\n")
	return err
}

func (r *Report) lines() []string {
	f := r.Findings()
	out := []string{fmt.Sprintf("%d runs on %s", len(r.Runs), r.subject())}
	for _, b := range f.Best {
		if b.AtLeast == goodRecall {
			out = append(out, fmt.Sprintf("%s: %s QPS at recall@%d %s, p99 %s ms (%s, %d clients, %s)", b.Volume.words(), decimal(b.QPS),
				r.Experiment.K, fixed(b.Recall, 4), decimal(b.P99), plain(b.Setting.Engine), b.Setting.Clients, b.Setting.Dials()))
		}
	}
	if f.SaturatedRuns > 0 {
		out = append(out, fmt.Sprintf("where the volume bounds, at least %s of its measured limit is used (runs: %d)",
			percent(f.Saturation), f.SaturatedRuns))
	}
	if len(r.Flat) > 0 {
		out = append(out, fmt.Sprintf("QPS at %d clients / QPS at %d: at least %s (pairs of runs: %d)", r.Flat[0].Many, r.Flat[0].Few,
			fixedOrNone(f.FlatQPS, 3), len(r.Flat)))
	}
	if f.Predictions > 0 {
		out = append(out, r.Predicted.String())
	}
	return out
}

// subject names the data in words.
func (r *Report) subject() string {
	e := &r.Experiment
	return fmt.Sprintf("%s, %s x %d, %s", orElse(plain(e.Set), "an unnamed set"), thousands(e.Vectors), e.Dimension, orElse(plain(e.Metric), "no metric"))
}
