package sprat

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// planted draws observations from a rule.
func planted(rule stopRule, n int) []observation {
	rng := rand.New(rand.NewPCG(3, 4))
	obs := make([]observation, n)
	for i := range obs {
		rank, gap, lnT := rng.IntN(60), rng.Float64()*2, 0.5*rng.NormFloat64()
		z := rule.Bias + rule.Rank*math.Log1p(float64(rank)) + rule.Gap*gap + rule.Spread*lnT
		obs[i] = observation{
			x:   [ruleWeights]float64{1, math.Log1p(float64(rank)), gap, lnT},
			hit: rng.Float64() < 1/(1+math.Exp(-z)),
		}
	}
	return obs
}

// TestFitRecoversARule: the weights that made the data come back.
func TestFitRecoversARule(t *testing.T) {
	for _, want := range []stopRule{
		{Bias: 1, Rank: -1.5, Gap: -2, Spread: 1},
		{Bias: 3, Rank: -0.5, Gap: -4, Spread: 0},
		{Bias: -1, Rank: -1, Gap: 0, Spread: -0.7},
	} {
		got, ok := fitStopRule(planted(want, 60_000), 0.25)
		near := func(a, b float64) bool { return math.Abs(a-b) < 0.12 }
		if !ok || !near(got.Bias, want.Bias) || !near(got.Rank, want.Rank) || !near(got.Gap, want.Gap) || !near(got.Spread, want.Spread) || got.FloorSq != 0.25 {
			t.Errorf("fitted %+v (%v), planted %+v", got, ok, want)
		}
	}
}

// TestFitRefusesNonsense: a weight that later or farther postings would please
// is left out, a rule of two such weights is refused like data that are no
// numbers, and data that a line separates give a finite rule.
func TestFitRefusesNonsense(t *testing.T) {
	bad := planted(stopRule{Rank: -1}, 500)
	bad[77].x[2] = math.NaN()
	for name, obs := range map[string][]observation{
		"later and farther is better": planted(stopRule{Bias: -2, Rank: 1, Gap: 1}, 5000),
		"not a number":                bad,
		"nothing":                     nil,
	} {
		if r, ok := fitStopRule(obs, 1); ok {
			t.Errorf("%s: accepted %+v", name, r)
		}
	}
	if r, ok := fitStopRule(planted(stopRule{Bias: -2, Rank: 1, Gap: -1}, 5000), 1); !ok || r.Rank != 0 || r.Gap >= 0 {
		t.Errorf("later is better: %+v, %v", r, ok)
	}
	if r, ok := fitStopRule(planted(stopRule{Bias: -2, Rank: -1, Gap: 3}, 5000), 1); !ok || r.Gap != 0 || r.Rank >= 0 {
		t.Errorf("farther is better: %+v, %v", r, ok)
	}
	separable := planted(stopRule{}, 5000)
	constant := planted(stopRule{Bias: 1, Rank: -1}, 5000)
	for i := range separable {
		separable[i].hit = separable[i].x[1] < 2
		constant[i].x[2], constant[i].x[3] = 0, 7
	}
	for name, obs := range map[string][]observation{"separable": separable, "constant features": constant} {
		r, _ := fitStopRule(obs, 1)
		if !(r.Rank < 0) {
			t.Errorf("%s: %+v", name, r)
		}
		for i := range obs {
			if odds := r.odds(r.prior(1), i%60, obs[i].x[2]); math.IsNaN(odds) || math.IsInf(odds, 0) {
				t.Fatalf("%s: %+v gives odds of %v", name, r, odds)
			}
		}
	}
}

// TestDefaultStopRule never stops within what a small index has.
func TestDefaultStopRule(t *testing.T) {
	c := &calibration{Rule: defaultStopRule}
	for _, k := range []int{1, 10, MaxK} {
		if p := c.preset(0.9, k, 12); p.SearchProbe != 12 || !math.IsInf(c.presetOdds(p, k), -1) {
			t.Errorf("k %d: %+v stops at %v", k, p, c.presetOdds(p, k))
		}
		if odds := c.capThreshold(5, 12, k); !math.IsInf(odds, -1) {
			t.Errorf("k %d: a cap of 5 stops at %v", k, odds)
		}
	}
}

