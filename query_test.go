package sprat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRecallOnRealData: every metric reaches its recall targets, within the
// reads that the presets promise, and 1.0 when every posting is read.
func TestRecallOnRealData(t *testing.T) {
	sets := realSets(t)
	words := sets[2].few(1500, 20)
	words.metric = Dot // their lengths differ
	for _, d := range []dataset{sets[0].few(1000, 20), sets[1].few(700, 15), words} {
		t.Run(fmt.Sprintf("%s-%v", d.name, d.metric), func(t *testing.T) {
			t.Parallel()
			s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
			ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 8 << 10}, d.rows)
			for _, target := range []float64{0.9, 0.95, 0.99} {
				recall, reads := recallAt(t, ix, d, 10, QueryOptions{RecallTarget: target})
				t.Logf("target %.2f: recall %.4f, %.1f reads", target, recall, reads)
				if recall < target-0.02 {
					t.Errorf("target %.2f: recall %.4f", target, recall)
				}
				if all := float64(ix.Stats().Postings); reads > 0.8*all+10 {
					t.Errorf("target %.2f: %.1f reads of %.0f postings", target, reads, all)
				}
			}
			all := QueryOptions{SearchProbe: ix.Stats().Postings, RescoreLimit: len(d.rows)}
			if recall, _ := recallAt(t, ix, d, 10, all); recall < 0.9995 {
				t.Errorf("all postings, all rescored: recall %.4f", recall)
			}
		})
	}
}

// TestAnswersAreExact: with everything read, answers are those of brute force
// to the last bit, in its order, ties by key, for any k.
func TestAnswersAreExact(t *testing.T) {
	t.Parallel()
	d := realSets(t)[0]
	rows := slices.Concat(d.rows[:250], d.rows[:100], d.rows[:50]) // with exact duplicates
	for _, m := range []Metric{Cosine, Euclidean, Dot} {
		s := openStore(t, t.TempDir(), Options{})
		ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(rows[0]), Metric: m, PostingBytes: 16 << 10}, rows)
		for _, k := range []int{1, 7, 100, 399, 400, 10_000} {
			for _, fixed := range []bool{false, true} {
				q := d.queries[k%len(d.queries)]
				res, err := ix.Query(context.Background(), q, k,
					QueryOptions{SearchProbe: 1 << 20, RescoreLimit: 1 << 20, FixedWork: fixed})
				if err != nil {
					t.Fatal(err)
				}
				if want := exact(m, rows, q, k); !reflect.DeepEqual(res.Matches, want) {
					t.Fatalf("%v, k %d, fixed work %v: answers differ from brute force", m, k, fixed)
				}
			}
		}
	}
}

// TestKAboveEveryDial: k results come back whatever the dials say.
func TestKAboveEveryDial(t *testing.T) {
	t.Parallel()
	d := realSets(t)[0].few(1000, 1)
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 32 << 10}, d.rows)
	for _, k := range []int{1, 10, 100, 1000, 10_000} {
		res, err := ix.Query(context.Background(), d.queries[0], k, QueryOptions{SearchProbe: 1, RescoreLimit: 1})
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		for _, m := range res.Matches {
			keys[m.Key] = true
		}
		if want := min(k, len(d.rows)); len(res.Matches) != want || len(keys) != want {
			t.Errorf("k %d: %d results, %d distinct, want %d", k, len(res.Matches), len(keys), want)
		}
	}
}

