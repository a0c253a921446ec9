package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

type queryFlags struct {
	store            storeFlags
	index            indexFlag
	dials            dialFlags
	queries          string
	truth, distances string
	keys             string
	clients, passes  countFlag
	warmup           rowFlag
	duration         spanFlag
	json             bool
}

// queryResult is what query --json prints.
type queryResult struct {
	Server    string `json:"server,omitempty"` // CPU and memory of the process are those of its client then
	Index     string `json:"index"`
	Vectors   uint64 `json:"vectors"`
	Dimension int    `json:"dimension"`
	Metric    string `json:"metric"`
	bench.WorkloadReport
	RecallBy     string           `json:"recall_by,omitempty"` // distance or id
	RecallTarget *float64         `json:"recall_target"`       // null when caps decide
	SearchProbe  int              `json:"search_probe"`
	RescoreLimit int              `json:"rescore_limit"`
	Adaptive     bool             `json:"adaptive"`
	IOEngine     string           `json:"io_engine"`
	DirectIO     bool             `json:"direct_io"`
	Memory       map[string]int64 `json:"memory"` // bytes, by what holds them
}

func (c *cli) queryCommand() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query --data DIR | --addr H:P --index B/I --queries FILE",
		Short: "Run queries against an index and report recall and cost",
		Long: "query asks every query of a file, by one or more clients that each wait for an answer before they ask " +
			"again, and reports recall, times, and what a query cost: reads, bytes, waves and CPU. Recall is by distance " +
			"with --truth-dist (or an .hdf5 file of ann-benchmarks as --truth), else by id.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.query(ctx, &f) }),
	}
	f.store.addDataOrAddr(cmd)
	f.dials.add(cmd)
	fl := cmd.Flags()
	fl.Var(&f.index, "index", "name of the index")
	fl.StringVar(&f.queries, "queries", "", "`file` of vectors to search for")
	fl.StringVar(&f.truth, "truth", "", "`file` of the row numbers of their true neighbours")
	fl.StringVar(&f.distances, "truth-dist", "", "`file` of the distances of their true neighbours")
	fl.StringVar(&f.keys, "keys", "", "`file` of the keys that the index was built with, for recall by id")
	f.clients, f.passes = 1, 1
	fl.Var(&f.clients, "clients", "queries in progress at one time")
	fl.Var(&f.passes, "passes", "how often each query is asked")
	fl.Var(&f.duration, "duration", "ask queries again and again for this long, in place of --passes")
	fl.Var(&f.warmup, "warmup", "passes before those that are measured")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "index", "queries")
	cmd.MarkFlagsMutuallyExclusive("passes", "duration")
	return cmd
}

func (c *cli) query(ctx context.Context, f *queryFlags) (err error) {
	store, closeStore, err := c.openEngine(&f.store, true)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	ix, err := store.index(ctx, f.index)
	if err != nil {
		return err
	}
	queries, err := readQueries(f.queries, ix)
	if err != nil {
		return err
	}
	score, by, err := bench.ReadScorer(f.truth, f.distances, f.keys, ix.Metric().String(), len(queries), int(f.dials.k))
	if err != nil {
		return err
	}
	bar := c.newProgress()
	defer bar.done()
	report, err := bench.Workload{
		Queries: queries, K: int(f.dials.k), Options: f.dials.options(&f.store), Timeout: f.dials.timeout(),
		Clients: int(f.clients), Passes: int(f.passes), Duration: time.Duration(f.duration), Warmup: int(f.warmup),
		Score: score, Progress: func(done, total int64) { bar.update("query", done, total) },
	}.Run(ctx, ix)
	if errors.Is(err, bench.ErrKeysUnknown) {
		return fmt.Errorf("%w: give the file of --keys that the index was built with, or --truth-dist", err)
	}
	if err != nil {
		return queryIn(f.queries, err)
	}
	bar.done()
	r, cause, err := f.result(ctx, store, ix, report)
	if err != nil {
		return err
	}
	r.RecallBy = by
	return c.emit(f.json, r, func(p *page) { r.text(p, cause) })
}

// readQueries reads a file of queries for an index.
func readQueries(path string, ix openIndex) ([][]float32, error) {
	queries, err := bench.ReadVectors(path, bench.Options{Dataset: "test"})
	switch {
	case err != nil:
		return nil, err
	case len(queries) == 0:
		return nil, fmt.Errorf("%s: it holds no queries", path)
	case len(queries[0]) != ix.Dimension():
		return nil, fmt.Errorf("%s: dimension %d, the index %s has %d", path, len(queries[0]), ix.Name(), ix.Dimension())
	}
	return queries, nil
}

