package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/internal/demodata"
)

const (
	demoK        = 10
	demoDuration = time.Second / 2 // of the load with several clients
)

// demoWords are some of the held-out words, whose neighbours are shown.
var demoWords = []string{"strawberries", "polynomial", "ammonia", "goalkeeping", "patagonia"}

type demoFlags struct {
	store storeFlags
	words countFlag
	json  bool
}

// demoResult is what demo --json prints.
type demoResult struct {
	Build      *buildResult          `json:"build"`
	Neighbours []demoNeighbours      `json:"neighbours"`
	Single     *bench.WorkloadReport `json:"single"`  // one client
	Several    *bench.WorkloadReport `json:"several"` // as many as keep the machine busy
	Cached     bool                  `json:"cached"`  // whether --cache allowed a cache
	Memory     map[string]int64      `json:"memory"`
	IOCause    string                `json:"io_cause,omitempty"`
	Trace      string                `json:"trace"`
}

type demoNeighbours struct {
	Word    string   `json:"word"`
	Nearest []string `json:"nearest"`
}

func (c *cli) demoCommand() *cobra.Command {
	f := demoFlags{words: countFlag(len(demodata.Words()))}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Build and query a real set of words in a temporary store",
		Long: "demo builds an index of 20,000 English words (GloVe vectors, part of this program) in a temporary store, " +
			"asks it for the neighbours of words that it does not hold, measures recall and cost, and removes the store. " +
			"The temporary folder is the system's: set TMPDIR to try another volume.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.demo(ctx, &f) }),
	}
	f.store.cache = cacheFlag{set: true} // the figures are of a cold store unless --cache says otherwise
	f.store.add(cmd)
	// The report says which I/O engine is in use and why; a warning would say it twice.
	f.store.logLevel.value = "error"
	cmd.Flags().Var(&f.words, "words", "words to load, the most frequent first")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) demo(ctx context.Context, f *demoFlags) (err error) {
	dir, err := os.MkdirTemp("", "sprat-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, closeStore, err := c.open(&f.store, filepath.Join(dir, "store"), false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	bar := c.newProgress()
	defer bar.done()
	d := demo{words: min(int(f.words), len(demodata.Words())), store: store, options: sprat.QueryOptions{FixedWork: f.store.adaptive.value == "off"}, bar: bar}
	for _, step := range []func(context.Context) error{d.build, d.neighbours, d.measure, d.trace} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	st, err := store.Stats()
	if err != nil {
		return err
	}
	d.result.Memory, d.result.IOCause = memoryShares(&st), st.IO.Cause
	d.result.Cached = f.store.cache.option() >= 0
	bar.done()
	return c.emit(f.json, &d.result, func(p *page) { d.result.text(p, st.IO.Cause) })
}

// demo is one demonstration.
type demo struct {
	words   int // that are loaded
	store   *sprat.Store
	index   *sprat.Index
	options sprat.QueryOptions
	bar     *progress
	result  demoResult
}

func (d *demo) build(ctx context.Context) error {
	dim, values := demodata.Vectors()
	rows := func(yield func(sprat.Record, error) bool) {
		for i, word := range demodata.Words()[:d.words] {
			if !yield(sprat.Record{Key: word, Vector: values[i*dim : (i+1)*dim]}, nil) {
				return
			}
		}
	}
	ix, built, err := d.store.Build(ctx, "demo", "words", sprat.IndexConfig{Dimension: dim, Metric: sprat.Cosine},
		rows, sprat.BuildOptions{Progress: d.bar.update})
	if err != nil {
		return err
	}
	d.index, d.result.Build = ix, newBuildResult(ix, built)
	io := d.store.IOInfo()
	d.result.Build.IOEngine, d.result.Build.DirectIO = io.Engine, io.Direct
	return nil
}

// queries are the held-out words and their vectors.
func (d *demo) queries() (words []string, vectors [][]float32) {
	words, values := demodata.Queries()
	return words, slices.Collect(slices.Chunk(values, d.index.Dimension()))
}

func (d *demo) neighbours(ctx context.Context) error {
	words, vectors := d.queries()
	for _, word := range demoWords {
		res, err := d.index.Query(ctx, vectors[slices.Index(words, word)], 6, d.options)
		if err != nil {
			return err
		}
		n := demoNeighbours{Word: word}
		for _, m := range res.Matches {
			n.Nearest = append(n.Nearest, m.Key)
		}
		d.result.Neighbours = append(d.result.Neighbours, n)
	}
	return nil
}

// measure finds the truth by scanning all words, then asks every query with one
// client and with several.
func (d *demo) measure(ctx context.Context) error {
	dim, values := demodata.Vectors()
	_, vectors := d.queries()
	_, truth, err := bench.Truth(ctx, bench.TruthConfig{
		Base:    func() (bench.Reader, error) { return bench.NewMemoryReader(dim, values[:d.words*dim]) },
		Queries: vectors, Metric: bench.Cosine, K: demoK,
		Progress: func(done, total int64) { d.bar.update("exact neighbours", done, total) },
	})
	if err != nil {
		return err
	}
	load := bench.Workload{Queries: vectors, K: demoK, Options: d.options, Warmup: 1,
		Progress: func(done, total int64) { d.bar.update("queries", done, total) }}
	if load.Score, err = bench.ScoreByDistance(truth, bench.Cosine, len(vectors), demoK); err != nil {
		return err
	}
	if d.result.Single, err = load.Run(ctx, d.index); err != nil {
		return err
	}
	load.Clients, load.Duration = 8*runtime.GOMAXPROCS(0), demoDuration
	d.result.Several, err = load.Run(ctx, d.index)
	return err
}

func (d *demo) trace(ctx context.Context) error {
	words, vectors := d.queries()
	opts := d.options
	opts.Trace = true
	res, err := d.index.Query(ctx, vectors[slices.Index(words, demoWords[0])], demoK, opts)
	if err != nil {
		return err
	}
	d.result.Trace = fmt.Sprintf("the %d words nearest to %q\n%s", demoK, demoWords[0], res.Trace)
	return nil
}