// TestAnswersDoNotDependOnTheEngine: the same bytes on every I/O engine, mode
// and run.
func TestAnswersDoNotDependOnTheEngine(t *testing.T) {
	t.Parallel()
	d := realSets(t)[1].few(400, 5)
	rows := slices.Concat(d.rows, d.rows[:100])
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	mustBuild(t, s, "i", IndexConfig{Dimension: len(rows[0]), Metric: d.metric, PostingBytes: 8 << 10}, rows)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var want []string
	var wantMatches [][]Match
	for _, o := range []Options{
		{IOEngine: "auto", CacheBytes: -1}, {IOEngine: "pread", Direct: "off", CacheBytes: -1}, {IOEngine: "mmap", CacheBytes: -1},
		{IOEngine: "pread", QueueDepth: 1, CacheBytes: -1}, {IOEngine: "auto"},
	} {
		s := openStore(t, dir, o)
		ix, err := s.Index("b", "i")
		if err != nil {
			t.Fatal(err)
		}
		for run := range 3 {
			var got []string
			var matches [][]Match
			for _, q := range d.queries {
				res, err := ix.Query(context.Background(), q, 10, QueryOptions{RecallTarget: 0.9})
				if err != nil {
					t.Fatal(err)
				}
				w := res.Work
				got = append(got, fmt.Sprint(w.Postings, w.Codes, w.Candidates, w.Refined, w.Exact, w.Reads))
				matches = append(matches, res.Matches)
			}
			if want == nil {
				want, wantMatches = got, matches
			}
			if !reflect.DeepEqual(matches, wantMatches) {
				t.Fatalf("engine %+v, run %d: answers differ", o, run)
			}
			if o.CacheBytes < 0 && !slices.Equal(got, want) {
				t.Fatalf("engine %+v, run %d: work differs", o, run)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBudgetsAndDeadlines(t *testing.T) {
	t.Parallel()
	d := realSets(t)[0].few(400, 2)
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 4 << 10}, d.rows)
	for _, budget := range []int{1, 2, 5, 12, 40} {
		res, err := ix.Query(context.Background(), d.queries[1], 10, QueryOptions{MaxReads: budget, SearchProbe: 200})
		if err != nil {
			t.Fatal(err)
		}
		if res.Work.Reads > budget {
			t.Errorf("budget of %d reads: %d spent", budget, res.Work.Reads)
		}
		if budget >= 2 && len(res.Matches) == 0 {
			t.Errorf("budget of %d reads: no result", budget)
		}
		if budget <= 5 && !res.Partial {
			t.Errorf("budget of %d reads: not marked partial", budget)
		}
	}
	res, err := ix.Query(context.Background(), d.queries[1], 10, QueryOptions{Deadline: time.Now().Add(-time.Second), SearchProbe: 200})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Partial || len(res.Matches) != 10 || res.Work.Stop != "deadline" || res.Work.Waves > 3 {
		t.Errorf("past its deadline: partial %v, %d results, %+v", res.Partial, len(res.Matches), res.Work)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ix.Query(ctx, d.queries[1], 10, QueryOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled context: %v", err)
	}
}

// TestStopRulesSaveReads: the rules read less than fixed work of the same dials
// and lose next to nothing.
func TestStopRulesSaveReads(t *testing.T) {
	t.Parallel()
	d := realSets(t)[0].few(1200, 15)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 8 << 10}, d.rows)
	dials := QueryOptions{SearchProbe: 16, RescoreLimit: 100}
	recall, reads := recallAt(t, ix, d, 10, dials)
	dials.FixedWork = true
	fixedRecall, fixedReads := recallAt(t, ix, d, 10, dials)
	t.Logf("rules: recall %.4f with %.1f reads; fixed: %.4f with %.1f", recall, reads, fixedRecall, fixedReads)
	if reads >= fixedReads*0.8 || recall < fixedRecall-0.02 {
		t.Errorf("rules: recall %.4f with %.1f reads; fixed: %.4f with %.1f", recall, reads, fixedRecall, fixedReads)
	}
	res, err := ix.Query(context.Background(), d.queries[0], 10, dials)
	if err != nil {
		t.Fatal(err)
	}
	if res.Work.Postings != 16 || res.Work.Exact != 100 {
		t.Errorf("fixed work read %d postings and %d records", res.Work.Postings, res.Work.Exact)
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	d := realSets(t)[0].few(300, 1)
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric}, d.rows)
	res, err := ix.Query(context.Background(), d.queries[0], 10, QueryOptions{Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"dials", "probe wave", "rescore wave", "answer"} {
		if !strings.Contains(res.Trace, word) {
			t.Errorf("trace does not tell of the %s:\n%s", word, res.Trace)
		}
	}
}

func TestQueryRefusesBadInput(t *testing.T) {
	t.Parallel()
	d := realSets(t)[0]
	dim := len(d.rows[0])
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", IndexConfig{Dimension: dim, Metric: Cosine}, d.rows[:50])
	with := func(i int, x float32) []float32 {
		v := slices.Clone(d.queries[0])
		v[i] = x
		return v
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		q     []float32
		k     int
		o     QueryOptions
		field string
	}{
		"k 0":               {d.queries[0], 0, QueryOptions{}, "k"},
		"k negative":        {d.queries[0], -1, QueryOptions{}, "k"},
		"k above the limit": {d.queries[0], MaxK + 1, QueryOptions{}, "k"},
		"short":             {d.queries[0][1:], 10, QueryOptions{}, "vector"},
		"long":              {append(slices.Clone(d.queries[0]), 0), 10, QueryOptions{}, "vector"},
		"nil":               {nil, 10, QueryOptions{}, "vector"},
		"NaN":               {with(3, nan), 10, QueryOptions{}, "vector"},
		"infinity":          {with(dim-1, inf), 10, QueryOptions{}, "vector"},
		"minus infinity":    {with(0, -inf), 10, QueryOptions{}, "vector"},
		"zero":              {make([]float32, dim), 10, QueryOptions{}, "vector"},
		"probe":             {d.queries[0], 10, QueryOptions{SearchProbe: -1}, "searchProbe"},
		"limit":             {d.queries[0], 10, QueryOptions{RescoreLimit: -5}, "rescoreLimit"},
		"reads":             {d.queries[0], 10, QueryOptions{MaxReads: -1}, "maxReads"},
		"recall 1":          {d.queries[0], 10, QueryOptions{RecallTarget: 1}, "recallTarget"},
		"recall NaN":        {d.queries[0], 10, QueryOptions{RecallTarget: math.NaN()}, "recallTarget"},
	} {
		_, err := ix.Query(context.Background(), c.q, c.k, c.o)
		var in *InputError
		if !errors.Is(err, ErrInvalid) || !errors.As(err, &in) || in.Field != c.field {
			t.Errorf("%s: error %v, want one about %s", name, err, c.field)
		}
	}
	// Legal extremes.
	for name, q := range map[string][]float32{
		"huge": with(0, math.MaxFloat32), "subnormal": with(0, 1e-42),
		"tiny": scaled(d.queries[0], 1e-25), "long": scaled(d.queries[0], 1e30),
	} {
		res, err := ix.Query(context.Background(), q, 10, QueryOptions{})
		if err != nil || len(res.Matches) != 10 || math.IsNaN(res.Matches[0].Distance) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func scaled(v []float32, f float32) []float32 {
	out := slices.Clone(v)
	for i := range out {
		out[i] *= f
	}
	return out
}

// TestDegenerateData: shapes of data that break clustering, codes or bounds.
func TestDegenerateData(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	gauss := func(d int) []float32 {
		v := make([]float32, d)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	repeat := func(v []float32, n int) (out [][]float32) {
		for range n {
			out = append(out, v)
		}
		return out
	}
	outlier := append(repeat(gauss(16), 1), scaled(gauss(16), 1e9))
	for range 300 {
		outlier = append(outlier, gauss(16))
	}
	onDim := func(d, n int) (out [][]float32) {
		for range n {
			out = append(out, gauss(d))
		}
		return out
	}
	cases := map[string][][]float32{
		"one":              {gauss(8)},
		"two":              {gauss(8), gauss(8)},
		"all equal":        repeat(gauss(64), 2600),
		"two values":       append(repeat(gauss(32), 300), repeat(gauss(32), 300)...),
		"one dimension":    onDim(1, 300),
		"three dimensions": onDim(3, 300),
		"largest":          onDim(MaxDimension, 30),
		"outlier":          outlier,
		"huge":             {scaled(gauss(8), 1e14), scaled(gauss(8), 1e14), gauss(8)},
		"tiny":             {scaled(gauss(8), 1e-20), scaled(gauss(8), 1e-20), scaled(gauss(8), 1e-20)},
	}
	s := openStore(t, t.TempDir(), Options{})
	for name, rows := range cases {
		for _, m := range []Metric{Cosine, Euclidean, Dot} {
			ix := mustBuild(t, s, fmt.Sprintf("%s-%v", strings.ReplaceAll(name, " ", "-"), m), IndexConfig{Dimension: len(rows[0]), Metric: m, PostingBytes: 4 << 10}, rows)
			for _, q := range [][]float32{rows[0], rows[len(rows)-1], gauss(len(rows[0]))} {
				res, err := ix.Query(context.Background(), q, 10, QueryOptions{SearchProbe: 1 << 20, RescoreLimit: 1 << 20})
				if err != nil {
					t.Fatalf("%s, %v: %v", name, m, err)
				}
				want := exact(m, rows, q, 10)
				if len(res.Matches) != len(want) {
					t.Fatalf("%s, %v: %d results, want %d", name, m, len(res.Matches), len(want))
				}
				for i := range want {
					if res.Matches[i].Distance != want[i].Distance {
						t.Errorf("%s, %v: result %d at %v, want %v", name, m, i, res.Matches[i].Distance, want[i].Distance)
						break
					}
				}
			}
			if m == Euclidean { // the slowest part
				if r, err := ix.Verify(context.Background(), nil); err != nil || !r.OK() {
					t.Errorf("%s, %v: %v %+v", name, m, err, r)
				}
			}
		}
	}
}

func TestEmptyIndex(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	if _, err := s.CreateIndex(context.Background(), "b", "i", IndexConfig{Dimension: 5, Metric: Euclidean}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ix, err := s.Index("b", "i")
		if err != nil {
			t.Fatal(err)
		}
		res, err := ix.Query(context.Background(), make([]float32, 5), 3, QueryOptions{})
		if err != nil || len(res.Matches) != 0 {
			t.Errorf("empty index answers %v, %v", res, err)
		}
		if r, err := ix.Verify(context.Background(), nil); err != nil || !r.OK() {
			t.Errorf("verify: %v %+v", err, r)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, dir, Options{})
	}
}

// TestLongKeysAndMetadata: what does not fit into a record comes back all the
// same.
func TestLongKeysAndMetadata(t *testing.T) {
	t.Parallel()
	d := realSets(t)[0].few(300, 0)
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	key := func(i int) string {
		if i%97 == 0 {
			return strings.Repeat("é", 500) + strconv.Itoa(i)
		}
		return "k" + strconv.Itoa(i)
	}
	meta := func(i int) []byte {
		switch i % 50 {
		case 0:
			return []byte(`{"text":"` + strings.Repeat("x", 5000+i) + `"}`)
		case 1:
			return nil
		}
		return []byte(`{"row":` + strconv.Itoa(i) + `}`)
	}
	_, _, err := s.Build(context.Background(), "b", "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric},
		func(yield func(Record, error) bool) {
			for i, v := range d.rows {
				if !yield(Record{Key: key(i), Vector: v, Metadata: meta(i)}, nil) {
					return
				}
			}
		}, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir, Options{})
	ix, err := s.Index("b", "i")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 2, 50, 51, 97, 194, 299} {
		res, err := ix.Query(context.Background(), d.rows[i], 5, QueryOptions{Metadata: true, Vectors: true})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(res.Matches, func(m Match) bool { return m.Key == key(i) })
		if at < 0 {
			t.Fatalf("row %d does not find itself", i)
		}
		if m := res.Matches[at]; string(m.Metadata) != string(meta(i)) || !slices.Equal(m.Vector, d.rows[i]) {
			t.Errorf("row %d: metadata %.60q or vector differ", i, m.Metadata)
		}
	}
	if r, err := ix.Verify(context.Background(), nil); err != nil || !r.OK() {
		t.Errorf("verify: %v %+v", err, r)
	}
}

// TestMagnitudes: vectors of any allowed length are found, alone or mixed.
func TestMagnitudes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	gauss := func(n int, factor func(i int) float64) (out [][]float32) {
		for i := range n {
			v := make([]float32, 16)
			for j := range v {
				v[j] = float32(rng.NormFloat64() * factor(i))
			}
			out = append(out, v)
		}
		return out
	}
	cases := map[string][][]float32{
		"mixed": gauss(520, func(i int) float64 { return math.Pow(10, float64(i%25-12)) }),
	}
	for _, e := range []int{-30, -12, 14} {
		cases[fmt.Sprintf("1e%d", e)] = gauss(520, func(int) float64 { return math.Pow(10, float64(e)) })
	}
	s := openStore(t, t.TempDir(), Options{})
	for name, rows := range cases {
		for _, m := range []Metric{Euclidean, Dot} {
			ix := mustBuild(t, s, fmt.Sprintf("%s-%v", strings.ReplaceAll(name, " ", "-"), m), IndexConfig{Dimension: 16, Metric: m, PostingBytes: 4 << 10}, rows)
			d := dataset{name: name, metric: m, rows: rows, queries: slices.Clone(rows[:5])}
			for _, q := range slices.Clone(d.queries) {
				d.queries = append(d.queries, scaled(q, 1e-3))
			}
			if recall, _ := recallAt(t, ix, d, 10, QueryOptions{SearchProbe: 1 << 20, RescoreLimit: 1 << 20}); recall < 0.999 {
				t.Errorf("%s, %v: recall %.4f with everything read", name, m, recall)
			}
			if recall, _ := recallAt(t, ix, d, 10, QueryOptions{}); recall < 0.9 && name != "mixed" {
				t.Errorf("%s, %v: recall %.4f by default", name, m, recall)
			}
		}
	}
}
