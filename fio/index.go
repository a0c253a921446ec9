package fio

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spratdb/sprat"
)

// IndexReport is what queries of an index cost and what the volume makes of it.
type IndexReport struct {
	Name       string `json:"name"`
	Dimension  int    `json:"dimension"`
	Vectors    uint64 `json:"vectors"`
	K          int    `json:"k"`
	Sample     int    `json:"sample"`      // different queries
	OwnVectors bool   `json:"own_vectors"` // the queries are vectors of the index
	CacheBytes int64  `json:"cache_bytes"` // in the cache at the end; 0 without one
	Clients    int    `json:"clients"`     // that predictions are for
	Grid       []Cell `json:"grid"`        // the first with the index's own dials
}

// Cell is a setting of the caps of a query, with what a query costs.
type Cell struct {
	SearchProbe  int     `json:"search_probe"`
	RescoreLimit int     `json:"rescore_limit"`
	RecallTarget float64 `json:"recall_target,omitempty"` // of the index's dials, when they follow from one
	Own          bool    `json:"own,omitempty"`           // the index's own dials
	Cold         *Spent  `json:"cold"`                    // without a cache
	Cached       *Spent  `json:"cached,omitempty"`        // with the cache as configured
}

// Spent is the cost of queries and what follows from it.
type Spent struct {
	Queries  int     `json:"queries"` // measured
	HitRatio float64 `json:"hit_ratio"`
	Cost
	Prediction Prediction `json:"prediction"`
	// Clients and Reached are the closed loop in which the cost was measured. The
	// prediction does not use the rate reached.
	Clients int     `json:"measured_clients"`
	Reached float64 `json:"measured_qps"`
	Needs   *Needs  `json:"needs,omitempty"`
}

// indexTime is how long the queries of an index take.
func indexTime(cfg Config, t timing) time.Duration {
	cells := len(cfg.Index.Probes)*len(cfg.Index.Rescores) + 1
	whole := time.Duration(cells) * t.queries
	if cfg.Store.CacheBytes >= 0 {
		whole = 2*whole + t.warm
	}
	return whole
}

// index measures queries, first without a cache and then with the one
// configured.
func (b *bench) index(ctx context.Context) error {
	b.clock.enter(phaseIndex)
	ic := b.cfg.Index
	r := &IndexReport{Name: ic.Bucket + "/" + ic.Name, K: ic.K, Clients: ic.Clients}
	b.report.Index = r
	queries := ic.Queries
	cold := b.cfg.Store
	cold.CacheBytes = -1
	err := b.withIndex(cold, func(s *sprat.Store, ix *sprat.Index) (err error) {
		r.Dimension, r.Vectors = ix.Dimension(), ix.Len()
		if len(queries) == 0 {
			r.OwnVectors = true
			b.note("The queries are vectors of the index; others may cost more or less: measure your own, with a file of queries.")
			if queries, err = sample(ctx, ix, choose(b.cfg.Quick, quickSample, wholeSample)); err != nil {
				return err
			}
		}
		queries = shuffled(queries)
		r.Sample = len(queries)
		r.Grid = grid(ix, ic)
		return b.cells(ctx, ix, queries, way{"without a cache", true, func(c *Cell) **Spent { return &c.Cold }})
	})
	if err != nil || b.cfg.Store.CacheBytes < 0 {
		return err
	}
	return b.withIndex(b.cfg.Store, func(s *sprat.Store, ix *sprat.Index) error {
		b.clock.detail("filling the cache")
		warm := b.crowd(ix, queries, r.Grid[0].options(), b.timing.warm)
		if _, err := warm.run(ctx); err != nil {
			return err
		}
		err := b.cells(ctx, ix, queries, way{"with the cache", false, func(c *Cell) **Spent { return &c.Cached }})
		if err != nil {
			return err
		}
		st, err := s.Stats()
		r.CacheBytes = st.Memory["cache"]
		return err
	})
}

