package fio

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat"
)

const (
	// wholeSample and quickSample are how many vectors of an index are its queries.
	// Few would find one another's postings in the cache.
	wholeSample = 8192
	quickSample = 2048
	// leastQueries are asked of every cell, however long they take.
	leastQueries = crowd
	// enoughQueries tell the mean cost, and end a cell.
	enoughQueries = 1500
)

// sample takes n vectors from all over an index: as many from the start of each
// part of a listing, whose order has nothing to do with where vectors lie.
func sample(ctx context.Context, ix *sprat.Index, n int) ([][]float32, error) {
	per := n / sprat.MaxListSegments
	var out [][]float32
	for segment := range sprat.MaxListSegments {
		page, err := ix.List(ctx, sprat.ListOptions{Limit: per, Segment: segment,
			Segments: sprat.MaxListSegments, Fields: sprat.Fields{Vectors: true}})
		if err != nil {
			return nil, fmt.Errorf("take vectors of the index: %w", err)
		}
		for _, r := range page.Records {
			out = append(out, r.Vector)
		}
	}
	if len(out) == 0 {
		return nil, badConfig("the index is empty: there is nothing to ask for")
	}
	return out, nil
}

// shuffled is the vectors in another order, always the same, so that the first of
// them are like all: files of queries are often sorted.
func shuffled(vectors [][]float32) [][]float32 {
	out := slices.Clone(vectors)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// closedLoop is clients that each ask the next query when the last is answered.
type closedLoop struct {
	index    *sprat.Index
	queries  [][]float32
	next     *atomic.Int64 // the query to ask next; goes on from one loop to the next
	k        int
	own      bool // the queries are vectors of the index
	options  sprat.QueryOptions
	clients  int
	duration time.Duration
}

// loopResult is what the queries of a closed loop have taken.
type loopResult struct {
	cpu  time.Duration
	rate float64 // queries a second

	mu struct {
		sync.Mutex
		works map[int64]Cost // by the number of the query; no CPU time
		hits  int
	}
}

func (r *loopResult) add(n int64, w sprat.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.works[n] = Cost{Reads: float64(w.Reads), Bytes: float64(w.Bytes), Waves: float64(w.Waves)}
	r.mu.hits += w.CacheHits
}

// run asks queries for the duration, or until there were enough, and waits for
// the last answers. Everything that was begun counts, the processor time included,
// so that no query is favoured for being short.
func (l closedLoop) run(ctx context.Context) (*loopResult, error) {
	r := &loopResult{}
	r.mu.works = map[int64]Cost{}
	cpu, began := processCPU(), time.Now()
	ramp := l.duration / 5
	m := newMeter(began.Add(ramp), l.duration-ramp)
	var begun atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	for c := range l.clients {
		g.Go(func() error { return l.client(gctx, c, r, &begun, m) })
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	r.cpu = processCPU() - cpu
	bins := m.counts()
	if past := int(time.Since(m.began) / binWidth); past < len(bins) {
		bins = bins[:max(past, 0)] // it ended early
	}
	r.rate = rate(bins, binWidth)
	return r, nil
}

func (l closedLoop) client(ctx context.Context, c int, r *loopResult, begun *atomic.Int64, m *meter) error {
	k := l.k
	if l.own {
		k++ // a vector finds itself first, which costs nothing to find
	}
	until := m.began.Add(time.Duration(len(m.bins)) * binWidth)
	for {
		begin := time.Now()
		n := begun.Add(1)
		if n > leastQueries && begin.After(until) || n > enoughQueries {
			return nil
		}
		number := l.next.Add(1) - 1
		res, err := l.index.Query(ctx, l.queries[number%int64(len(l.queries))], k, l.options)
		if err != nil {
			return err
		}
		r.add(number, res.Work)
		m.add(c, begin, time.Now())
	}
}

// spent is the mean cost.
func (r *loopResult) spent(clients int) *Spent {
	s := &Spent{Queries: len(r.mu.works), Clients: clients, Reached: round(max(r.rate, 0), 1)}
	s.Cost = mean(r.mu.works, func(int64) bool { return true })
	s.CPUTime = r.cpu.Seconds() / float64(max(s.Queries, 1))
	if tried := float64(r.mu.hits) + s.Reads*float64(s.Queries); tried > 0 {
		s.HitRatio = round(float64(r.mu.hits)/tried, 3)
	}
	s.Cost = s.rounded()
	return s
}

func (c Cost) rounded() Cost {
	return Cost{Reads: round(c.Reads, 3), Bytes: round(c.Bytes, 0), Waves: round(c.Waves, 3), CPUTime: round(c.CPUTime, 6)}
}

// mean is the mean of the works whose number is wanted.
func mean(works map[int64]Cost, want func(n int64) bool) Cost {
	var sum Cost
	count := 0.0
	for n, w := range works {
		if want(n) {
			sum.Reads, sum.Bytes, sum.Waves = sum.Reads+w.Reads, sum.Bytes+w.Bytes, sum.Waves+w.Waves
			count++
		}
	}
	if count == 0 {
		return Cost{}
	}
	return Cost{Reads: sum.Reads / count, Bytes: sum.Bytes / count, Waves: sum.Waves / count}
}
