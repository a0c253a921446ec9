package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/bench"
)

type benchMixedFlags struct {
	churn   benchChurnFlags // the same set, store and callers
	clients countFlag
	quiet   time.Duration
	expect  bool
}

func (c *cli) benchMixedCommand() *cobra.Command {
	f := benchMixedFlags{churn: benchChurnFlags{k: 10, callers: 8, batch: 100}, clients: 1}
	cmd := &cobra.Command{
		Use:   "mixed [--sets-dir DIR]",
		Short: "Times of queries alone and under a full-speed load of puts",
		Long: "mixed builds an index of half a set in a temporary store, measures queries alone, and then while the other half " +
			"is put as fast as it will go. The set is a folder as bench ann reads it; without --sets-dir it is the words of " +
			"the demo.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.benchMixed(ctx, &f) }),
	}
	f.churn.store.add(cmd)
	f.churn.tuning.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.churn.setsDir, "sets-dir", "", "`folder` of folders of sets")
	fl.StringVar(&f.churn.set, "set", "text-lsa384", "`name` of the set in it")
	fl.StringVar(&f.churn.work, "work", "", "`folder` for the temporary store, on the volume to measure (default: the system's)")
	fl.Var(&f.churn.rows, "rows", "vectors built before and put during the measurement, at most half of the set (default that half)")
	fl.Var(&f.churn.callers, "callers", "calls that put at one time")
	fl.Var(&f.churn.batch, "batch", "vectors of a call")
	fl.Var(&f.clients, "clients", "queries at one time")
	fl.DurationVar(&f.quiet, "quiet", 10*time.Second, "how long queries are measured alone")
	fl.VarP(&f.churn.k, "k", "k", "number of results of a query")
	fl.BoolVar(&f.expect, "expect", false, fmt.Sprintf("exit with 3 when the loaded p99 is more than %d times the quiet one", bench.MaxP99Ratio))
	fl.BoolVar(&f.churn.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) benchMixed(ctx context.Context, f *benchMixedFlags) error {
	set, err := f.churn.churnSet()
	if err != nil {
		return err
	}
	opts := f.churn.store.options(c.stderr)
	bar := c.newProgress()
	defer bar.done()
	report, err := bench.RunMixed(ctx, bench.MixedConfig{
		Set: set, Rows: int(f.churn.rows), Work: f.churn.work, K: int(f.churn.k), Clients: int(f.clients),
		Callers: int(f.churn.callers), Batch: int(f.churn.batch), Quiet: f.quiet, Store: opts, Index: f.churn.tuning.config(),
		Progress: func(step string, done, total int64) { bar.update(step, done, total) },
	})
	if err != nil {
		return err
	}
	bar.done()
	if err := c.emit(f.churn.json, report, func(p *page) { mixedText(p, report) }); err != nil {
		return err
	}
	if f.expect && report.P99Ratio > bench.MaxP99Ratio {
		return &belowError{fmt.Sprintf("bench mixed: p99 under load is %.2f times the quiet one, allowed are %d", report.P99Ratio, bench.MaxP99Ratio)}
	}
	return nil
}

func mixedText(p *page, r *bench.MixedReport) {
	p.line("%s vectors of %s built, then as many put by %d callers, %d a call: %s/s", count(r.Vectors), r.Set, r.Callers, r.Batch,
		count(int64(r.PutsPerSecond)))
	p.row("queries", "QPS", "p50 ms", "p95 ms", "p99 ms", "max ms")
	for _, at := range []struct {
		name string
		w    *bench.WorkloadReport
	}{{"alone", r.Quiet}, {"under load", r.Loaded}} {
		l := at.w.Latency
		p.row(at.name, decimal(at.w.QPS, 0), decimal(l.P50, 2), decimal(l.P95, 2), decimal(l.P99, 2), decimal(l.Max, 2))
	}
	p.line("p99 under load is %s times that alone; the largest posting seen had %s", decimal(r.P99Ratio, 2), size(int64(r.PostingBytesMax)))
}