// withIndex opens the store for reading, for as long as f takes.
func (b *bench) withIndex(opts sprat.Options, f func(*sprat.Store, *sprat.Index) error) (err error) {
	opts.ReadOnly = true
	s, err := sprat.Open(b.cfg.Dir, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ix, err := s.Index(b.cfg.Index.Bucket, b.cfg.Index.Name)
	if err != nil {
		return err
	}
	return f(s, ix)
}

// grid is the settings to measure: the index's own, then all pairs of caps.
func grid(ix *sprat.Index, ic *IndexConfig) []Cell {
	d := ix.DialsFor(ic.K, sprat.QueryOptions{})
	cells := []Cell{{SearchProbe: d.SearchProbe, RescoreLimit: d.RescoreLimit, RecallTarget: d.RecallTarget, Own: true}}
	for _, p := range ic.Probes {
		for _, r := range ic.Rescores {
			cells = append(cells, Cell{SearchProbe: p, RescoreLimit: r})
		}
	}
	return cells
}

// options are those of a query in this cell.
func (c Cell) options() sprat.QueryOptions {
	if c.Own {
		return sprat.QueryOptions{}
	}
	return sprat.QueryOptions{SearchProbe: c.SearchProbe, RescoreLimit: c.RescoreLimit}
}

// way is one of the two ways to measure all cells.
type way struct {
	name string
	cold bool
	at   func(*Cell) **Spent
}

// cells measures every cell in one way and predicts from it. Time that a cell
// does not need is for those that follow, which cost more.
func (b *bench) cells(ctx context.Context, ix *sprat.Index, queries [][]float32, w way) error {
	v := b.model()
	grid := b.report.Index.Grid
	whole := time.Duration(len(grid)) * b.timing.queries
	if left := time.Until(b.until); w.cold && b.cfg.Store.CacheBytes >= 0 {
		whole = min(whole, (left-b.timing.warm)*3/5) // the cached queries cost less
	} else {
		whole = min(whole, left)
	}
	until := time.Now().Add(whole)
	var base *loopResult
	for i := range grid {
		c := &grid[i]
		b.clock.detail(fmt.Sprintf("%s, searchProbe %d, rescoreLimit %d", w.name, c.SearchProbe, c.RescoreLimit))
		if w.cold {
			b.next.Store(0) // the same queries for each cell, to compare
		}
		shares := len(grid) - i
		per := time.Until(until) / time.Duration(shares)
		if w.cold && i == 0 {
			per = 3 * time.Until(until) / time.Duration(shares+2) // what all others are corrected by
		}
		per = max(per, b.timing.queries/4)
		r, err := b.crowd(ix, queries, c.options(), per).run(ctx)
		if err != nil {
			return err
		}
		s := r.spent(crowd)
		if w.cold && i == 0 {
			base = r
		} else if w.cold {
			s.Cost = r.corrected(s.Cost, base)
		}
		s.Prediction = Predict(v, s.Cost, b.cfg.Index.Clients)
		if q := b.cfg.Index.QPS; q > 0 {
			n := Need(v, s.Cost, q)
			s.Needs = &n
		}
		*w.at(c) = s
	}
	return nil
}

// model is what the calibration of the volume has found.
func (b *bench) model() VolumeModel {
	d := b.report.Derived
	return VolumeModel{
		IOPS: d.IOPS, BytesPerSecond: d.MiBps * mib, BaseLatency: d.BaseLatency / 1e6,
		Processors: runtime.GOMAXPROCS(0), Depths: b.report.Engines[0].Depths, Sizes: b.report.Sizes,
	}
}

func (b *bench) crowd(ix *sprat.Index, queries [][]float32, o sprat.QueryOptions, d time.Duration) closedLoop {
	o.FixedWork = b.cfg.Index.FixedWork
	return closedLoop{index: ix, queries: queries, next: &b.next, k: b.cfg.Index.K, own: b.report.Index.OwnVectors,
		options: o, duration: d, clients: crowd}
}