// drawSample draws what a calibration might know of its sample queries.
func drawSample(t *rapid.T) []sampleQuery {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	postings := rapid.IntRange(1, 200).Draw(t, "postings")
	reach := rapid.Float64Range(0.1, 100).Draw(t, "reach") // of the neighbours, in ranks
	unit := rapid.SampledFrom([]float64{0, 1e-12, 1, 1e9}).Draw(t, "unit")
	sample := make([]sampleQuery, rapid.IntRange(1, 80).Draw(t, "queries"))
	for i := range sample {
		s := &sample[i]
		for range postings {
			s.gaps = append(s.gaps, unit*rng.Float64())
		}
		slices.Sort(s.gaps)
		s.gaps[0] = 0
		for range calibrationK + rng.IntN(calibrationDepth-calibrationK+1) {
			s.dist = append(s.dist, float32(unit*rng.Float64()))
			s.first = append(s.first, min(int(reach*rng.ExpFloat64()), postings))
		}
		slices.Sort(s.dist)
	}
	return sample
}

// TestCalibrationIsMonotone: whatever the sample, more recall or a wider cap
// never makes the rule stop earlier, and a preset of more recall never reads
// less.
func TestCalibrationIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sample := drawSample(t)
		postings := len(sample[0].gaps)
		c := &calibration{Rule: defaultStopRule}
		if c.fit(sample); !c.Fitted {
			return
		}
		kept := 0.0
		for i, eps := range depthEps {
			kept = max(kept, 1-rapid.Float64Range(0, 1).Draw(t, "lost")/float64(i+1))
			c.Depths = append(c.Depths, rescoreDepth{Eps: eps, Kept: kept, Reads: 5 + 10*eps})
		}
		c.makePresets(postings)
		for _, l := range c.Ladders {
			for i := 1; i < len(l.Steps); i++ {
				if a, b := l.Steps[i-1], l.Steps[i]; b.Recall < a.Recall || b.Odds > a.Odds || b.Probes < a.Probes || b.Probes > float64(postings) {
					t.Fatalf("k %d: step %+v after %+v", l.K, b, a)
				}
			}
			for limit := 1; limit < 2*postings; limit++ {
				if a, b := l.cap(limit), l.cap(limit+1); !(b <= a) || math.IsInf(b, 0) {
					t.Fatalf("k %d: a cap of %d stops at %v, one of %d at %v: %v", l.K, limit, a, limit+1, b, l.Caps)
				}
			}
		}
		for i := 1; i < len(c.Presets); i++ {
			if a, b := c.Presets[i-1], c.Presets[i]; b.Recall <= a.Recall || b.Reads < a.Reads {
				t.Fatalf("preset %+v after %+v", b, a)
			}
		}
		checkPresets(t, c, postings)
	})
}

// checkPresets asks for every kind of target and k.
func checkPresets(t *rapid.T, c *calibration, postings int) {
	for _, target := range []float64{0.01, 0.8, 0.801, 0.95, 0.9979, 0.998, 0.9985, 0.999999} {
		for _, k := range []int{1, 2, 10, 11, 100, 1000, MaxK} {
			p := c.preset(target, k, postings)
			if p.Recall < target || p.SearchProbe < 1 || p.SearchProbe > postings || p.RescoreLimit < 1 || math.IsNaN(c.presetOdds(p, k)) {
				t.Fatalf("target %v, k %d: %+v with threshold %v", target, k, p, c.presetOdds(p, k))
			}
			beyond := len(c.Presets) == 0 || target > c.Presets[len(c.Presets)-1].Recall
			if all := math.IsInf(c.presetOdds(p, k), -1) && p.SearchProbe == postings && p.Eps == noBound; beyond != all {
				t.Fatalf("target %v, k %d: %+v, beyond the last preset: %v", target, k, p, beyond)
			}
			i := sort.Search(len(c.Presets), func(i int) bool { return c.Presets[i].Recall >= target })
			if !beyond && p.Recall != c.Presets[i].Recall {
				t.Fatalf("target %v: preset %+v, want that of %v", target, p, c.Presets[i].Recall)
			}
		}
	}
}

