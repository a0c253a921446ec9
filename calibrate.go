package sprat

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

const (
	// calibrationQueries is how many of its own vectors an index is calibrated
	// with, each as a query that does not count itself.
	calibrationQueries = 256
	calibrationK       = 10
	// calibrationProbes is how many postings of each are looked at.
	calibrationProbes = 1024
)

// calibrator collects, while the rows stream past, the exact neighbours of a
// sample of them.
type calibrator struct {
	rows    []uint64  // of the sample
	raw     []float32 // [rows][dim]
	queries []float32 // [rows][d], mapped as queries
	normSq  []float32 // [rows]

	mu   sync.Mutex
	best []nearest // [rows]
}

// nearest is a bounded list of the nearest rows, ascending.
type nearest struct {
	n    int
	dist [calibrationK]float32
	row  [calibrationK]uint64
}

// limit is the distance a row must beat.
func (n *nearest) limit() float32 {
	if n.n < calibrationK {
		return inf
	}
	return n.dist[calibrationK-1]
}

func (n *nearest) add(dist float32, row uint64) {
	if n.n < calibrationK {
		n.n++
	} else if dist >= n.dist[n.n-1] {
		return
	}
	i := n.n - 1
	for i > 0 && n.dist[i-1] > dist {
		n.dist[i], n.row[i] = n.dist[i-1], n.row[i-1]
		i--
	}
	n.dist[i], n.row[i] = dist, row
}

// offer keeps a uniform sample of rows (reservoir).
func (c *calibrator) offer(row uint64, v []float32, rng *rand.Rand) {
	if len(c.rows) < calibrationQueries {
		c.rows = append(c.rows, row)
		c.raw = append(c.raw, v...)
		return
	}
	if i := rng.Uint64N(row + 1); i < calibrationQueries {
		c.rows[i] = row
		copy(c.raw[int(i)*len(v):], v)
	}
}

// prepare drops the rows that later rows replaced and maps the rest as queries.
func (c *calibrator) prepare(b *build) {
	dim, d := b.staged.dim, b.space.d()
	rows, raw, inner := c.rows, c.raw, b.space.inner()
	c.rows, c.raw = nil, nil
	for i, row := range rows {
		if !b.staged.isLive(row) {
			continue
		}
		v := raw[i*dim : (i+1)*dim]
		c.rows, c.raw = append(c.rows, row), append(c.raw, v...)
		q := make([]float32, d)
		b.space.query(q, v, inner)
		c.queries = append(c.queries, q...)
		c.normSq = append(c.normSq, float32(simd.SumSqF64(q)))
	}
	c.best = make([]nearest, len(c.rows))
}

// observe offers a rotated row to the neighbour lists of a worker.
func (c *calibrator) observe(w *worker, row uint64) {
	if w.near10 == nil {
		w.near10, w.dots = make([]nearest, len(c.rows)), make([]float32, len(c.rows))
	}
	if len(c.rows) == 0 {
		return
	}
	simd.DotRowsF32(w.dots, w.rotated, c.queries)
	normSq := simd.DotF32(w.rotated, w.rotated)
	for i, dot := range w.dots {
		d := normSq + c.normSq[i] - 2*dot
		if d < w.near10[i].limit() && row != c.rows[i] {
			w.near10[i].add(d, row)
		}
	}
}

// merge takes in the lists of a worker that is done.
func (c *calibrator) merge(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range w.near10 {
		n := &w.near10[i]
		for k := range n.n {
			c.best[i].add(n.dist[k], n.row[k])
		}
	}
}

// sampleQuery is what the calibration knows of one sample query.
type sampleQuery struct {
	gaps  []float64 // D_i - D_0 by rank
	kthSq float32
	first []int // by neighbour: rank of the first posting that holds it, or len(gaps)
}

// survey finds the ranks of the postings that hold the neighbours of each
// sample query. It needs no I/O: the placement knows every row's postings.
func (c *calibrator) survey(b *build) []sampleQuery {
	var (
		out  []sampleQuery
		q    rq.Query
		ws   centroids.Workspace
		near []centroids.Neighbor
	)
	d := b.space.d()
	rank := make([]int32, b.set.Len())
	for i := range c.rows {
		best := &c.best[i]
		if best.n < calibrationK {
			continue
		}
		q.Reset(c.queries[i*d : (i+1)*d])
		near = b.set.Nearest(near, &q, min(calibrationProbes, b.set.Len()), &ws)
		s := sampleQuery{kthSq: max(best.dist[calibrationK-1], 0)}
		for k := range rank {
			rank[k] = int32(len(near))
		}
		d0 := math.Sqrt(float64(near[0].DistSq))
		for k, n := range near {
			rank[n.Row] = int32(k)
			s.gaps = append(s.gaps, math.Sqrt(float64(n.DistSq))-d0)
		}
		for _, row := range best.row {
			first := int32(len(near))
			for _, p := range b.placed.routes(row) {
				if p != noPosting {
					first = min(first, rank[p])
				}
			}
			s.first = append(s.first, int(first))
		}
		out = append(out, s)
	}
	return out
}

