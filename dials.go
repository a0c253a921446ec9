package sprat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"sort"

	"github.com/spratdb/sprat/internal/catalog"
)

// rules are the dials of one query, resolved: caps, and where to stop below
// them.
type rules struct {
	probe     int     // cap on postings
	limit     int     // cap on rescored candidates
	firstWave int     // postings read before anything is known
	odds      float64 // a posting is read while the stop rule's ln odds are at least this
	eps       float32 // sigmas below its distance that a candidate may hope for
}

// firstWave is how many postings a query reads to learn how near its neighbours
// are.
const firstWave = 3

// Preset is a recall and the cheapest dials that reached it on the calibration
// sample.
type Preset struct {
	Recall       float64 `json:"recall"`
	SearchProbe  int     `json:"search_probe"`
	RescoreLimit int     `json:"rescore_limit"`
	Reads        float64 `json:"reads"` // of a query of the sample, expected

	Found float64 `json:"found"` // share of neighbours in the postings read; sets the stop rule
	Eps   float64 `json:"eps"`   // bound of the rescoring, in sigmas
}

// probeStep is what a threshold of the stop rule reads and finds.
type probeStep struct {
	Odds   float64 `json:"odds"`
	Recall float64 `json:"recall"` // share of neighbours in the postings read
	Probes float64 `json:"probes"` // postings read, mean
}

// rescoreDepth is what a bound of the rescoring reads and keeps.
type rescoreDepth struct {
	Eps   float64 `json:"eps"`
	Kept  float64 `json:"kept"`  // share of the neighbours found that it keeps
	Reads float64 `json:"reads"` // refine and record reads, mean
}

// calibration is what a sample of the index's own vectors taught about where to
// stop. It is part of the index's row in the catalog.
type calibration struct {
	Rule    stopRule       `json:"rule"`
	Fitted  bool           `json:"fitted"`
	Ladders []ladder       `json:"ladders,omitempty"` // by k, ascending
	Depths  []rescoreDepth `json:"depths,omitempty"`  // ascending by eps
	Presets []Preset       `json:"presets,omitempty"` // ascending by recall
}

// ladder holds the thresholds of the stop rule for one number of results.
type ladder struct {
	K     int         `json:"k"`
	Steps []probeStep `json:"steps"` // ascending by recall
	Caps  []float64   `json:"caps"`  // odds for caps of 1, 2, 4, ... probes
}

// step returns the first step that finds the share, or the last one.
func (l *ladder) step(found float64) probeStep {
	i := sort.Search(len(l.Steps), func(i int) bool { return l.Steps[i].Recall >= found })
	return l.Steps[min(i, len(l.Steps)-1)]
}

// cap returns the odds for a cap on probes, interpolated between powers of two.
func (l *ladder) cap(limit int) float64 {
	at, last := math.Log2(float64(limit)), len(l.Caps)-1
	if lo := int(at); lo < last {
		return l.Caps[lo] + (at-float64(lo))*(l.Caps[lo+1]-l.Caps[lo])
	}
	// Beyond what was sampled: as fast as the rule's own rank term falls.
	return l.Caps[last] - 2*math.Ln2*(at-float64(last))
}

// between interpolates a figure of the ladders in ln k. Beyond the last ladder
// it goes on as between the last two.
func (c *calibration) between(k int, figure func(*ladder) float64) float64 {
	i := 1
	for i < len(c.Ladders)-1 && k > c.Ladders[i].K {
		i++
	}
	lo, hi := &c.Ladders[i-1], &c.Ladders[i]
	a, b := figure(lo), figure(hi)
	x := math.Log(float64(max(k, 1))/float64(lo.K)) / math.Log(float64(hi.K)/float64(lo.K))
	return a + x*(b-a)
}

// oddsFor is the threshold at which the postings read hold a share of the k
// nearest.
func (c *calibration) oddsFor(k int, found float64) float64 {
	return c.between(k, func(l *ladder) float64 { return l.step(found).Odds })
}

