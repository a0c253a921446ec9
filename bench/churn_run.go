package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat"
)

// churnRun is the experiment on one set.
type churnRun struct {
	cfg    *ChurnConfig
	dir    string
	rows   *churnRows
	score  Scorer
	report *ChurnReport

	// Of the case at hand.
	way   churnWay
	store *sprat.Store // nil when closed
	index *sprat.Index
	out   *ChurnCase
}

// truth finds the true neighbours in the final content.
func (r *churnRun) truth(ctx context.Context) error {
	_, distances, err := Truth(ctx, TruthConfig{
		Base: r.rows.final, Queries: r.cfg.Set.Queries, Metric: r.cfg.Set.Metric, K: r.cfg.K,
		Progress: func(done, _ int64) { r.cfg.Progress("truth", "scan", done, int64(r.rows.n)) },
	})
	if err == nil {
		r.score, err = ScoreByDistance(distances, r.cfg.Set.Metric, len(r.cfg.Set.Queries), r.cfg.K)
	}
	return err
}

// measure makes the content in one way and measures what came of it.
func (r *churnRun) measure(ctx context.Context, way churnWay) (_ *ChurnCase, err error) {
	r.way, r.out = way, &ChurnCase{Name: way.name, How: way.how}
	dir := filepath.Join(r.dir, way.name)
	defer func() { err = errors.Join(err, r.close(), os.RemoveAll(dir)) }()
	for _, step := range []func(context.Context, string) error{r.make, r.change, r.describe, r.query} {
		if err := step(ctx, dir); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// close closes the store if it is open.
func (r *churnRun) close() error {
	if r.store == nil {
		return nil
	}
	s := r.store
	r.store, r.index = nil, nil
	return s.Close()
}

func (r *churnRun) say(step string, done, total int64) { r.cfg.Progress(r.way.name, step, done, total) }

// make opens a store and bulk builds what the way begins with.
func (r *churnRun) make(ctx context.Context, dir string) error {
	freshMemoryPeak()
	metric, err := sprat.ParseMetric(r.cfg.Set.Metric)
	if err != nil {
		return err
	}
	if r.store, err = sprat.Open(dir, r.cfg.Store); err != nil {
		return err
	}
	config := r.cfg.Index
	config.Dimension, config.Metric = r.rows.dim, metric
	if r.way.built == nil {
		r.index, err = r.store.CreateIndex(ctx, "bench", indexName, config)
		return err
	}
	var stats sprat.BuildStats
	r.index, stats, err = r.store.Build(ctx, "bench", indexName, config, r.rows.records(r.way.of*r.rows.n, r.way.built),
		sprat.BuildOptions{Progress: r.say})
	r.out.Build = stats.Elapsed.Seconds()
	r.out.MemoryPeakMiB = mebibytes(ProcessMemory().Peak)
	return err
}

// change makes the live changes of the way and waits until maintenance is done.
func (r *churnRun) change(ctx context.Context, _ string) error {
	var keys []int
	var call func(ctx context.Context, keys []int) error
	switch {
	case r.way.put != nil:
		keys, call = r.way.put(r.rows), r.put
	case r.way.del != nil:
		keys, call = r.way.del(r.rows), r.delete
	default:
		return nil
	}
	freshMemoryPeak()
	start := time.Now()
	if err := r.calls(ctx, keys, call); err != nil {
		return err
	}
	durable := time.Since(start)
	r.say("settle", 0, 0)
	if err := r.index.Settle(ctx); err != nil {
		return err
	}
	r.out.Live = &ChurnLive{int64(len(keys)), durable.Seconds(), (time.Since(start) - durable).Seconds()}
	r.out.MemoryPeakMiB = mebibytes(ProcessMemory().Peak)
	return nil
}

// calls makes calls for the keys in their order, several at a time.
func (r *churnRun) calls(ctx context.Context, keys []int, call func(context.Context, []int) error) error {
	var mu sync.Mutex
	left := keys
	next := func() (batch []int) {
		mu.Lock()
		defer mu.Unlock()
		n := min(r.cfg.Batch, len(left))
		batch, left = left[:n], left[n:]
		r.say("change", int64(len(keys)-len(left)), int64(len(keys)))
		return batch
	}
	g, ctx := errgroup.WithContext(ctx)
	for range r.cfg.Callers {
		g.Go(func() error {
			for batch := next(); len(batch) > 0; batch = next() {
				if err := call(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// put gives keys the vectors of the final content.
func (r *churnRun) put(ctx context.Context, keys []int) error {
	records := make([]sprat.Record, len(keys))
	for i, key := range keys {
		var err error
		if records[i], err = r.rows.record(key, key); err != nil {
			return err
		}
	}
	return r.index.Put(ctx, records)
}

func (r *churnRun) delete(ctx context.Context, keys []int) error {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = strconv.Itoa(key)
	}
	n, err := r.index.Delete(ctx, names)
	if err == nil && n != len(names) {
		err = fmt.Errorf("bench: churn: %d of %d keys were there to delete", n, len(names))
	}
	return err
}

// describe verifies the index and notes its shape.
func (r *churnRun) describe(ctx context.Context, _ string) error {
	v, err := r.index.Verify(ctx, func(step string, done, total int64) { r.say("verify "+step, done, total) })
	if err != nil {
		return err
	}
	if !v.OK() || v.Records != int64(r.rows.n) {
		return fmt.Errorf("bench: churn: %d of %d vectors, %d faults: %.3q", v.Records, r.rows.n, v.Faults, v.Problems)
	}
	st, out := r.index.Stats(), r.out
	out.Postings, out.PostingBytesMean, out.PostingBytesMax = st.Postings, st.PostingBytesMean, st.PostingBytesMax
	out.CopiesMean, out.NearestViolations = v.CopiesMean, v.NearestViolations
	out.StaleEntries = float64(v.Stale) / max(float64(v.Entries), 1)
	out.Disk, out.DiskBytes = st.Disk, st.Disk.Total
	return nil
}

// query reopens the store without a cache and asks all queries at every setting.
func (r *churnRun) query(ctx context.Context, dir string) error {
	if err := r.close(); err != nil {
		return err
	}
	_ = DropPageCache() // without privileges, or with direct I/O, it makes no difference to what is counted
	opts := r.cfg.Store
	opts.CacheBytes = -1
	var err error
	if r.store, err = sprat.Open(dir, opts); err != nil {
		return err
	}
	if r.index, err = r.store.Index("bench", indexName); err != nil {
		return err
	}
	io := r.store.IOInfo()
	r.report.IOEngine, r.report.DirectIO = io.Engine, io.Direct
	for _, probe := range r.cfg.Probes {
		p, err := r.ask(ctx, fmt.Sprintf("search probe %d", probe),
			sprat.QueryOptions{SearchProbe: probe, RescoreLimit: r.cfg.RescoreLimit, FixedWork: true})
		if err != nil {
			return err
		}
		r.out.Fixed = append(r.out.Fixed, p)
	}
	for _, target := range r.cfg.Targets {
		p, err := r.ask(ctx, fmt.Sprintf("recall target %g", target), sprat.QueryOptions{RecallTarget: target})
		if err != nil {
			return err
		}
		r.out.Targets = append(r.out.Targets, p)
	}
	return nil
}

// ask asks all queries once with these options.
func (r *churnRun) ask(ctx context.Context, step string, opts sprat.QueryOptions) (p ANNPoint, err error) {
	w, err := Workload{
		Queries: r.cfg.Set.Queries, K: r.cfg.K, Options: opts, Score: r.score,
		Progress: func(done, total int64) { r.say(step, done, total) },
	}.Run(ctx, r.index)
	if err != nil {
		return p, err
	}
	dials := r.index.DialsFor(r.cfg.K, opts)
	return ANNPoint{dials.RecallTarget, dials.SearchProbe, dials.RescoreLimit, *w}, nil
}
