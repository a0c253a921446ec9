package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spratdb/sprat"
)

// ANNConfig says what [RunANN] measures. Sets is required; zero values of the
// rest mean the defaults.
type ANNConfig struct {
	// Sets are folders as [OpenANNSet] reads them.
	Sets []string
	// Work is where temporary stores are made, on the volume to be measured.
	// Default: the system's folder for temporary files.
	Work string
	// Recalls are the recalls to interpolate for, each in (0, 1). Default 0.9,
	// 0.95, 0.99.
	Recalls []float64
	// Probes are the search probes to measure, each with the stop rules of the
	// index's dials. Default 1 to 256, in steps of about a half.
	Probes []int
	// Targets are recalls to ask for, which let the index choose dials and stop
	// rules; Recalls are added to them. Those that the index has no preset for are
	// left out. Default 0.8 to 0.998.
	Targets []float64
	// K is the number of results of a query. Default 10.
	K int
	// Repeats is how often one point is measured again, to learn how far
	// figures that depend on time scatter. Default 5.
	Repeats int
	// Store is how stores are opened; its CacheBytes is ignored, since the
	// experiment is a cold one.
	Store sprat.Options
	// Index holds the parameters of the indexes; dimension and metric are
	// those of each set.
	Index sprat.IndexConfig
	// FixedWork turns the stop rules of queries off.
	FixedWork bool
	// Progress, when set, is told the set, the step and how much of it is done;
	// total is 0 while unknown.
	Progress func(set, step string, done, total int64)
}

func (c ANNConfig) withDefaults() ANNConfig {
	if len(c.Recalls) == 0 {
		c.Recalls = []float64{0.9, 0.95, 0.99}
	}
	if len(c.Probes) == 0 {
		c.Probes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256}
	}
	if len(c.Targets) == 0 {
		c.Targets = []float64{0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998}
	}
	c.Targets = slices.Concat(c.Targets, c.Recalls)
	slices.Sort(c.Targets)
	c.Targets = slices.Compact(c.Targets)
	if c.K == 0 {
		c.K = 10
	}
	if c.Repeats == 0 {
		c.Repeats = 5
	}
	if c.Progress == nil {
		c.Progress = func(string, string, int64, int64) {}
	}
	c.Store.CacheBytes = -1
	return c
}

// ANNReport is the outcome of [RunANN].
type ANNReport struct {
	Machine Machine      `json:"machine"`
	K       int          `json:"k"`
	Recalls []float64    `json:"recalls"`
	Sets    []*ANNResult `json:"sets"`
}

// ANNResult is what was measured on one set.
type ANNResult struct {
	Name      string  `json:"name"`
	Vectors   int64   `json:"vectors"`
	Dimension int     `json:"dimension"`
	Metric    string  `json:"metric"`
	Queries   int     `json:"queries"`
	IOEngine  string  `json:"io_engine"`
	DirectIO  bool    `json:"direct_io"`
	IOCause   string  `json:"io_cause,omitempty"`
	Build     Built   `json:"build"`
	Open      Opening `json:"open"`

	// Sweep are the points of rising search probe, Targets those of rising recall
	// target. One client, nothing cached.
	Sweep   []ANNPoint `json:"sweep"`
	Targets []ANNPoint `json:"targets"`
	// At holds, for each recall wanted, the figures interpolated on the frontier.
	At []ANNAt `json:"at"`
	// Repeats are queries per second of one point measured again and again.
	Repeats ANNRepeats `json:"repeats"`
}

// Built says what the bulk build of a set cost.
type Built struct {
	Seconds              float64 `json:"seconds"`
	VectorsPerSecond     float64 `json:"vectors_per_second"`
	Postings             int64   `json:"postings"`
	ReplicasMean         float64 `json:"replicas_mean"`
	MemoryPeakMiB        float64 `json:"memory_peak_mib"` // resident, of the process
	DiskBytesPerVector   float64 `json:"disk_bytes_per_vector"`
	RawBytesPerVector    float64 `json:"raw_bytes_per_vector"` // float32 components
	MemoryBytesPerVector float64 `json:"memory_bytes_per_vector"`
}

// Opening is how long it takes from opening a store to its first answer.
type Opening struct {
	Milliseconds float64 `json:"milliseconds"`
	// Cold tells whether the page cache could be dropped before.
	Cold bool `json:"cold"`
}

