package sprat

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"testing"

	"github.com/spratdb/sprat/internal/realdata"
	"github.com/spratdb/sprat/rescore"
)

func openStore(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it already
	return s
}

// rowsOf yields vectors with their row numbers as keys.
func rowsOf(vectors [][]float32) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for i, v := range vectors {
			if !yield(Record{Key: strconv.Itoa(i), Vector: v}, nil) {
				return
			}
		}
	}
}

func mustBuild(t testing.TB, s *Store, name string, cfg IndexConfig, vectors [][]float32) *Index {
	t.Helper()
	ix, _, err := s.Build(context.Background(), "b", name, cfg, rowsOf(vectors), BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// dataset is a real set as plain slices.
type dataset struct {
	name          string
	metric        Metric
	rows, queries [][]float32
}

func realSets(t testing.TB) []dataset {
	t.Helper()
	var out []dataset
	for _, set := range realdata.All() {
		m, err := ParseMetric(set.Metric)
		if err != nil {
			t.Fatal(err)
		}
		d := dataset{name: set.Name, metric: m}
		for i := range set.Len() {
			d.rows = append(d.rows, set.Row(i))
		}
		for i := range set.QueryLen() {
			d.queries = append(d.queries, set.Query(i))
		}
		out = append(out, d)
	}
	return out
}

// few is the first rows and queries of the set.
func (d dataset) few(rows, queries int) dataset {
	d.rows, d.queries = d.rows[:min(rows, len(d.rows))], d.queries[:min(queries, len(d.queries))]
	return d
}

// exact returns the k nearest rows of q by brute force, ties by key.
func exact(m Metric, rows [][]float32, q []float32, k int) []Match {
	target := rescore.NewTarget(m, q)
	all := make([]Match, len(rows))
	for i, v := range rows {
		all[i] = Match{Key: strconv.Itoa(i), Distance: target.Distance(v)}
	}
	sortMatches(m, all)
	return all[:min(k, len(all))]
}

func sortMatches(m Metric, a []Match) {
	slices.SortFunc(a, func(x, y Match) int {
		return cmp.Or(cmp.Compare(m.Order(x.Distance), m.Order(y.Distance)), cmp.Compare(x.Key, y.Key))
	})
}

// recallAt is the share of answers at least as near as the k-th true neighbour,
// over the queries, with the mean number of reads.
func recallAt(t testing.TB, ix *Index, d dataset, k int, opts QueryOptions) (recall, reads float64) {
	t.Helper()
	right, total, n := 0, 0, 0
	for _, q := range d.queries {
		worst := kthOrder(ix.Metric(), d.rows, q, k)
		res, err := ix.Query(context.Background(), q, k, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range res.Matches {
			if ix.Metric().Order(m.Distance) <= worst {
				right++
			}
		}
		total += min(k, len(d.rows))
		n += res.Work.Reads
	}
	return float64(right) / float64(total), float64(n) / float64(len(d.queries))
}

// kthOrder is how near the k-th nearest row of q is, by brute force.
func kthOrder(m Metric, rows [][]float32, q []float32, k int) float64 {
	target := rescore.NewTarget(m, q)
	var nearest []float64 // ascending
	for _, v := range rows {
		order := m.Order(target.Distance(v))
		if len(nearest) == k && order >= nearest[k-1] {
			continue
		}
		at, _ := slices.BinarySearch(nearest, order)
		nearest = slices.Insert(nearest, at, order)
		nearest = nearest[:min(k, len(nearest))]
	}
	return nearest[len(nearest)-1]
}