func decodeCalibration(j []byte) (*calibration, error) {
	c := &calibration{Rule: defaultStopRule}
	if len(j) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(j, c); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if !c.complete() {
		return &calibration{Rule: defaultStopRule}, nil
	}
	return c, nil
}

// complete says that the ladders hold what queries look up in them.
func (c *calibration) complete() bool {
	last := 0
	for i := range c.Ladders {
		l := &c.Ladders[i]
		if l.K <= last || len(l.Steps) == 0 || len(l.Caps) == 0 {
			return false
		}
		last = l.K
	}
	return len(c.Ladders) >= 2 || !c.Fitted && len(c.Presets) == 0
}

// presetRecalls are the targets that presets are kept for.
var presetRecalls = []float64{0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 0.998}

// presetMargin is the share of a target's misses that its preset may make on
// the sample. Queries come from elsewhere than the vectors: on gist960, whose
// queries are of other pictures, they lose 1.6 times what the sample loses.
const presetMargin = 0.6

// makePresets chooses, for each target, the step and depth whose product of
// recalls reaches it, with the margin, with the fewest reads.
func (c *calibration) makePresets(postings int) {
	steps := c.ladderOf(calibrationK).Steps
	for _, target := range presetRecalls {
		best, need := Preset{Reads: math.Inf(1)}, 1-presetMargin*(1-target)
		for _, s := range steps {
			for _, d := range c.Depths {
				if s.Recall*d.Kept >= need && s.Probes+d.Reads < best.Reads {
					best = Preset{Recall: target, Reads: s.Probes + d.Reads, Found: s.Recall, Eps: d.Eps,
						SearchProbe: probeCap(s.Probes, postings), RescoreLimit: rescoreLimitFor(d.Eps)}
				}
			}
		}
		if best.Recall > 0 {
			c.Presets = append(c.Presets, best)
		}
	}
}

// probeCap is the cap that goes with a mean number of probes: so far above it
// that it binds only where something is wrong.
func probeCap(probes float64, postings int) int { return min(postings, int(8*max(probes, 0))+8) }

func (c *calibration) ladderOf(k int) *ladder {
	for i := range c.Ladders {
		if c.Ladders[i].K == k {
			return &c.Ladders[i]
		}
	}
	return &ladder{}
}

// preset returns the dials for a recall target of k results: those of the next
// higher preset, and beyond the last one (Found 0) everything.
func (c *calibration) preset(target float64, k, postings int) Preset {
	i := sort.Search(len(c.Presets), func(i int) bool { return c.Presets[i].Recall >= target })
	if i < len(c.Presets) {
		p := c.Presets[i]
		p.SearchProbe = probeCap(c.between(k, func(l *ladder) float64 { return l.step(p.Found).Probes }), postings)
		return p
	}
	p := Preset{Recall: target, SearchProbe: max(postings, 1), RescoreLimit: maxSearchProbe, Eps: noBound}
	if !c.Fitted {
		p.Eps = uncalibratedEps
	}
	return p
}

// uncalibratedEps is the rescoring bound of an index too small to be calibrated:
// one candidate in a thousand that it drops would have been right.
const uncalibratedEps = 3

// presetOdds is the stop rule's threshold of a preset for k results.
func (c *calibration) presetOdds(p Preset, k int) float64 {
	if p.Found == 0 {
		return math.Inf(-1)
	}
	return c.oddsFor(k, p.Found)
}

// capThreshold is the stop rule's threshold under a cap on probes, for k
// results; none when every posting may be read.
func (c *calibration) capThreshold(limit, postings, k int) float64 {
	if !c.Fitted || limit >= postings {
		return math.Inf(-1)
	}
	return c.between(k, func(l *ladder) float64 { return l.cap(limit) })
}

// rescoreEps is the bound, in sigmas, that belongs to a limit on rescored
// candidates: 1.5 at 350, 0.6 more for every tenfold, and none when the limit
// lets everything in.
func rescoreEps(limit int, vectors uint64) float64 {
	if uint64(limit) >= vectors {
		return noBound
	}
	return 0.6 * math.Log10(float64(max(limit, 2)))
}