// ANNPoint is one measured setting of the dials: RecallTarget is 0 in a sweep of
// search probes, and elsewhere what chose the caps.
type ANNPoint struct {
	RecallTarget float64 `json:"recall_target"`
	SearchProbe  int     `json:"search_probe"`
	RescoreLimit int     `json:"rescore_limit"`
	WorkloadReport
}

// ANNRepeats are repeated measurements of one point.
type ANNRepeats struct {
	SearchProbe int       `json:"search_probe"`
	QPS         []float64 `json:"qps"`
	// Spread is (largest - smallest) / mean: differences of two runs below it
	// mean nothing.
	Spread float64 `json:"spread"`
}

// indexName is the index of every temporary store.
const indexName = "set"

// RunANN measures recall against reads on real sets: for each it builds an index
// in a temporary store, which it removes, reopens it and asks all queries of the
// set at every setting of the dials. The first error ends it.
func RunANN(ctx context.Context, cfg ANNConfig) (*ANNReport, error) {
	cfg = cfg.withDefaults()
	r := &ANNReport{Machine: ThisMachine(), K: cfg.K, Recalls: cfg.Recalls}
	for _, dir := range cfg.Sets {
		set, err := OpenANNSet(dir)
		if err != nil {
			return nil, err
		}
		res, err := runSet(ctx, &cfg, set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Name, err)
		}
		r.Sets = append(r.Sets, res)
	}
	return r, nil
}

// annRun is the experiment on one set.
type annRun struct {
	cfg    *ANNConfig
	set    *ANNSet
	dir    string // of the store
	score  Scorer
	store  *sprat.Store // nil when closed
	index  *sprat.Index
	result *ANNResult
}

func runSet(ctx context.Context, cfg *ANNConfig, set *ANNSet) (_ *ANNResult, err error) {
	dir, err := os.MkdirTemp(cfg.Work, "sprat-ann-")
	if err != nil {
		return nil, err
	}
	r := &annRun{cfg: cfg, set: set, dir: filepath.Join(dir, "store"), result: &ANNResult{
		Name: set.Name, Metric: set.Metric, Queries: len(set.Queries), Dimension: set.Dim,
	}}
	defer func() { err = errors.Join(err, r.close(), os.RemoveAll(dir)) }()
	if r.score, err = ScoreByDistance(set.Truth, set.Metric, len(set.Queries), cfg.K); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		r.build, r.reopen, r.sweep, r.targets, r.interpolate, r.repeat,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return r.result, nil
}

// close closes the store if it is open.
func (r *annRun) close() error {
	if r.store == nil {
		return nil
	}
	s := r.store
	r.store, r.index = nil, nil
	return s.Close()
}

// build loads the set into a new store.
func (r *annRun) build(ctx context.Context) (err error) {
	in, err := OpenInput(InputFiles{Vectors: r.set.Base})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	metric, err := sprat.ParseMetric(r.set.Metric)
	if err != nil {
		return err
	}
	freshMemoryPeak()
	if r.store, err = sprat.Open(r.dir, r.cfg.Store); err != nil {
		return err
	}
	config := r.cfg.Index
	config.Dimension, config.Metric = in.Dim(), metric
	ix, stats, err := r.store.Build(ctx, "bench", indexName, config, in.Records(), sprat.BuildOptions{
		Progress: func(step string, done, total int64) { r.cfg.Progress(r.set.Name, step, done, total) },
	})
	if err != nil {
		return err
	}
	r.describe(ix, stats)
	return nil
}

// describe notes what the build made.
func (r *annRun) describe(ix *sprat.Index, built sprat.BuildStats) {
	st, io := ix.Stats(), r.store.IOInfo()
	res, n := r.result, max(float64(built.Vectors), 1)
	res.Vectors, res.IOEngine, res.DirectIO, res.IOCause = built.Vectors, io.Engine, io.Direct, io.Cause
	var memory int64
	for _, bytes := range st.Memory {
		memory += bytes
	}
	res.Build = Built{
		Seconds: built.Elapsed.Seconds(), VectorsPerSecond: float64(built.Rows) / built.Elapsed.Seconds(),
		Postings: built.Postings, ReplicasMean: st.ReplicasMean,
		MemoryPeakMiB:        mebibytes(ProcessMemory().Peak),
		DiskBytesPerVector:   float64(st.Disk.Total) / n,
		RawBytesPerVector:    float64(4 * st.Dimension),
		MemoryBytesPerVector: float64(memory) / n,
	}
}