// calibrate fits the stop rule, then measures on the finished files what the
// rescoring bounds cost and lose, and keeps the ladder of presets.
func (b *build) calibrate(ctx context.Context) error {
	b.opts.Progress("calibrate", 0, 0)
	cal := &calibration{Rule: defaultStopRule}
	sample := b.calibrator.survey(b)
	if len(sample) >= calibrationQueries/4 && b.set.Len() >= 2*minFitPostings {
		cal.fit(sample)
		if err := cal.measure(ctx, b, sample); err != nil {
			return err
		}
	}
	b.ix.calib = cal
	return b.keepCalibration(cal)
}

// minFitPostings is the number of postings below which there is nothing to save.
const minFitPostings = 8

// fit fits the rule to the sample.
func (c *calibration) fit(sample []sampleQuery) {
	var kth []float64
	for _, s := range sample {
		kth = append(kth, float64(s.kthSq))
	}
	slices.Sort(kth)
	floor := max(kth[len(kth)/2]*1e-3, 1e-30)
	var obs []observation
	for _, s := range sample {
		lnT := 0.5 * math.Log(max(float64(s.kthSq), floor))
		for rank, gap := range s.gaps {
			obs = append(obs, observation{
				x: [ruleWeights]float64{1, math.Log1p(float64(rank)), gap, lnT}, hit: slices.Contains(s.first, rank),
			})
		}
	}
	rule, ok := fitStopRule(obs, floor)
	if !ok {
		return
	}
	c.Rule, c.Fitted = rule, true
	c.Steps = c.thresholds(sample)
	c.Caps = c.capOdds(sample)
}

// capOdds finds, for caps of 1, 2, 4, ... postings, the odds at which the rule
// finds what reading all of the cap would, but for a fifth of what that itself
// misses.
func (c *calibration) capOdds(sample []sampleQuery) []float64 {
	var out []float64
	total := float64(len(sample) * calibrationK)
	for limit := 1; limit <= len(sample[0].gaps); limit *= 2 {
		var found []float64
		for _, s := range sample {
			prior := c.Rule.prior(s.kthSq)
			for _, f := range s.first {
				if f < limit {
					found = append(found, c.Rule.odds(prior, f, s.gaps[f]))
				}
			}
		}
		if len(found) == 0 {
			return out
		}
		slices.Sort(found)
		lose := int((total - float64(len(found))) / 5)
		out = append(out, found[min(lose, len(found)-1)])
	}
	return out
}

// thresholds tabulates what each threshold on the odds reads and finds.
func (c *calibration) thresholds(sample []sampleQuery) []probeStep {
	// The odds at which each neighbour is found, and each posting is read.
	var found, read []float64
	for _, s := range sample {
		prior := c.Rule.prior(s.kthSq)
		for rank, gap := range s.gaps {
			read = append(read, c.Rule.odds(prior, rank, gap))
		}
		for _, f := range s.first {
			if f < len(s.gaps) {
				found = append(found, c.Rule.odds(prior, f, s.gaps[f]))
			}
		}
	}
	down := func(a, b float64) int { return cmp.Compare(b, a) }
	slices.SortFunc(found, down)
	slices.SortFunc(read, down)
	total := float64(len(sample) * calibrationK)
	var steps []probeStep
	for miss := 0.5; miss > 0.5/total; miss *= 0.85 {
		n := int(math.Ceil((1-miss)*total)) - 1
		if n >= len(found) {
			break
		}
		t := found[n]
		at, _ := slices.BinarySearchFunc(read, t, func(e, t float64) int { return cmp.Compare(t, e) })
		for at < len(read) && read[at] == t {
			at++
		}
		steps = append(steps, probeStep{Odds: t, Recall: float64(n+1) / total, Probes: float64(at) / float64(len(sample))})
	}
	return steps
}
