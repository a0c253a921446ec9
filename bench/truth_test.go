package bench

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// memoryReader serves rows from memory.
type memoryReader struct {
	rows   [][]float32
	dim    int
	next   int
	closed *int
}

func (m *memoryReader) Dim() int     { return m.dim }
func (m *memoryReader) Rows() int64  { return int64(len(m.rows)) }
func (m *memoryReader) Close() error { *m.closed++; return nil }

func (m *memoryReader) Next(row *Row) error {
	if m.next == len(m.rows) {
		return io.EOF
	}
	row.grow(len(m.rows[m.next]))
	copy(row.Vector, m.rows[m.next])
	m.next++
	return nil
}

// config makes a TruthConfig over rows in memory.
func config(rows, queries [][]float32, metric string, k int) TruthConfig {
	return TruthConfig{
		Base: func() (Reader, error) {
			return &memoryReader{rows: rows, dim: len(queries[0]), closed: new(int)}, nil
		},
		Queries: queries, Metric: metric, K: k,
	}
}

// slowTruth is the specification: every distance in float64, then a stable sort.
func slowTruth(rows [][]float32, q []float32, metric string) []hit {
	hits := make([]hit, len(rows))
	for i, x := range rows {
		var dot, qq, xx, l2 float64
		for j := range q {
			a, b := float64(q[j]), float64(x[j])
			dot, qq, xx, l2 = dot+a*b, qq+a*a, xx+b*b, l2+(a-b)*(a-b)
		}
		hits[i] = hit{id: int32(i), key: map[string]float64{
			Cosine: 1 - dot/math.Sqrt(qq*xx), Euclidean: math.Sqrt(l2), Dot: -dot,
		}[metric]}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.key, b.key) })
	return hits
}

// Values are small integers times a scale: sums are exact in any order, so ids must
// agree even among ties, which are many. The scales take products to where float32
// overflows and underflows.
func TestTruthIsExact(t *testing.T) {
	scales := []float32{1, 1 << 70, 1.0 / (1 << 75), 1 << 100}
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 40).Draw(t, "dim")
		metric := rapid.SampledFrom([]string{Cosine, Euclidean, Dot}).Draw(t, "metric")
		scale := rapid.SampledFrom(scales).Draw(t, "scale")
		shift := rapid.SampledFrom([]int{0, 0, 1 << 12}).Draw(t, "shift")
		if metric == Cosine {
			shift = 0 // its square roots are not exact, so that far from 0 near ties are left to rounding
		}
		vector := rapid.Custom(func(t *rapid.T) []float32 {
			v := make([]float32, dim)
			for j, x := range rapid.SliceOfN(rapid.IntRange(-3, 3), dim, dim).Draw(t, "v") {
				v[j] = float32(x+shift) * scale
			}
			v[0] = float32(1+shift) * scale // not zero
			return v
		})
		rows := rapid.SliceOfN(vector, 0, 60).Draw(t, "rows")
		queries := rapid.SliceOfN(vector, 1, 9).Draw(t, "queries")
		k := rapid.IntRange(1, 20).Draw(t, "k")
		cfg := config(rows, queries, metric, k)
		cfg.Workers = rapid.IntRange(1, 3).Draw(t, "workers")
		ids, dist, err := Truth(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range queries {
			want := slowTruth(rows, q, metric)
			checkHits(t, ids.Row(i), dist.Row(i), want, metric == Cosine)
		}
	})
}

// checkHits compares one query's results. With loose, ids may differ where
// distances agree.
func checkHits(t interface{ Fatalf(string, ...any) }, ids []int32, dist []float32, want []hit, loose bool) {
	for j := range ids {
		if j >= len(want) {
			if ids[j] != -1 || !math.IsInf(float64(dist[j]), 1) {
				t.Fatalf("place %d beyond the base: %d at %v, want -1 at +Inf", j, ids[j], dist[j])
			}
			continue
		}
		w := want[j]
		if diff := math.Abs(float64(dist[j]) - float64(float32(w.key))); diff > 1e-6*math.Abs(w.key) && (!loose || diff > 1e-12) {
			t.Fatalf("place %d: distance %v, want %v", j, dist[j], w.key)
		}
		if ids[j] != w.id && !loose {
			t.Fatalf("place %d: id %d, want %d at %v", j, ids[j], w.id, w.key)
		}
	}
}

