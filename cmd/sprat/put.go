package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

type putFlags struct {
	store    storeFlags
	index    indexFlag
	files    bench.InputFiles
	metric   choiceFlag
	tuning   tuningFlags
	batch    int
	callers  int
	noSettle bool
	json     bool
}

// putResult is what put --json prints.
type putResult struct {
	Index                   string  `json:"index"`
	Vectors                 int64   `json:"vectors"` // put
	Total                   uint64  `json:"total"`   // in the index afterwards
	Dimension               int     `json:"dimension"`
	Created                 bool    `json:"created"`
	Calls                   int64   `json:"calls"`
	Seconds                 float64 `json:"seconds"`
	VectorsPerSecond        float64 `json:"vectors_per_second"`
	SettleSeconds           float64 `json:"settle_seconds"`
	SettledVectorsPerSecond float64 `json:"settled_vectors_per_second"`
	Postings                int     `json:"postings"`
	PostingBytesMax         int     `json:"posting_bytes_max"`
	MemoryPeakMiB           float64 `json:"memory_peak_mib"`
}

func (c *cli) putCommand() *cobra.Command {
	f := putFlags{metric: oneOf("", bench.Cosine, bench.Euclidean, bench.Dot)}
	cmd := &cobra.Command{
		Use:   "put --data DIR | --addr H:P --index B/I --input FILE",
		Short: "Insert vectors into a live index, or replace them",
		Long: "put inserts the vectors of a file into an index, call by call, and replaces those whose keys exist. Each " +
			"call is durable when it returns. The index is made when it is missing and --metric is given. At the end it " +
			"waits until the maintenance behind the writes is done.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.put(ctx, &f) }),
	}
	f.store.addDataOrAddr(cmd)
	fl := cmd.Flags()
	fl.Var(&f.index, "index", "name of the index")
	fl.StringVar(&f.files.Vectors, "input", "", "`file` of vectors")
	fl.StringVar(&f.files.Keys, "keys", "", "`file` of keys, one a line (default: those of the input, or else row numbers)")
	fl.StringVar(&f.files.Metadata, "metadata", "", "`file` of JSON objects, one a line")
	fl.Var(&f.metric, "metric", "how vectors are compared; makes the index when it is missing")
	fl.IntVar(&f.batch, "batch", 100, "vectors of a call")
	fl.IntVar(&f.callers, "callers", 8, "calls at one time")
	fl.BoolVar(&f.noSettle, "no-settle", false, "do not wait for maintenance at the end")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	f.tuning.add(cmd)
	require(cmd, "index", "input")
	return cmd
}

func (c *cli) put(ctx context.Context, f *putFlags) (err error) {
	if f.batch < 1 || f.callers < 1 || f.callers > 1024 {
		return &usageError{"--batch wants at least 1, --callers 1 to 1,024"}
	}
	in, err := bench.OpenInput(f.files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	store, closeStore, err := c.openEngine(&f.store, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	r := &putResult{Dimension: in.Dim()}
	ix, err := store.index(ctx, f.index)
	if errors.Is(err, sprat.ErrNotFound) && f.metric.value != "" {
		ix, err = createFor(ctx, store, f, in.Dim())
		r.Created = true
	}
	if err == nil && f.metric.value != "" && f.metric.value != ix.Metric().String() {
		err = badUsage("index %s compares by %s, not by %s", ix.Name(), ix.Metric(), f.metric.value)
	}
	if err != nil {
		return err
	}
	bar := c.newProgress()
	defer bar.done()
	start := time.Now()
	if r.Calls, r.Vectors, err = putAll(ctx, ix, in, f, bar); err != nil {
		return rowIn(f.files.Vectors, err)
	}
	r.Seconds = time.Since(start).Seconds()
	if !f.noSettle {
		if err := ix.Settle(ctx); err != nil {
			return err
		}
	}
	bar.done()
	whole := time.Since(start).Seconds()
	st, err := ix.stats(ctx)
	if err != nil {
		return err
	}
	r.finish(&st, whole)
	return c.emit(f.json, r, r.text)
}

// createFor makes the index that a file of vectors is put into.
func createFor(ctx context.Context, store engine, f *putFlags, dim int) (openIndex, error) {
	config := f.tuning.config()
	config.Dimension = dim
	var err error
	if config.Metric, err = sprat.ParseMetric(f.metric.value); err != nil {
		return nil, err
	}
	return store.create(ctx, f.index, config)
}

// putAll puts the rows of an input, several calls at one time.
func putAll(ctx context.Context, ix openIndex, in *bench.Input, f *putFlags, bar *progress) (calls, vectors int64, err error) {
	batches := make(chan []sprat.Record)
	g, ctx := errgroup.WithContext(ctx)
	var done, made atomic.Int64
	g.Go(func() error {
		defer close(batches)
		return readBatches(ctx, in, f.batch, batches)
	})
	for range f.callers {
		g.Go(func() error {
			for b := range batches {
				if err := ix.Put(ctx, b); err != nil {
					return err
				}
				made.Add(1)
				bar.update("put", done.Add(int64(len(b))), 0)
			}
			return nil
		})
	}
	err = g.Wait()
	return made.Load(), done.Load(), err
}

// readBatches sends the rows of an input in batches. A key that comes again ends
// the batch: a call holds each key once.
func readBatches(ctx context.Context, in *bench.Input, size int, to chan<- []sprat.Record) error {
	var batch []sprat.Record
	keys := map[string]bool{}
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		select {
		case to <- batch:
		case <-ctx.Done():
			return ctx.Err()
		}
		batch = nil
		clear(keys)
		return nil
	}
	for rec, err := range in.Records() {
		if err != nil {
			return err
		}
		if len(batch) == size || keys[rec.Key] {
			if err := send(); err != nil {
				return err
			}
		}
		keys[rec.Key] = true
		rec.Vector, rec.Metadata = slices.Clone(rec.Vector), slices.Clone(rec.Metadata)
		batch = append(batch, rec)
	}
	return send()
}

func (r *putResult) finish(st *sprat.IndexStats, whole float64) {
	r.Index, r.Total, r.Postings, r.PostingBytesMax = st.Name, st.Vectors, st.Postings, st.PostingBytesMax
	r.SettleSeconds = whole - r.Seconds
	if r.Seconds > 0 {
		r.VectorsPerSecond = float64(r.Vectors) / r.Seconds
		r.SettledVectorsPerSecond = float64(r.Vectors) / whole
	}
	r.MemoryPeakMiB = float64(bench.ProcessMemory().Peak) / (1 << 20)
}

func (r *putResult) text(p *page) {
	p.line("put %s vectors of dimension %d into %s, which holds %s now", count(r.Vectors), r.Dimension, r.Index, count(int64(r.Total)))
	p.row("time", decimal(r.Seconds, 2)+" s", count(int64(r.VectorsPerSecond))+" vectors/s durable")
	p.row("maintenance", decimal(r.SettleSeconds, 2)+" s", count(int64(r.SettledVectorsPerSecond))+" vectors/s with nothing left behind")
	p.row("postings", count(int64(r.Postings)), "largest "+size(int64(r.PostingBytesMax)))
	p.row("memory", decimal(r.MemoryPeakMiB, 1)+" MiB", "most that the process had resident")
}
