package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat"
)

// MixedConfig says what [RunMixed] measures. Set is required; zero values of the
// rest mean the defaults.
type MixedConfig struct {
	// Set gives the vectors, in its natural order, and the queries.
	Set ChurnSet
	// Rows is the number of vectors built before, and put during, the measurement.
	// Default, and at most, half of the set.
	Rows int
	// Work is where the temporary store is made, on the volume to be measured.
	Work string
	// Clients send queries, Callers put Batch vectors a call. Default 1, 8, 100.
	Clients, Callers, Batch int
	// K is the number of results of a query. Default 10.
	K int
	// Quiet is how long queries are measured without puts. Default 10 s.
	Quiet time.Duration
	// Store is how the store is opened.
	Store sprat.Options
	// Index holds the parameters of the index; dimension and metric are the set's.
	Index sprat.IndexConfig
	// Progress, when set, is told the step and how much of it is done, from one
	// goroutine at a time.
	Progress func(step string, done, total int64)
}

// MixedReport is the outcome of [RunMixed].
type MixedReport struct {
	Machine   Machine `json:"machine"`
	Set       string  `json:"set"`
	Vectors   int     `json:"vectors"` // built before, and put during
	Dimension int     `json:"dimension"`
	Callers   int     `json:"callers"`
	Batch     int     `json:"batch"`

	Quiet         *WorkloadReport `json:"quiet"`  // queries alone
	Loaded        *WorkloadReport `json:"loaded"` // queries while vectors are put
	PutsPerSecond float64         `json:"puts_per_second"`
	// P99Ratio is the loaded p99 by the quiet one.
	P99Ratio float64 `json:"p99_ratio"`
	// PostingBytesMax is the largest posting that was seen during the load.
	PostingBytesMax int `json:"posting_bytes_max"`
}

// MaxP99Ratio is the budget of MixedReport.P99Ratio.
const MaxP99Ratio = 3

// RunMixed builds an index of half a set, measures queries alone, and then while
// the other half is put at full speed. Everything is in a temporary store, which
// it removes.
func RunMixed(ctx context.Context, cfg MixedConfig) (_ *MixedReport, err error) {
	churn := ChurnConfig{
		Set: cfg.Set, Rows: cfg.Rows, Callers: cfg.Callers, Batch: cfg.Batch, K: cfg.K, Store: cfg.Store, Index: cfg.Index,
	}
	if cfg.Progress != nil {
		churn.Progress = func(_, step string, done, total int64) { cfg.Progress(step, done, total) }
	}
	churn = churn.withDefaults()
	if cfg.Quiet == 0 {
		cfg.Quiet = 10 * time.Second
	}
	dir, err := os.MkdirTemp(cfg.Work, "sprat-mixed-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rows, err := stageChurnRows(filepath.Join(dir, "rows.fbin"), churn.Set, churn.Rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Set.Name, err)
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	r := &churnRun{cfg: &churn, dir: dir, rows: rows, out: &ChurnCase{}, way: churnWay{
		name: "mixed", built: func(_ *churnRows, i int) int { return i }, of: 1,
	}}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.make(ctx, filepath.Join(dir, "store")); err != nil {
		return nil, err
	}
	out := &MixedReport{
		Machine: ThisMachine(), Set: cfg.Set.Name, Vectors: rows.n, Dimension: rows.dim, Callers: churn.Callers, Batch: churn.Batch,
	}
	load := Workload{Queries: churn.Set.Queries, K: churn.K, Clients: cfg.Clients, Duration: cfg.Quiet}
	r.say("quiet", 0, 0)
	if out.Quiet, err = load.Run(ctx, r.index); err != nil {
		return nil, err
	}
	if err := r.loaded(ctx, load, out); err != nil {
		return nil, err
	}
	out.P99Ratio = out.Loaded.Latency.P99 / max(out.Quiet.Latency.P99, 1e-9)
	return out, nil
}

// loaded measures the queries while the second half of the rows is put.
func (r *churnRun) loaded(ctx context.Context, load Workload, out *MixedReport) error {
	done := make(chan struct{})
	load.Duration, load.Until = 0, done
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(done)
		start := time.Now()
		err := r.calls(ctx, upTo(r.rows.n, 2*r.rows.n), r.put)
		out.PutsPerSecond = float64(r.rows.n) / time.Since(start).Seconds()
		return err
	})
	g.Go(func() (err error) {
		out.Loaded, err = load.Run(ctx, r.index)
		return err
	})
	g.Go(func() error {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			out.PostingBytesMax = max(out.PostingBytesMax, r.index.Stats().PostingBytesMax)
			select {
			case <-done:
				return nil
			case <-tick.C:
			}
		}
	})
	return g.Wait()
}
