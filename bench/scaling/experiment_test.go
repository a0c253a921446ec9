package scaling

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/internal/realdata"
)

// testRows are few enough to build an index of in a moment under the race detector.
const testRows = 1200

// testConfig is a small experiment on real texts.
func testConfig(t *testing.T) Config {
	t.Helper()
	set, dir := realdata.Text(), t.TempDir()
	set.Rows = set.Rows[:testRows*set.Dim]
	base := &bench.Matrix{Rows: testRows, Cols: set.Dim, Values: set.Rows}
	queries := &bench.Matrix{Rows: set.QueryLen(), Cols: set.Dim, Values: set.Queries}
	reader, err := bench.NewMemoryReader(set.Dim, set.Rows)
	if err != nil {
		t.Fatal(err)
	}
	_, distances, err := bench.Truth(t.Context(), bench.TruthConfig{
		Base: func() (bench.Reader, error) { return reader, nil }, Queries: slices.Collect(slices.Chunk(set.Queries, set.Dim)), Metric: set.Metric, K: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Input: bench.InputFiles{Vectors: filepath.Join(dir, "base.fbin")}, Queries: filepath.Join(dir, "query.fbin"),
		Distances: filepath.Join(dir, "dist.fbin"), Metric: set.Metric, Out: filepath.Join(dir, "out"),
		Warmup: 20 * time.Millisecond, Window: 200 * time.Millisecond, Calibration: 60 * time.Millisecond,
		Store: sprat.Options{MemoryLimit: 128 << 20, CacheBytes: -1},
		Axes: Axes{Volumes: []Volume{{}}, Engines: []string{"pread", "mmap"}, Clients: []int{32, 128}, SearchProbe: []int{2, 8}, RescoreLimit: []int{20},
			StopRules: []bool{true, false}},
	}
	if err := errors.Join(bench.WriteFBin(cfg.Input.Vectors, base), bench.WriteFBin(cfg.Queries, queries), bench.WriteFBin(cfg.Distances, distances)); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// run is Run that leaves the page cache of the machine alone.
func run(ctx context.Context, cfg Config) (*Report, error) {
	x, err := newExperiment(cfg)
	if err != nil {
		return nil, err
	}
	x.dropCache = func() error { return nil }
	return x.run(ctx)
}

// TestExperiment is interrupted once, goes on, and has everything in the end.
// Nothing here judges how fast anything was.
func TestExperiment(t *testing.T) {
	cfg := testConfig(t)
	ctx, cancel := context.WithCancel(t.Context())
	var last Progress
	cfg.Progress = func(p Progress) {
		if last = p; p.Run == 3 {
			cancel()
		}
	}
	if _, err := run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted run: %v", err)
	}
	content, err := os.ReadFile(filepath.Join(cfg.Out, journalName))
	if err != nil || strings.Count(string(content), "\n") != 3 {
		t.Fatalf("it has kept\n%s(%v)", content, err)
	}
	if last.Runs != len(cfg.Axes.Settings()) || last.Remaining <= 0 || !strings.Contains(last.Step, "as-is") {
		t.Errorf("progress %+v", last)
	}
	cfg.Progress = nil
	r, err := run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join(cfg.Out, journalName))
	if err != nil || !strings.HasPrefix(string(again), string(content)) {
		t.Errorf("what was finished was measured again (%v)", err)
	}
	checkReport(t, r, cfg.Axes.Settings())
	if left, err := os.ReadDir(cfg.Out); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v (%v)", left, err)
	}
	// All is there: neither index nor time is needed to report again.
	began := time.Now()
	second, err := run(t.Context(), cfg)
	if err != nil || len(second.Runs) != len(r.Runs) || second.Runs[0].Load.QPS != r.Runs[0].Load.QPS {
		t.Errorf("reported again after %v: %v", time.Since(began), err)
	}
	other := cfg
	other.K = 5
	if _, err := run(t.Context(), other); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "k is 5, was 10") {
		t.Errorf("another experiment: %v", err)
	}
}

