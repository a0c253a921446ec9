package bench

import (
	"cmp"
	"math"
	"slices"
)

// ANNAt is what a recall costs, interpolated between the two neighbouring points
// of the frontier. Where the cheapest point has more recall than wanted, the
// figures are that point's, and Exceeds is set.
type ANNAt struct {
	Recall  float64 `json:"recall"`
	Reached bool    `json:"reached"` // false: no point has this recall, the figures are 0
	Exceeds bool    `json:"exceeds,omitempty"`

	ReadsPerQuery float64 `json:"reads_per_query"`
	KiBPerQuery   float64 `json:"kib_per_query"`
	WavesPerQuery float64 `json:"waves_per_query"`
	CPUMSPerQuery float64 `json:"cpu_ms_per_query"`
	// Best is the most recall of any point.
	Best float64 `json:"best"`
}

// recall is the recall of a point, NaN when it was not scored.
func (p *ANNPoint) recall() float64 {
	if p.Recall == nil {
		return math.NaN()
	}
	return *p.Recall
}

// frontier keeps the points that no other beats, which are those with more
// recall than every cheaper one, by rising reads. Points without recall are left out.
func frontier(points []ANNPoint) []ANNPoint {
	points = slices.DeleteFunc(slices.Clone(points), func(p ANNPoint) bool { return p.Recall == nil })
	slices.SortStableFunc(points, func(a, b ANNPoint) int {
		if c := cmp.Compare(a.ReadsPerQuery, b.ReadsPerQuery); c != 0 {
			return c
		}
		return cmp.Compare(b.recall(), a.recall())
	})
	best := math.Inf(-1)
	return slices.DeleteFunc(points, func(p ANNPoint) bool {
		if p.recall() <= best {
			return true
		}
		best = p.recall()
		return false
	})
}

// interpolate finds the cost of a recall on a frontier, linearly in recall. A
// curve of reads over recall bends upwards, so the line between two points lies
// above it: the figures err on the dear side.
func interpolate(points []ANNPoint, recall float64) ANNAt {
	at := ANNAt{Recall: recall}
	if len(points) == 0 {
		return at
	}
	at.Best = points[len(points)-1].recall()
	i := slices.IndexFunc(points, func(p ANNPoint) bool { return p.recall() >= recall })
	if i < 0 {
		return at
	}
	at.Reached = true
	hi := &points[i]
	lo, share := hi, 1.0
	if i > 0 {
		lo = &points[i-1]
		share = (recall - lo.recall()) / (hi.recall() - lo.recall())
	}
	at.Exceeds = i == 0 && hi.recall() > recall
	mix := func(a, b float64) float64 { return a + share*(b-a) }
	at.ReadsPerQuery = mix(lo.ReadsPerQuery, hi.ReadsPerQuery)
	at.KiBPerQuery = mix(lo.KiBPerQuery, hi.KiBPerQuery)
	at.WavesPerQuery = mix(lo.WavesPerQuery, hi.WavesPerQuery)
	at.CPUMSPerQuery = mix(lo.CPUMSPerQuery, hi.CPUMSPerQuery)
	return at
}