// Data over many tiles and batches, in which float32 alone cannot tell neighbours
// apart: all rows lie close together and far from the origin.
func TestTruthAcrossBatches(t *testing.T) {
	const dim = 300
	n := 2*batchBytes/(4*dim) + 77
	rows := table(n, dim, func(r, c int) float32 { return 4096 + float32((r*7919+c*104729)%8191)/8192 })
	rows[n-1] = rows[5] // a duplicate far away from its twin
	queries := [][]float32{rows[5], rows[n/2], table(1, dim, func(_, c int) float32 { return 4096 + float32(c%3)/2 })[0]}
	for _, metric := range []string{Euclidean, Cosine, Dot} {
		var progress []int64
		cfg := config(rows, queries, metric, 10)
		cfg.Progress = func(done, total int64) {
			if total != int64(n) {
				t.Errorf("progress of %d rows, want %d", total, n)
			}
			progress = append(progress, done)
		}
		ids, dist, err := Truth(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range queries {
			checkHits(t, ids.Row(i), dist.Row(i), slowTruth(rows, q, metric), metric == Cosine)
		}
		if metric == Euclidean && (ids.Row(0)[0] != 5 || ids.Row(0)[1] != int32(n-1) || dist.Row(0)[1] != 0) {
			t.Errorf("duplicates: %v at %v", ids.Row(0)[:2], dist.Row(0)[:2])
		}
		if len(progress) != 3 || progress[2] != int64(n) || !slices.IsSorted(progress) {
			t.Errorf("progress %v, want 3 steps to %d", progress, n)
		}
	}
}

// One product overflows float32 downwards, while the sum of all is positive and the
// largest: the float32 score, minus infinity, must not decide. The others are just
// too small to overflow on their own in any step of the kernel, which would give NaN.
func TestTruthOverflow(t *testing.T) {
	const dim = 32
	q := table(1, dim, func(_, _ int) float32 { return 1 << 64 })[0]
	rows := table(2, dim, func(r, c int) float32 {
		switch {
		case r == 0:
			return 0
		case c == 0:
			return -1 << 64
		}
		return (1 << 64) / 20.0
	})
	ids, _, err := Truth(context.Background(), config(rows, [][]float32{q}, Dot, 1))
	if err != nil || ids.IDs[0] != 1 {
		t.Errorf("nearest is %v, %v, want row 1", ids, err)
	}
}

func TestTruthErrors(t *testing.T) {
	one := [][]float32{{1, 2}}
	zero := [][]float32{{1, 2}, {0, 0}}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		cfg  TruthConfig
		want error
		text string
	}{
		"metric":     {config(one, one, "l2", 1), ErrMetric, `"l2"`},
		"k":          {config(one, one, Dot, 0), nil, "K of 0"},
		"no queries": {TruthConfig{Base: func() (Reader, error) { return nil, boom }, Metric: Dot, K: 1}, nil, "0 queries"},
		"zero row":   {config(zero, one, Cosine, 1), ErrZeroVector, "base row 1"},
		"zero query": {config(one, zero, Cosine, 1), ErrZeroVector, "query 1"},
		"dimension":  {config(one, [][]float32{{1, 2}, {1}}, Dot, 1), nil, "query 1 has 1 values, the base 2"},
		"ragged":     {config([][]float32{{1, 2}, {1}}, one, Dot, 1), nil, "base row 1 has 1 values"},
		"base":       {TruthConfig{Base: func() (Reader, error) { return nil, boom }, Queries: one, Metric: Dot, K: 1}, boom, "boom"},
		"read": {TruthConfig{Base: func() (Reader, error) {
			return openText("[1,2]\n[1,x]", Options{})
		}, Queries: one, Metric: Dot, K: 1}, ErrFormat, "a.jsonl:2:4"},
	} {
		_, _, err := Truth(context.Background(), c.cfg)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %v with %q", name, err, c.want, c.text)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Truth(ctx, config(one, one, Dot, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The base is closed once, whether or not the search succeeds.
func TestTruthCloses(t *testing.T) {
	for _, rows := range [][][]float32{{{1, 2}}, {{0, 0}}} {
		closed := 0
		cfg := config(rows, [][]float32{{1, 1}}, Cosine, 1)
		cfg.Base = func() (Reader, error) { return &memoryReader{rows: rows, dim: 2, closed: &closed}, nil }
		_, _, err := Truth(context.Background(), cfg)
		if closed != 1 {
			t.Errorf("%v: closed %d times (error %v)", rows, closed, err)
		}
	}
}