func checkReport(t *testing.T, r *Report, settings []Setting) {
	t.Helper()
	if len(r.Runs) != len(settings) {
		t.Fatalf("%d runs of %d settings", len(r.Runs), len(settings))
	}
	if e := r.Experiment; e.Vectors != testRows || e.Dimension != 384 || e.Metric != "cosine" || e.Queries != 100 || e.RecallBy != "distance" {
		t.Errorf("experiment %+v", e)
	}
	for i, x := range r.Runs {
		w := x.Load
		if x.Setting != settings[i] || x.IOEngine != x.Setting.Engine {
			t.Errorf("run %d is of %v by %s, want %v", i, x.Setting, x.IOEngine, settings[i])
		}
		if w.Queries < 1 || w.Recall == nil || *w.Recall < 0.3 || w.ReadsPerQuery <= 0 || w.CPUMSPerQuery <= 0 || len(x.Samples) == 0 || len(x.Samples) > 20 {
			t.Errorf("%v: %+v, %d samples", x.Setting, w, len(x.Samples))
		}
		if !x.Setting.StopRules && w.ProbesPerQuery != float64(x.Setting.SearchProbe) {
			t.Errorf("%v: %v probes without stop rules", x.Setting, w.ProbesPerQuery)
		}
		if x.Limit.IOPS <= 0 || x.Limit.MiBps <= 0 || x.RSSMean <= 0 || x.HeapMean <= 0 {
			t.Errorf("%v: %+v", x.Setting, x)
		}
	}
	if r.Predicted.Judged == 0 || len(r.Flat) == 0 {
		t.Errorf("predicted %v, flat %v", r.Predicted, r.Flat)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// TestExperimentOfStore asks an index that is there, and leaves it there.
func TestExperimentOfStore(t *testing.T) {
	cfg := testConfig(t)
	cfg.Data, cfg.Bucket, cfg.Index = filepath.Join(t.TempDir(), "store"), "b", "i"
	s, err := sprat.Open(cfg.Data, cfg.Store)
	if err != nil {
		t.Fatal(err)
	}
	in, err := bench.OpenInput(cfg.Input)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Build(t.Context(), "b", "i", sprat.IndexConfig{Dimension: in.Dim(), Metric: sprat.Cosine}, in.Records(), sprat.BuildOptions{})
	if err := errors.Join(err, in.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	cfg.Input, cfg.Metric, cfg.Warmup = bench.InputFiles{}, "", -1
	cfg.Axes = Axes{Volumes: []Volume{{}}, Engines: []string{"pread"}, Clients: []int{2}, SearchProbe: []int{4}, RescoreLimit: []int{20}, StopRules: []bool{true}}
	for range 2 {
		r, err := run(t.Context(), cfg)
		if err != nil || len(r.Runs) != 1 || r.Experiment.Set != "i" || r.Experiment.WarmupSeconds != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		cfg.Fresh = true
	}
	if _, err := os.Stat(cfg.Data); err != nil {
		t.Error(err)
	}
	cfg.Queries = cfg.Distances
	if _, err := run(t.Context(), cfg); !errors.Is(err, ErrConfig) {
		t.Errorf("queries of another dimension: %v", err)
	}
}

// TestNotes: what a reader must know stands in the report, once.
func TestNotes(t *testing.T) {
	v := Volume{80000, 2000}
	x := &experiment{cfg: &Config{}, about: Experiment{Machine: bench.Machine{Cores: 2}}}
	for _, clients := range []int{32, 128} {
		r := sampleRun(Setting{Volume: v, Clients: clients}, 100)
		r.Limit, r.Cold, r.CPU, r.Machine = Limit{IOPS: 50000, MiBps: 2000}, "permission denied", 0.5, 1.5
		x.settings, x.runs = append(x.settings, r.Setting), append(x.runs, *r)
	}
	got := x.report()
	if len(got.Notes) != 3 {
		t.Fatalf("notes %q", got.Notes)
	}
	for i, want := range []string{"gave 50,000 of 80,000 IOPS", "permission denied", "took 50 % of the processors"} {
		if !strings.Contains(got.Notes[i], want) {
			t.Errorf("note %q, want %q", got.Notes[i], want)
		}
	}
}