// noBound is a bound that every candidate is within.
const noBound = 1e6

// rescoreLimitFor is the inverse of rescoreEps, for reporting.
func rescoreLimitFor(eps float64) int {
	return max(10, int(math.Round(math.Pow(10, eps/0.6))))
}

// DialsFor returns the caps that a query of k results with these options works
// under, with the recall target that they follow from, if any.
func (ix *Index) DialsFor(k int, o QueryOptions) Dials {
	d, _ := ix.dialsFor(k, &o)
	return d
}

// dialsFor is DialsFor with the preset of the recall target, when there is one.
func (ix *Index) dialsFor(k int, o *QueryOptions) (d Dials, p Preset) {
	d = *ix.dials.Load()
	switch {
	case o.RecallTarget > 0:
		d = Dials{RecallTarget: o.RecallTarget}
	case o.SearchProbe > 0 || o.RescoreLimit > 0:
		d = Dials{SearchProbe: cmp.Or(o.SearchProbe, d.SearchProbe), RescoreLimit: cmp.Or(o.RescoreLimit, d.RescoreLimit)}
	}
	if d.SearchProbe == 0 && d.RescoreLimit == 0 && d.RecallTarget > 0 {
		v := ix.current.Load()
		p = v.calib.preset(d.RecallTarget, k, v.set.Len())
		d.SearchProbe, d.RescoreLimit = p.SearchProbe, p.RescoreLimit
	} else {
		d.RecallTarget = 0
	}
	d.SearchProbe = cmp.Or(d.SearchProbe, defaultSearchProbe)
	d.RescoreLimit = max(k, cmp.Or(d.RescoreLimit, defaultRescoreLimit))
	return d, p
}

// resolve turns options and dials into rules.
func (ix *Index) resolve(k int, o *QueryOptions) rules {
	d, p := ix.dialsFor(k, o)
	v := ix.current.Load()
	r := rules{probe: d.SearchProbe, limit: d.RescoreLimit, firstWave: firstWave}
	if d.RecallTarget > 0 {
		r.limit, r.odds, r.eps = max(k, maxRescored), v.calib.presetOdds(p, k), float32(p.Eps)
	} else {
		r.odds, r.eps = v.calib.capThreshold(r.probe, v.set.Len(), k), float32(rescoreEps(r.limit, v.state.Vectors))
	}
	if o.FixedWork {
		r.firstWave, r.limit, r.eps = r.probe, d.RescoreLimit, noBound
	}
	return r
}

// Dials are the defaults of the index's queries.
func (ix *Index) Dials() Dials { return *ix.dials.Load() }

// SetDials changes the defaults of the index's queries, at once and durably. A
// read-only store refuses. Errors: ErrInvalid, ErrClosed, and the volume's.
func (ix *Index) SetDials(d Dials) error {
	switch {
	case !(d.RecallTarget >= 0 && d.RecallTarget < 1):
		return invalid("recallTarget", "above 0 and below 1", "%v", d.RecallTarget)
	case d.SearchProbe < 0 || d.SearchProbe > maxSearchProbe:
		return invalid("searchProbe", "1 to 1,048,576", "%d", d.SearchProbe)
	case d.RescoreLimit < 0 || d.RescoreLimit > maxSearchProbe:
		return invalid("rescoreLimit", "1 to 1,048,576", "%d", d.RescoreLimit)
	case d == Dials{}:
		d.RecallTarget = defaultRecallTarget
	}
	return ix.store.change(func(b *catalog.Batch) error {
		if err := ix.gone(); err != nil {
			return err
		}
		row, err := ix.store.catalog.Index(ix.row.Bucket, ix.row.Name)
		if err != nil {
			return err
		}
		row.Dials = catalog.Dials(d)
		b.PutIndex(row)
		return nil
	}, func() { ix.dials.Store(&d) })
}

// maxRescored caps the candidates of a query whose dials follow from a recall.
const maxRescored = 20_000