// TestCalibrationRoundTrip: what the catalog keeps is the whole calibration, and
// what is no calibration is never used.
func TestCalibrationRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &calibration{Rule: defaultStopRule}
		c.fit(drawSample(t))
		j, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeCalibration(j); err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("comes back as %+v, %v, was %+v", got, err, c)
		}
	})
	if c, err := decodeCalibration(nil); err != nil || c.Fitted || c.Rule != defaultStopRule {
		t.Errorf("none: %+v, %v", c, err)
	}
	if c, err := decodeCalibration([]byte(`{"rule":[1]}`)); err == nil {
		t.Errorf("nonsense: %+v", c)
	}
	for _, j := range []string{
		`{"fitted":true}`,
		`{"fitted":true,"ladders":[{"k":1}]}`,
		`{"fitted":true,"ladders":[{"k":1},{"k":10}]}`,
		`{"fitted":true,"ladders":[{"k":1,"steps":[{}],"caps":[0]},{"k":1,"steps":[{}],"caps":[0]}]}`,
		`{"presets":[{"recall":0.9,"found":0.9}]}`,
	} {
		c, err := decodeCalibration([]byte(j))
		if err != nil {
			continue
		}
		p := c.preset(0.9, 10, 50)
		if odds := c.presetOdds(p, 10); p.SearchProbe != 50 || !math.IsInf(odds, -1) || !math.IsInf(c.capThreshold(5, 50, 10), -1) {
			t.Errorf("%s is used: %+v, threshold %v", j, p, odds)
		}
	}
}

// TestDepthsMeasureLoss: the calibration's figures of the rescoring count true
// neighbours: all when everything is read, few when hardly anything is.
func TestDepthsMeasureLoss(t *testing.T) {
	t.Parallel()
	d := fewTexts(150)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	b, ctx := newTestBuild(t, s, "i", fewConfig(d), 64<<20), context.Background()
	mustDo(t, b.stage(ctx, rowsOf(d.rows)))
	for _, step := range []func(context.Context) error{b.train, b.assign, b.place, b.write} {
		mustDo(t, step(ctx))
	}
	total := float64(calibrationK * len(b.calibrator.rows))
	cal := &calibration{Rule: defaultStopRule}
	for _, c := range []struct {
		what        string
		odds, eps   float64
		least, most float64
	}{
		{"everything", math.Inf(-1), noBound, 0.999, 1},
		{"a wide bound", math.Inf(-1), 3, 0.995, 1},
		{"no bound to speak of", math.Inf(-1), 0, 0.5, 0.95},
		{"only the first wave", math.Inf(1), noBound, 0.2, 0.98},
	} {
		_, found, err := cal.measureDepth(ctx, b.ix, b.calibrator, c.odds, c.eps)
		mustDo(t, err)
		if share := found / total; share < c.least || share > c.most {
			t.Errorf("%s: %.4f of the neighbours found, want %v to %v", c.what, share, c.least, c.most)
		}
	}
	mustDo(t, b.abandon())
	checkNothingOf(t, s, "i")
}

// FuzzDecodeCalibration: whatever the row holds, queries get dials.
func FuzzDecodeCalibration(f *testing.F) {
	f.Add([]byte(`{"rule":{"bias":1},"fitted":true,"ladders":[{"k":1,"steps":[{"odds":1,"recall":1}],"caps":[1,0]},{"k":10,"steps":[{}],"caps":[0]}],"presets":[{"recall":0.9,"found":0.5}]}`))
	f.Add([]byte(`{"fitted":true}`))
	f.Add([]byte(`{"ladders":[{"k":1,"steps":[{"probes":90}],"caps":[1]},{"k":10,"steps":[{"probes":1}],"caps":[0]}],"presets":[{"recall":0.9}]}`))
	f.Fuzz(func(t *testing.T, j []byte) {
		c, err := decodeCalibration(j)
		if err != nil {
			return
		}
		for _, k := range []int{1, 10, MaxK} {
			if p := c.preset(0.9, k, 50); p.SearchProbe < 1 || p.SearchProbe > 50 || math.IsNaN(c.presetOdds(p, k)) || math.IsNaN(c.capThreshold(5, 50, k)) {
				t.Errorf("%s, k %d: %+v, threshold %v", j, k, p, c.presetOdds(p, k))
			}
		}
	})
}
