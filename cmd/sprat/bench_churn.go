package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/internal/demodata"
)

type benchChurnFlags struct {
	store   storeFlags
	tuning  tuningFlags
	setsDir string
	set     string
	out     string
	work    string
	rows    countFlag
	queries countFlag
	callers countFlag
	batch   countFlag
	k       countFlag
	json    bool
}

func (c *cli) benchChurnCommand() *cobra.Command {
	f := benchChurnFlags{k: 10, callers: 8, batch: 100}
	cmd := &cobra.Command{
		Use:   "churn --out DIR [--sets-dir DIR]",
		Short: "Recall and cost of an index that came about by live changes",
		Long: "churn makes the same content in four ways, each in a temporary store: by a bulk build, by live puts into an " +
			"empty index, by a bulk build of which half the vectors are then replaced, and by one of twice the content of " +
			"which half is then deleted. It lets maintenance finish, verifies, and asks the same queries of each at the same " +
			"dials, with nothing cached. It writes churn.json (all figures) and churn.md (tables).\n\n" +
			"The set is a folder as bench ann reads it; without --sets-dir it is the words of the demo.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.benchChurn(ctx, &f) }),
	}
	f.store.add(cmd)
	f.tuning.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.setsDir, "sets-dir", "", "`folder` of folders of sets")
	fl.StringVar(&f.set, "set", "text-lsa384", "`name` of the set in it")
	fl.StringVar(&f.out, "out", "", "`folder` for the results")
	fl.StringVar(&f.work, "work", "", "`folder` for the temporary stores, on the volume to measure (default: the system's)")
	fl.Var(&f.rows, "rows", "vectors of the final content, at most half of the set (default that half)")
	fl.Var(&f.queries, "queries", "queries to ask at each setting (default all)")
	fl.Var(&f.callers, "callers", "calls in progress while the index changes")
	fl.Var(&f.batch, "batch", "vectors of a call")
	fl.VarP(&f.k, "k", "k", "number of results of a query")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "out")
	return cmd
}

// churnSet is the set that the flags name.
func (f *benchChurnFlags) churnSet() (bench.ChurnSet, error) {
	if f.setsDir != "" {
		return bench.OpenChurnSet(filepath.Join(f.setsDir, f.set))
	}
	dim, rows := demodata.Vectors()
	_, queries := demodata.Queries()
	return bench.ChurnSet{
		Name: "demo words", Metric: bench.Cosine,
		Base:    func() (bench.Reader, error) { return bench.NewMemoryReader(dim, rows) },
		Queries: slices.Collect(slices.Chunk(queries, dim)),
	}, nil
}

func (c *cli) benchChurn(ctx context.Context, f *benchChurnFlags) error {
	set, err := f.churnSet()
	if err != nil {
		return err
	}
	opts := f.store.options(c.stderr)
	bar := c.newProgress()
	defer bar.done()
	report, err := bench.RunChurn(ctx, bench.ChurnConfig{
		Set: set, Rows: int(f.rows), Queries: int(f.queries), Work: f.work, K: int(f.k),
		Callers: int(f.callers), Batch: int(f.batch), Store: opts, Index: f.tuning.config(),
		Progress: func(name, step string, done, total int64) { bar.update(name+": "+step, done, total) },
	})
	if err != nil {
		return err
	}
	if err := report.WriteFiles(f.out); err != nil {
		return err
	}
	bar.done()
	return c.emit(f.json, report, func(p *page) { churnText(p, report, f.out) })
}

func churnText(p *page, r *bench.ChurnReport, out string) {
	p.line("%s vectors of %s, k = %d, nothing cached; recall and reads per query", count(r.Vectors), r.Set, r.K)
	for i, c := range r.Cases {
		points := slices.Concat(c.Fixed, c.Targets)
		if i == 0 {
			head := []string{"case"}
			for _, pt := range points {
				if pt.RecallTarget > 0 {
					head = append(head, fmt.Sprintf("target %g", pt.RecallTarget))
				} else {
					head = append(head, fmt.Sprintf("probe %d", pt.SearchProbe))
				}
			}
			p.row(append(head, "KiB max", "disk", "changes/s", "settled/s")...)
		}
		row := []string{c.Name}
		for _, pt := range points {
			recall := "-"
			if pt.Recall != nil {
				recall = decimal(*pt.Recall, 4)
			}
			row = append(row, recall+" "+decimal(pt.ReadsPerQuery, 1))
		}
		row = append(row, decimal(float64(c.PostingBytesMax)/1024, 1), size(c.DiskBytes))
		if l := c.Live; l != nil {
			row = append(row, count(int64(l.PerSecond())), count(int64(l.SettledPerSecond())))
		} else {
			row = append(row, "-", "-")
		}
		p.row(row...)
	}
	p.line("written: %s in %s", strings.Join([]string{"churn.json", "churn.md"}, ", "), out)
}
