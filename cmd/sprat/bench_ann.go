package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/bench"
)

type benchANNFlags struct {
	store   storeFlags
	tuning  tuningFlags
	sets    []string
	out     string
	work    string
	recalls sharesFlag
	k       countFlag
	repeats countFlag
	expect  bool
	json    bool
}

func (c *cli) benchANNCommand() *cobra.Command {
	f := benchANNFlags{k: 10, repeats: 5, recalls: sharesFlag{0.9, 0.95, 0.99}}
	cmd := &cobra.Command{
		Use:   "ann --sets DIR[,DIR...] --out DIR",
		Short: "Recall against reads on real sets, with tables and a plot",
		Long: "ann builds an index of each set in a temporary store and asks all its queries, one at a time and with " +
			"nothing cached, at many settings of the search probe. It writes ann.json (all figures), ann.md (tables), " +
			"ann.svg and ann.png (recall against reads per query, one line a set).\n\n" +
			"A set is a folder with info.json (\"name\"; \"metric\": cos, l2 or ip), base.* and query.* (vectors), and " +
			"gtdist.fbin (distances of the true neighbours).",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.benchANN(ctx, &f) }),
	}
	f.store.add(cmd)
	f.tuning.add(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.sets, "sets", nil, "`folders` of sets, with commas between")
	fl.StringVar(&f.out, "out", "", "`folder` for the results")
	fl.StringVar(&f.work, "work", "", "`folder` for the temporary stores, on the volume to measure (default: the system's)")
	fl.Var(&f.recalls, "recalls", "recalls to interpolate for and to ask for as targets")
	fl.VarP(&f.k, "k", "k", "number of results of a query")
	fl.Var(&f.repeats, "repeats", "repeated runs of one point, to learn the noise of times")
	fl.BoolVar(&f.expect, "expect", false, "exit with 3 when a set that has a budget of reads exceeds it")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "sets", "out")
	return cmd
}

func (c *cli) benchANN(ctx context.Context, f *benchANNFlags) error {
	opts := f.store.options(c.stderr)
	bar := c.newProgress()
	defer bar.done()
	report, err := bench.RunANN(ctx, bench.ANNConfig{
		Sets: f.sets, Work: f.work, Recalls: f.recalls, K: int(f.k), Repeats: int(f.repeats),
		Store: opts, Index: f.tuning.config(), FixedWork: f.store.adaptive.value == "off",
		Progress: func(set, step string, done, total int64) { bar.update(set+": "+step, done, total) },
	})
	if err != nil {
		return err
	}
	if err := report.WriteFiles(f.out); err != nil {
		return err
	}
	bar.done()
	if err := c.emit(f.json, report, func(p *page) { annText(p, report, f.out) }); err != nil {
		return err
	}
	if over := report.OverBudget(); f.expect && len(over) > 0 {
		return &belowError{"bench ann: " + strings.Join(over, "; ")}
	}
	return nil
}

func annText(p *page, r *bench.ANNReport, out string) {
	p.line("reads per query, k = %d, nothing cached", r.K)
	head := []string{"set"}
	for _, recall := range r.Recalls {
		head = append(head, fmt.Sprintf("recall %g", recall))
	}
	p.row(append(head, "most recall", "vectors/s", "noise of QPS")...)
	for _, s := range r.Sets {
		row, most := []string{s.Name}, "-"
		for _, at := range s.At {
			row, most = append(row, at.Reads()), decimal(at.Best, 4)
		}
		p.row(append(row, most, count(int64(s.Build.VectorsPerSecond)), decimal(100*s.Repeats.Spread, 1)+" %")...)
	}
	p.line("written: ann.json, ann.md, ann.svg, ann.png in %s", out)
}
