package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// TruthConfig says what [Truth] computes.
type TruthConfig struct {
	// Base opens the rows that are searched; their ids are their positions, from 0.
	// Truth reads it once and closes it.
	Base func() (Reader, error)
	// Queries are the vectors whose nearest rows are wanted, at least one, all of
	// the base's dimension. They are only read.
	Queries [][]float32
	// Metric is Cosine, Euclidean or Dot.
	Metric string
	// K is the number of rows wanted for each query, at least 1.
	K int
	// Workers is the number of goroutines that compute; default GOMAXPROCS. The
	// result does not depend on it.
	Workers int
	// Progress, when set, is told the rows searched so far and the rows there are
	// (-1 when unknown), from one goroutine at a time.
	Progress func(done, total int64)
}

// Truth finds the exact K nearest base rows of every query. It returns their ids
// and distances, both [len(Queries)][K], nearest first and ties to the lower id; a
// base of fewer than K rows leaves -1 and +Inf at the end. Distances are 1 - cos,
// plain Euclidean distance, or -dot.
//
// Every row is first scored in float32; whoever might still belong to the K nearest
// by that score plus its greatest possible rounding error is scored again in
// float64, which alone decides. So the order is that of float64 for any data, and
// data that defeats float32 (far from the origin, huge, tiny) only costs time.
//
// The base is streamed; memory is 24 bytes for each result and two batches of 4
// MiB. A zero vector under cosine is an error that wraps [ErrZeroVector]; a name
// that is no metric wraps [ErrMetric]; ctx ends the work with its own error.
func Truth(ctx context.Context, cfg TruthConfig) (*Neighbors, *Matrix, error) {
	if err := cfg.check(); err != nil {
		return nil, nil, err
	}
	base, err := cfg.Base()
	if err != nil {
		return nil, nil, err
	}
	ids, dist, err := truth(ctx, cfg, base)
	if err := errors.Join(err, base.Close()); err != nil {
		return nil, nil, err
	}
	return ids, dist, nil
}

// check refuses configurations that name nothing to compute.
func (c *TruthConfig) check() error {
	if c.Base == nil || len(c.Queries) == 0 || c.K < 1 {
		return fmt.Errorf("bench: truth: want a base, at least 1 query and K of at least 1, got %d queries and K of %d", len(c.Queries), c.K)
	}
	return checkMetric(c.Metric)
}

func truth(ctx context.Context, cfg TruthConfig, base Reader) (*Neighbors, *Matrix, error) {
	searches, err := newSearches(cfg, base.Dim())
	if err != nil {
		return nil, nil, err
	}
	workers := cfg.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	// Two batches: the workers search one while the next is read.
	free, full := make(chan *batch, 2), make(chan *batch, 2)
	for range cap(free) {
		free <- newBatch(base.Dim())
	}
	var readErr error
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(full)
		readErr = readBatches(ctx, base, cfg.Metric, free, full)
	})
	done := int64(0)
	for b := range full {
		searchBatch(searches, b, workers)
		done += int64(b.n)
		if cfg.Progress != nil {
			cfg.Progress(done, base.Rows())
		}
		free <- b
	}
	reader.Wait()
	if readErr != nil {
		return nil, nil, readErr
	}
	ids, dist := collect(searches, cfg)
	return ids, dist, nil
}

// readBatches fills batches from base until it ends or ctx does.
func readBatches(ctx context.Context, base Reader, metric string, free <-chan *batch, full chan<- *batch) error {
	var row Row
	for first := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("bench: truth: %w", err)
		}
		b := <-free
		b.reset(first)
		for b.n < b.cap() {
			err := base.Next(&row)
			if errors.Is(err, io.EOF) {
				full <- b
				return nil
			}
			if err != nil {
				return err
			}
			if err := b.add(row.Vector, metric); err != nil {
				return err
			}
		}
		full <- b
		first += int64(b.n)
	}
}

// searchBatch lets workers take queries, a few at a time, until all have seen b.
func searchBatch(searches []search, b *batch, workers int) {
	const take = 4
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, (len(searches)+take-1)/take) {
		wg.Go(func() {
			dots := make([]float32, b.tile)
			for {
				hi := int(next.Add(take))
				lo := hi - take
				if lo >= len(searches) {
					return
				}
				group := searches[lo:min(hi, len(searches))]
				// Tiles outside, queries inside: a tile stays in the cache.
				for t := 0; t < b.n; t += b.tile {
					for i := range group {
						group[i].scan(b, t, min(t+b.tile, b.n), dots)
					}
				}
			}
		})
	}
	wg.Wait()
}

// collect lays out the results and pads the short ones.
func collect(searches []search, cfg TruthConfig) (*Neighbors, *Matrix) {
	n := len(searches)
	ids := &Neighbors{Rows: n, K: cfg.K, IDs: make([]int32, n*cfg.K)}
	dist := &Matrix{Rows: n, Cols: cfg.K, Values: make([]float32, n*cfg.K)}
	for i := range searches {
		s := &searches[i]
		id, d := ids.Row(i), dist.Row(i)
		for j := range id {
			if j >= len(s.found) {
				id[j], d[j] = -1, float32(math.Inf(1))
				continue
			}
			id[j], d[j] = s.found[j].id, float32(s.distance(s.found[j].key))
		}
	}
	return ids, dist
}
