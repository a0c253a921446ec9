package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat"
)

// Searcher answers queries. A *sprat.Index is one. It must be safe for use by
// several goroutines at once.
type Searcher interface {
	// Query returns the k vectors nearest to q, as [sprat.Index.Query] does.
	Query(ctx context.Context, q []float32, k int, opts sprat.QueryOptions) (*sprat.Result, error)
}

// Workload is a closed-loop load of queries: each client sends the next one
// when it has the answer to the last. Queries are taken in order, each pass over them
// by all clients together. The zero value of every field but Queries and K is the
// default.
type Workload struct {
	// Queries are the vectors to search for, at least one. They are only read.
	Queries [][]float32
	// K is the number of results wanted, at least 1.
	K int
	// Options go with every query.
	Options sprat.QueryOptions
	// Timeout, when above 0, gives each query a deadline this long after its
	// start, in place of Options.Deadline.
	Timeout time.Duration
	// Clients is the number of queries in progress at one time. Default 1.
	Clients int
	// Passes is how often each query is asked. Default 1.
	Passes int
	// Duration, when above 0, takes the place of Passes: no query starts later.
	Duration time.Duration
	// Until, when set, takes the place of Passes and Duration: no query starts
	// after it is closed.
	Until <-chan struct{}
	// Warmup is the number of passes before those that are measured. Default 0.
	Warmup int
	// Score, when set, judges every measured answer.
	Score Scorer
	// Progress, when set, is told the queries answered so far and the number
	// of them (0 when unknown), from one goroutine at a time.
	Progress func(done, total int64)
}

// ErrWorkload marks a [Workload] that cannot be run.
var ErrWorkload = errors.New("bad workload")

func (w Workload) withDefaults() Workload {
	if w.Clients == 0 {
		w.Clients = 1
	}
	if w.Passes == 0 {
		w.Passes = 1
	}
	if w.Progress == nil {
		w.Progress = func(int64, int64) {}
	}
	return w
}

func (w *Workload) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("bench: %w: "+format, append([]any{ErrWorkload}, args...)...))
	}
	if len(w.Queries) == 0 {
		bad("no queries")
	}
	if w.K < 1 {
		bad("k of %d, want at least 1", w.K)
	}
	if w.Clients < 1 || w.Passes < 1 || w.Warmup < 0 || w.Duration < 0 || w.Timeout < 0 {
		bad("negative clients (%d), passes (%d), warm-up (%d), duration (%v) or timeout (%v)",
			w.Clients, w.Passes, w.Warmup, w.Duration, w.Timeout)
	}
	return errors.Join(errs...)
}

// Run sends the load to target and reports what it cost. The first error ends
// it: ErrWorkload, the context's, that of a query (with its row in Queries), or
// that of Score. Figures of the process (CPU, memory) count everything it does
// meanwhile, so a fair measurement runs alone in its process.
func (w Workload) Run(ctx context.Context, target Searcher) (*WorkloadReport, error) {
	w = w.withDefaults()
	if err := w.validate(); err != nil {
		return nil, err
	}
	if w.Warmup > 0 {
		warm := w
		warm.Passes, warm.Duration, warm.Until, warm.Score = w.Warmup, 0, nil, nil
		if _, err := warm.measure(ctx, target); err != nil {
			return nil, err
		}
	}
	return w.measure(ctx, target)
}

func (w *Workload) measure(ctx context.Context, target Searcher) (*WorkloadReport, error) {
	t := newTally(w)
	var next atomic.Int64 // number of the next query to send
	g, ctx := errgroup.WithContext(ctx)
	cpu, start := processCPU(), time.Now()
	for range w.Clients {
		g.Go(func() error { return w.client(ctx, target, t, &next, start) })
	}
	err := g.Wait()
	elapsed, cpu := time.Since(start), processCPU()-cpu
	if err != nil {
		return nil, err
	}
	return t.report(elapsed, cpu), nil
}

// client sends queries until the load ends.
func (w *Workload) client(ctx context.Context, target Searcher, t *tally, next *atomic.Int64, start time.Time) error {
	for {
		n := next.Add(1) - 1
		if w.ended(n, start) {
			return nil
		}
		row := int(n % int64(len(w.Queries)))
		opts, begin := w.Options, time.Now()
		if w.Timeout > 0 {
			opts.Deadline = begin.Add(w.Timeout)
		}
		res, err := target.Query(ctx, w.Queries[row], w.K, opts)
		took := time.Since(begin)
		if err != nil {
			return fmt.Errorf("query in row %d: %w", row, err)
		}
		if err := t.add(row, took, res); err != nil {
			return err
		}
	}
}

// ended tells whether query number n is one too many. The first is always sent.
func (w *Workload) ended(n int64, start time.Time) bool {
	if w.Until != nil {
		select {
		case <-w.Until:
			return n > 0
		default:
			return false
		}
	}
	if w.Duration > 0 {
		return n > 0 && time.Since(start) >= w.Duration
	}
	return n >= w.total()
}

// total is the number of queries, 0 when the clock decides.
func (w *Workload) total() int64 {
	if w.Duration > 0 || w.Until != nil {
		return 0
	}
	return int64(w.Passes) * int64(len(w.Queries))
}
