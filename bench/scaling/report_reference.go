package scaling

import (
	"fmt"
	"strings"
)

// The set that the reference was measured with.
const (
	referenceSet       = "clustered768"
	referenceVectors   = 300_000
	referenceDimension = 768
	referenceClients   = 32
)

// referenceRun is what was measured of the reference. Figures that were not kept
// are 0.
type referenceRun struct {
	volume         Volume
	probe, rescore int
	recall, qps    float64
	p99            float64 // ms
	reads          float64 // a query
	cpu            float64 // ms a query
}

// referenceRuns are of Weaviate HFresh, main of 2026-08.
var referenceRuns = []referenceRun{
	{Volume{3_000, 125}, 64, 50, 0.954, 62.8, 1148, 47.8, 11.3},
	{Volume{3_000, 125}, 64, 100, 0.975, 31.1, 2095, 94.6, 15.6},
	{Volume{3_000, 125}, 128, 100, 0.987, 27.8, 2382, 107.8, 19.7},
	{Volume{3_000, 125}, 256, 100, 0.994, 17.2, 3513, 170.8, 48.9},
	{Volume{3_000, 125}, 64, 350, 0.973, 9.7, 5493, 308.9, 28.2},
	{Volume{3_000, 125}, 256, 350, 0.999, 6.8, 7556, 436.0, 60.1},
	{Volume{80_000, 2_000}, 64, 350, 0.980, 50, 0, 0, 0},
	{Volume{80_000, 2_000}, 64, 100, 0.977, 109, 0, 0, 0},
}

// comparable tells whether the experiment asked the reference's set.
func (e *Experiment) comparable() bool {
	return strings.Contains(e.Set, referenceSet) && e.Vectors == referenceVectors && e.Dimension == referenceDimension
}

// referenceTable puts the fastest run of at least the same recall beside each of
// the reference; nil for other sets than the reference's.
func (r *Report) referenceTable() *table {
	e := &r.Experiment
	if !e.comparable() {
		return nil
	}
	t := &table{
		Title: "Beside the reference, at equal recall",
		Note: fmt.Sprintf("The reference is another engine, measured before and on another machine: Weaviate HFresh (main of 2026-08), "+
			"2 cores, control group of 512 MiB with the page cache in it, the volume throttled alike, %d clients, k = 10. "+
			"At 80,000 IOPS no setting of it passed 124 QPS. Its rates may not be read as if both had run side by side. Here: k = %d, %d processors, control group of %s, memory "+
			"limit of the store %s, cache %s. Beside each of its runs stands the fastest of ours with %d clients and at least its "+
			"recall.",
			referenceClients, e.K, e.Machine.Cores, sizeOr(e.CgroupMemory, "unlimited memory"), sizeOr(e.MemoryLimit, "by default"),
			cacheWords(e.CacheBytes), referenceClients),
		Head: []string{"volume", "reference: probe / rescore", "recall", "QPS", "p99 ms", "reads/query", "CPU ms/query",
			"here: probe / rescore, rules", "recall", "QPS", "p99 ms", "reads/query", "CPU ms/query", "QPS, times"},
		Text: 2,
	}
	for _, ref := range referenceRuns {
		row := []string{ref.volume.words(), fmt.Sprintf("%d / %d", ref.probe, ref.rescore), fixed(ref.recall, 3), decimal(ref.qps),
			decimal(ref.p99), decimal(ref.reads), decimal(ref.cpu)}
		b, ok := r.best(ref.volume, ref.recall, func(s *Setting) bool { return s.Clients == referenceClients })
		if !ok {
			t.Rows = append(t.Rows, append(row, "no run", none, none, none, none, none, none))
			continue
		}
		w := b.run.load()
		t.Rows = append(t.Rows, append(row,
			fmt.Sprintf("%d / %d, %s", b.Setting.SearchProbe, b.Setting.RescoreLimit, onOff(b.Setting.StopRules)),
			fixed(b.Recall, 3), decimal(w.QPS), decimal(w.Latency.P99), fixed(w.ReadsPerQuery, 1), fixed(w.CPUMSPerQuery, 2),
			figures(w.QPS/ref.qps)+" x"))
	}
	return t
}

func sizeOr(n int64, other string) string {
	if n <= 0 {
		return other
	}
	return inMiB(n) + " MiB"
}

func cacheWords(n int64) string {
	switch {
	case n < 0:
		return "off"
	case n == 0:
		return "what the limit leaves"
	}
	return inMiB(n) + " MiB"
}