// reopen closes the store, makes the system forget its files where it may, and
// times the way to the first answer.
func (r *annRun) reopen(ctx context.Context) (err error) {
	if err := r.close(); err != nil {
		return err
	}
	r.result.Open.Cold = DropPageCache() == nil
	start := time.Now()
	if r.store, err = sprat.Open(r.dir, r.cfg.Store); err != nil {
		return err
	}
	if r.index, err = r.store.Index("bench", indexName); err != nil {
		return err
	}
	_, err = r.index.Query(ctx, r.set.Queries[0], r.cfg.K, sprat.QueryOptions{FixedWork: r.cfg.FixedWork})
	r.result.Open.Milliseconds = milliseconds(time.Since(start))
	return err
}

// measure asks all queries once with these options.
func (r *annRun) measure(ctx context.Context, step string, opts sprat.QueryOptions) (p ANNPoint, err error) {
	opts.FixedWork = r.cfg.FixedWork
	w, err := Workload{
		Queries: r.set.Queries, K: r.cfg.K, Options: opts, Score: r.score,
		Progress: func(done, total int64) { r.cfg.Progress(r.set.Name, step, done, total) },
	}.Run(ctx, r.index)
	if err != nil {
		return p, err
	}
	dials := r.index.DialsFor(r.cfg.K, opts)
	return ANNPoint{dials.RecallTarget, dials.SearchProbe, dials.RescoreLimit, *w}, nil
}

// sweep raises the search probe until it has passed the number of postings or
// the end of the list.
func (r *annRun) sweep(ctx context.Context) error {
	for _, probe := range r.cfg.Probes {
		p, err := r.measure(ctx, fmt.Sprintf("search probe %d", probe), sprat.QueryOptions{SearchProbe: probe})
		if err != nil {
			return err
		}
		r.result.Sweep = append(r.result.Sweep, p)
		if int64(probe) >= r.result.Build.Postings {
			break
		}
	}
	return nil
}

// targets asks for recalls and lets the index choose its dials. What is beyond
// its last preset it answers by reading everything, which says nothing.
func (r *annRun) targets(ctx context.Context) error {
	presets := r.index.Stats().Presets
	for _, recall := range r.cfg.Targets {
		if n := len(presets); n > 0 && recall > presets[n-1].Recall {
			break
		}
		p, err := r.measure(ctx, fmt.Sprintf("recall target %g", recall), sprat.QueryOptions{RecallTarget: recall})
		if err != nil {
			return err
		}
		r.result.Targets = append(r.result.Targets, p)
	}
	return nil
}

// interpolate finds the cost of each recall wanted.
func (r *annRun) interpolate(context.Context) error {
	points := frontier(slices.Concat(r.result.Sweep, r.result.Targets))
	for _, recall := range r.cfg.Recalls {
		r.result.At = append(r.result.At, interpolate(points, recall))
	}
	return nil
}

// repeat measures one point of the sweep again: the first at which recall
// passes the middle of those wanted, or the last.
func (r *annRun) repeat(ctx context.Context) error {
	want := r.cfg.Recalls[len(r.cfg.Recalls)/2]
	point := r.result.Sweep[len(r.result.Sweep)-1]
	for _, p := range r.result.Sweep {
		if p.recall() >= want {
			point = p
			break
		}
	}
	rep := ANNRepeats{SearchProbe: point.SearchProbe}
	sum := 0.0
	for i := range r.cfg.Repeats {
		step := fmt.Sprintf("repeat %d of %d", i+1, r.cfg.Repeats)
		p, err := r.measure(ctx, step, sprat.QueryOptions{SearchProbe: point.SearchProbe})
		if err != nil {
			return err
		}
		rep.QPS = append(rep.QPS, p.QPS)
		sum += p.QPS
	}
	if sum > 0 {
		rep.Spread = (slices.Max(rep.QPS) - slices.Min(rep.QPS)) / (sum / float64(len(rep.QPS)))
	}
	r.result.Repeats = rep
	return nil
}
