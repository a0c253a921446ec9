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
	// calibrationK is the number of results that the stop rule and the presets
	// are fitted for.
	calibrationK = 10
	// calibrationDepth is how many neighbours of each sample query are kept.
	calibrationDepth = 100
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
	slotOf  func(row uint64) uint32

	mu   sync.Mutex
	best []nearest // [rows]
}

// ladderKs are the numbers of results that thresholds are tabulated for.
var ladderKs = []int{1, calibrationK, calibrationDepth}

// nearest is a bounded list of the nearest rows, ascending.
type nearest struct {
	n    int
	dist [calibrationDepth]float32
	row  [calibrationDepth]uint32
}

// limit is the distance a row must beat.
func (n *nearest) limit() float32 {
	if n.n < calibrationDepth {
		return inf
	}
	return n.dist[calibrationDepth-1]
}

// add keeps a row that is among the nearest. Of equally near rows the lower is
// nearer: the order of arrival depends on the workers.
func (n *nearest) add(dist float32, row uint32) {
	before := func(i int) bool { return dist < n.dist[i] || dist == n.dist[i] && row < n.row[i] }
	if n.n < calibrationDepth {
		n.n++
	} else if !before(n.n - 1) {
		return
	}
	i := n.n - 1
	for i > 0 && before(i-1) {
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
func (c *calibrator) prepare(sp *space, live func(row uint64) bool) {
	dim, d := sp.dim, sp.d()
	rows, raw, inner := c.rows, c.raw, sp.inner()
	c.rows, c.raw = nil, nil
	for i, row := range rows {
		if !live(row) {
			continue
		}
		v := raw[i*dim : (i+1)*dim]
		c.rows, c.raw = append(c.rows, row), append(c.raw, v...)
		q := make([]float32, d)
		sp.query(q, v, inner)
		c.queries = append(c.queries, q...)
		c.normSq = append(c.normSq, float32(simd.SumSqF64(q)))
	}
	c.best = make([]nearest, len(c.rows))
}

// observer is the neighbour lists of one goroutine.
type observer struct {
	nearest []nearest // [rows]
	dots    []float32 // [rows]
}

// observe offers a rotated row to the neighbour lists of a goroutine.
func (c *calibrator) observe(w *observer, rotated []float32, row uint64) {
	if w.nearest == nil {
		w.nearest, w.dots = make([]nearest, len(c.rows)), make([]float32, len(c.rows))
	}
	if len(c.rows) == 0 {
		return
	}
	simd.DotRowsF32(w.dots, rotated, c.queries)
	normSq := simd.DotF32(rotated, rotated)
	for i, dot := range w.dots {
		d := normSq + c.normSq[i] - 2*dot
		if d <= w.nearest[i].limit() && row != c.rows[i] {
			w.nearest[i].add(d, uint32(row))
		}
	}
}

// merge takes in the lists of a goroutine that is done.
func (c *calibrator) merge(w *observer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range w.nearest {
		n := &w.nearest[i]
		for k := range n.n {
			c.best[i].add(n.dist[k], n.row[k])
		}
	}
}

// sampleQuery is what the calibration knows of one sample query.
type sampleQuery struct {
	gaps  []float64 // D_i - D_0 by rank
	dist  []float32 // squared distances of its neighbours, ascending
	first []int     // by neighbour: rank of the first posting that holds it, or len(gaps)
}

// kthSq is the squared distance of the k-th neighbour, or of the last.
func (s *sampleQuery) kthSq(k int) float32 { return max(s.dist[min(k, len(s.dist))-1], 0) }

// neighbours are the first ranks of the k nearest.
func (s *sampleQuery) neighbours(k int) []int { return s.first[:min(k, len(s.first))] }

// survey finds the ranks of the postings that hold the neighbours of each
// sample query; postings gives the ids of those that hold a row.
func (c *calibrator) survey(set *centroids.Set, postings func(row uint64) []uint32) []sampleQuery {
	var (
		out  []sampleQuery
		q    rq.Query
		ws   centroids.Workspace
		near []centroids.Neighbor
	)
	d := set.Dim()
	limit := uint32(0)
	for row := range int32(set.Len()) {
		limit = max(limit, set.ID(row)+1)
	}
	rank := make([]int32, limit)
	for i := range c.rows {
		best := &c.best[i]
		if best.n < calibrationK {
			continue
		}
		q.Reset(c.queries[i*d : (i+1)*d])
		near = set.Nearest(near, &q, min(calibrationProbes, set.Len()), &ws)
		for k := range rank {
			rank[k] = int32(len(near))
		}
		s := sampleQuery{dist: best.dist[:best.n]}
		d0 := math.Sqrt(float64(near[0].DistSq))
		for k, n := range near {
			rank[n.ID] = int32(k)
			s.gaps = append(s.gaps, math.Sqrt(float64(n.DistSq))-d0)
		}
		for _, row := range best.row[:best.n] {
			first := int32(len(near))
			for _, p := range postings(uint64(row)) {
				if p < limit {
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
// rescoring bounds cost and lose, and keeps the presets.
func (b *build) calibrate(ctx context.Context) error {
	b.opts.Progress("calibrate", 0, 0)
	cal := &calibration{Rule: defaultStopRule}
	sample := b.calibrator.survey(b.set, b.placed.routes)
	if len(sample) >= calibrationQueries/4 && b.set.Len() >= 2*minFitPostings {
		cal.fit(sample)
		if err := cal.measure(ctx, b.ix, b.calibrator); err != nil {
			return err
		}
	}
	b.ix.recalibrated(cal)
	return b.keepCalibration(cal)
}

// recalibrated gives the index under construction other stop rules.
func (ix *Index) recalibrated(c *calibration) {
	v := ix.current.Load()
	ix.current.Store(&version{space: v.space, calib: c, set: v.set, postings: v.postings, runs: v.runs, segments: v.segments, state: v.state})
}

// minFitPostings is the number of postings below which there is nothing to save.
const minFitPostings = 8

// fit fits the rule to the sample and tabulates its thresholds.
func (c *calibration) fit(sample []sampleQuery) {
	var kth []float64
	for i := range sample {
		kth = append(kth, float64(sample[i].kthSq(calibrationK)))
	}
	slices.Sort(kth)
	floor := max(kth[len(kth)/2]*1e-3, 1e-30)
	var obs []observation
	for i := range sample {
		s := &sample[i]
		lnT := 0.5 * math.Log(max(float64(s.kthSq(calibrationK)), floor))
		for rank, gap := range s.gaps {
			obs = append(obs, observation{
				x:   [ruleWeights]float64{1, math.Log1p(float64(rank)), gap, lnT},
				hit: slices.Contains(s.neighbours(calibrationK), rank),
			})
		}
	}
	rule, ok := fitStopRule(obs, floor)
	if !ok {
		return
	}
	c.Rule, c.Fitted = rule, true
	for _, k := range ladderKs {
		l := ladder{K: k, Steps: c.thresholds(sample, k), Caps: c.capOdds(sample, k)}
		if len(l.Steps) == 0 || len(l.Caps) == 0 {
			c.Fitted = false
			return
		}
		c.Ladders = append(c.Ladders, l)
	}
}

// capOdds finds, for caps of 1, 2, 4, ... postings, the odds at which the rule
// finds what reading all of the cap would, but for a fifth of what that itself
// misses.
func (c *calibration) capOdds(sample []sampleQuery, k int) []float64 {
	var out []float64
	for limit := 1; limit <= len(sample[0].gaps); limit *= 2 {
		found, total := c.foundAt(sample, k, limit)
		if len(found) == 0 {
			return out
		}
		slices.Sort(found)
		lose := (total - len(found)) / 5
		odds := found[min(lose, len(found)-1)]
		if len(out) > 0 {
			odds = min(odds, out[len(out)-1]) // a wider cap never stops earlier
		}
		out = append(out, odds)
	}
	return out
}

// foundAt returns the odds at which each neighbour is found among the nearest
// limit postings, and the number of all neighbours.
func (c *calibration) foundAt(sample []sampleQuery, k, limit int) (found []float64, total int) {
	for i := range sample {
		s := &sample[i]
		prior := c.Rule.prior(s.kthSq(k))
		for _, f := range s.neighbours(k) {
			total++
			if f < min(limit, len(s.gaps)) {
				found = append(found, c.Rule.odds(prior, f, s.gaps[f]))
			}
		}
	}
	return found, total
}

// thresholds tabulates what each threshold on the odds reads and finds.
func (c *calibration) thresholds(sample []sampleQuery, k int) []probeStep {
	found, total := c.foundAt(sample, k, math.MaxInt)
	var read []float64 // the odds at which each posting is read
	for i := range sample {
		prior := c.Rule.prior(sample[i].kthSq(k))
		for rank, gap := range sample[i].gaps {
			read = append(read, c.Rule.odds(prior, rank, gap))
		}
	}
	down := func(a, b float64) int { return cmp.Compare(b, a) }
	slices.SortFunc(found, down)
	slices.SortFunc(read, down)
	var steps []probeStep
	for miss := 0.5; miss > 0.5/float64(total); miss *= 0.8 {
		n := int(math.Ceil((1-miss)*float64(total))) - 1
		if n >= len(found) {
			break
		}
		t := found[n]
		at, _ := slices.BinarySearchFunc(read, t, func(e, t float64) int { return cmp.Compare(t, e) })
		for at < len(read) && read[at] == t {
			at++
		}
		steps = append(steps, probeStep{Odds: t, Recall: float64(n+1) / float64(total), Probes: float64(at) / float64(len(sample))})
	}
	return steps
}
