package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/bench"
)

type truthFlags struct {
	input, queries string
	metric         choiceFlag
	k              countFlag
	ids, distances string
	json           bool
}

// truthResult is what truth --json prints.
type truthResult struct {
	Rows    int64   `json:"rows"`
	Queries int     `json:"queries"`
	K       int     `json:"k"`
	Metric  string  `json:"metric"`
	Seconds float64 `json:"seconds"`
}

func (c *cli) truthCommand() *cobra.Command {
	f := truthFlags{metric: oneOf("", bench.Cosine, bench.Euclidean, bench.Dot), k: 100}
	cmd := &cobra.Command{
		Use:   "truth --input FILE --queries FILE --metric M --truth OUT.ibin --truth-dist OUT.fbin",
		Short: "Find the exact nearest neighbours by scanning everything",
		Long: "truth finds the exact nearest rows of the input for every query and writes their row numbers and " +
			"distances, nearest first: 1 - cos, plain (not squared) Euclidean distance, or minus the inner product. " +
			"An input with fewer rows than -k leaves -1 and +Inf at the end of each line.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.truth(ctx, &f) }),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.input, "input", "", "`file` of vectors")
	fl.StringVar(&f.queries, "queries", "", "`file` of vectors to search for")
	fl.Var(&f.metric, "metric", "how vectors are compared")
	fl.VarP(&f.k, "k", "k", "number of neighbours")
	fl.StringVar(&f.ids, "truth", "", "`file` to write row numbers to (.ibin)")
	fl.StringVar(&f.distances, "truth-dist", "", "`file` to write distances to (.fbin)")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "input", "queries", "metric")
	cmd.MarkFlagsOneRequired("truth", "truth-dist")
	return cmd
}

// distinct refuses an output that is also an input or the other output.
func (f *truthFlags) distinct() error {
	used := map[string]string{}
	for _, file := range []struct{ flag, path string }{
		{"--input", f.input}, {"--queries", f.queries}, {"--truth", f.ids}, {"--truth-dist", f.distances},
	} {
		path := file.path
		if path == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		// Both inputs may be one file: every row asked for itself.
		if other, ok := used[path]; ok && file.flag != "--queries" {
			return badUsage("%s and %s are the same file %s", other, file.flag, file.path)
		}
		used[path] = file.flag
	}
	return nil
}

func (c *cli) truth(ctx context.Context, f *truthFlags) error {
	if err := f.distinct(); err != nil {
		return err
	}
	queries, err := bench.ReadVectors(f.queries, bench.Options{Dataset: "test"})
	if err != nil {
		return err
	}
	bar := c.newProgress()
	defer bar.done()
	start, rows := time.Now(), int64(0)
	ids, distances, err := bench.Truth(ctx, bench.TruthConfig{
		Base:    func() (bench.Reader, error) { return bench.Open(f.input) },
		Queries: queries, Metric: f.metric.value, K: int(f.k),
		Progress: func(done, total int64) {
			rows = done
			bar.update("scan", done, total)
		},
	})
	if err != nil {
		return err
	}
	if f.ids != "" {
		err = bench.WriteIBin(f.ids, ids)
	}
	if f.distances != "" {
		err = errors.Join(err, bench.WriteFBin(f.distances, distances))
	}
	if err != nil {
		return err
	}
	bar.done()
	r := truthResult{Rows: rows, Queries: len(queries), K: int(f.k), Metric: f.metric.value, Seconds: time.Since(start).Seconds()}
	return c.emit(f.json, r, func(p *page) {
		p.line("the %d nearest of %s rows for each of %s queries (%s), in %.2f s", r.K, count(r.Rows), count(r.Queries), r.Metric, r.Seconds)
	})
}
