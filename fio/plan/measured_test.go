package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"slices"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite golden files and the table of measured sets")

// annResults is the part of bench/results/ann.json that the table rests on.
type annResults struct {
	Machine struct{ CPU, SIMD string }
	K       int
	Sets    []annSet
}

type annSet struct {
	Name      string
	Vectors   float64
	Dimension int
	Metric    string
	Build     struct {
		Disk   float64 `json:"disk_bytes_per_vector"`
		Memory float64 `json:"memory_bytes_per_vector"`
	}
	Sweep, Targets []annPoint
	At             []struct {
		Recall float64
		Reads  float64 `json:"reads_per_query"`
		KiB    float64 `json:"kib_per_query"`
		CPU    float64 `json:"cpu_ms_per_query"`
	}
}

type annPoint struct {
	Recall  float64
	Reads   float64 `json:"reads_per_query"`
	Posting float64 `json:"posting_reads_per_query"`
	KiB     float64 `json:"kib_per_query"`
	CPU     float64 `json:"cpu_ms_per_query"`
	Waves   float64 `json:"waves_per_query"`
}

func readResults(t *testing.T) *annResults {
	t.Helper()
	text, err := os.ReadFile("../../bench/results/ann.json")
	if err != nil {
		t.Fatal(err)
	}
	r := &annResults{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// tabulate makes the table of a set: its frontier at round recalls, where no part
// of the cost falls as the recall rises.
func tabulate(s *annSet) (points []measuredPoint) {
	all := slices.Concat(s.Sweep, s.Targets)
	slices.SortStableFunc(all, func(a, b annPoint) int {
		if a.Reads != b.Reads {
			return int(math.Copysign(1, a.Reads-b.Reads))
		}
		return int(math.Copysign(1, b.Recall-a.Recall))
	})
	best := -1.0
	all = slices.DeleteFunc(all, func(p annPoint) bool {
		if p.Recall <= best {
			return true
		}
		best = p.Recall
		return false
	})
	var frontier measuredSet
	for _, p := range all {
		frontier.Points = append(frontier.Points, measuredPoint{
			Recall: p.Recall, PostingReads: p.Posting, RecordReads: p.Reads - p.Posting,
			RecordKiB: max(p.KiB-postingKiB*p.Posting, 4*(p.Reads-p.Posting)), CPUMS: p.CPU, Waves: p.Waves,
		})
	}
	var last measuredPoint
	for _, recall := range []float64{0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, MostRecall} {
		p := frontier.at(recall)
		last = measuredPoint{
			Recall: recall, PostingReads: max(up(p.PostingReads), last.PostingReads),
			RecordReads: max(up(p.RecordReads), last.RecordReads), RecordKiB: max(up(p.RecordKiB), last.RecordKiB),
			CPUMS: max(up(p.CPUMS), last.CPUMS), Waves: max(up(p.Waves), last.Waves),
		}
		points = append(points, last)
	}
	return points
}

// up rounds up to three digits after the point.
func up(v float64) float64 { return math.Ceil(v*1000-1e-6) / 1000 }

// TestMeasured: the table is what bench/results/ann.json says.
func TestMeasured(t *testing.T) {
	r := readResults(t)
	want := measuredSets{Source: "bench/results/ann.json", Machine: r.Machine.CPU + ", " + r.Machine.SIMD, K: r.K}
	for i := range r.Sets {
		s := &r.Sets[i]
		want.Sets = append(want.Sets, measuredSet{
			Name: s.Name, Vectors: s.Vectors, Dimension: s.Dimension, Metric: s.Metric, Points: tabulate(s),
		})
	}
	slices.SortFunc(want.Sets, func(a, b measuredSet) int { return a.Dimension - b.Dimension })
	text, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *rewrite {
		if err := os.WriteFile("measured.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		measuredText = text
	}
	if !bytes.Equal(text, measuredText) {
		t.Error("measured.json is not what bench/results/ann.json says: go test ./fio/plan -rewrite")
	}
}

// TestMeasuredEstimate: at the size, dimension and recall that were measured, the
// model says what was measured.
func TestMeasuredEstimate(t *testing.T) {
	for _, s := range readResults(t).Sets {
		for _, at := range s.At {
			p, err := Make(Request{
				Vectors: int64(s.Vectors), Dimension: s.Dimension, Metric: s.Metric, Recall: at.Recall, QPS: 1,
			}, prices(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.PerQuery.Reads; got < at.Reads*0.999 || got > at.Reads*1.1 {
				t.Errorf("%s at %v: %.2f reads, measured %.2f", s.Name, at.Recall, got, at.Reads)
			}
			if got := p.PerQuery.KiB; got < at.KiB*0.95 || got > at.KiB*1.2 {
				t.Errorf("%s at %v: %.1f KiB, measured %.1f", s.Name, at.Recall, got, at.KiB)
			}
			if got := p.PerQuery.CPUMS; got < at.CPU*0.99 || got > at.CPU*1.3 {
				t.Errorf("%s at %v: %.3f ms, measured %.3f", s.Name, at.Recall, got, at.CPU)
			}
		}
	}
}

// TestFootprintMeasured: the bytes computed from the layouts are those of the
// indexes that were built. Memory counts what live writes add, so it is above.
func TestFootprintMeasured(t *testing.T) {
	for _, s := range readResults(t).Sets {
		f, err := FootprintOf(s.Dimension, 8, 0)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(f.Disk/s.Build.Disk-1) > 0.02 {
			t.Errorf("%s: %.1f bytes of disk a vector, measured %.1f", s.Name, f.Disk, s.Build.Disk)
		}
		if bulk := f.Centroids + f.Directory; bulk < s.Build.Memory || bulk > s.Build.Memory+1.25 {
			t.Errorf("%s: %.2f bytes of memory a vector, measured %.2f", s.Name, bulk, s.Build.Memory)
		}
	}
}

func prices(t testing.TB) *Prices {
	t.Helper()
	p, err := DefaultPrices()
	if err != nil {
		t.Fatal(err)
	}
	return p
}