// queryIn puts the name of the file before an error about a query's vector.
func queryIn(path string, err error) error {
	var in *sprat.InputError
	if errors.As(err, &in) && in.Field == "vector" {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// result describes a finished load; cause is why the I/O engine is no better one.
func (f *queryFlags) result(ctx context.Context, store engine, ix openIndex, w *bench.WorkloadReport) (*queryResult, string, error) {
	st, err := store.stats(ctx)
	if err != nil {
		return nil, "", err
	}
	x, err := indexOf(&st, ix.Name())
	if err != nil {
		return nil, "", err
	}
	dials, err := ix.dialsFor(ctx, int(f.dials.k), f.dials.options(&f.store))
	if err != nil {
		return nil, "", err
	}
	r := &queryResult{
		Server: f.store.server.addr, Index: ix.Name(), Vectors: x.Vectors, Dimension: ix.Dimension(), Metric: ix.Metric().String(),
		WorkloadReport: *w, SearchProbe: dials.SearchProbe, RescoreLimit: dials.RescoreLimit,
		Adaptive: f.store.adaptive.value == "on", IOEngine: st.IO.Engine, DirectIO: st.IO.Direct, Memory: memoryShares(&st),
	}
	if r.Server != "" {
		delete(r.Memory, "go_heap") // of this process
	}
	if dials.RecallTarget > 0 {
		r.RecallTarget = &dials.RecallTarget
	}
	return r, st.IO.Cause, nil
}

func (r *queryResult) text(p *page, cause string) {
	p.line("%s: %s vectors of dimension %d, %s", r.Index, count(r.Vectors), r.Dimension, r.Metric)
	p.line("%s queries, %d nearest each, %d at a time, in %.2f s", count(r.Queries), r.K, r.Clients, r.Seconds)
	if r.Recall != nil {
		p.row(fmt.Sprintf("recall@%d", r.K), decimal(*r.Recall, 4), "by "+r.RecallBy)
	}
	if r.RecallTarget != nil {
		p.row("recall target", fmt.Sprintf("%g", *r.RecallTarget), "on the index's own sample, which chose the dials")
	}
	dials := fmt.Sprintf("search probe %d, rescore limit %d", r.SearchProbe, r.RescoreLimit)
	if !r.Adaptive {
		dials += ", without stop rules"
	}
	p.row("dials", dials)
	p.row("QPS", decimal(r.QPS, 1), "queries per second")
	l := &r.Latency
	p.row("latency", decimal(l.Mean, 2)+" ms", fmt.Sprintf("mean; p50 %.2f, p95 %.2f, p99 %.2f, most %.2f", l.P50, l.P95, l.P99, l.Max))
	if r.Server != "" {
		p.row("server", r.Server, "CPU and resident memory below are of this client")
	}
	costText(p, &r.WorkloadReport)
	if r.Partial > 0 {
		p.row("partial", count(r.Partial), "answers that a deadline or read budget cut short")
	}
	p.row("memory", decimal(r.RSSMiB, 1)+" MiB", fmt.Sprintf("resident; %.1f MiB at most", r.RSSPeakMiB))
	p.row("I/O", r.IOEngine, directText(r.DirectIO, cause))
}

// costText writes what a query cost and what volumes make of that.
func costText(p *page, r *bench.WorkloadReport) {
	p.row("reads/query", decimal(r.ReadsPerQuery, 2), fmt.Sprintf("operations of the volume: %.2f of postings, %.2f of refine records, %.2f of vectors",
		r.PostingReadsPerQuery, r.RefineReadsPerQuery, r.RecordReadsPerQuery))
	p.row("KiB/query", decimal(r.KiBPerQuery, 1), "read from the volume")
	p.row("waves/query", decimal(r.WavesPerQuery, 2), "sets of reads sent together; each costs one latency of the volume")
	p.row("probes/query", decimal(r.ProbesPerQuery, 2), fmt.Sprintf("postings scanned, with %s codes", count(int64(r.CodesPerQuery))))
	if r.CacheHitRatio > 0 {
		p.row("cache", decimal(100*r.CacheHitRatio, 1)+" %", "of what was needed was in memory")
	}
	p.row("CPU/query", decimal(r.CPUMSPerQuery, 2)+" ms", "of the whole process")
	for _, v := range bench.Volumes {
		qps, limit := v.QPS(r.ReadsPerQuery, r.KiBPerQuery)
		p.row("at most", count(int64(qps))+" QPS", fmt.Sprintf("on a volume of %s IOPS and %s MiB/s, which runs out of %s",
			count(int64(v.IOPS)), count(int64(v.MiBps)), limit))
	}
}
