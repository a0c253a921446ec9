package sprat

import (
	"context"
	"testing"
)

// BenchmarkQuery asks a real set of texts, nothing cached.
func BenchmarkQuery(b *testing.B) {
	d := realSets(b)[0]
	s := openStore(b, b.TempDir(), Options{CacheBytes: -1})
	ix := mustBuild(b, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 8 << 10}, d.rows)
	reads, n := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		res, err := ix.Query(context.Background(), d.queries[n%len(d.queries)], 10, QueryOptions{})
		if err != nil {
			b.Fatal(err)
		}
		reads += res.Work.Reads
		n++
	}
	b.ReportMetric(float64(reads)/float64(n), "reads/op")
}

// BenchmarkBuild loads the set into a new index.
func BenchmarkBuild(b *testing.B) {
	d := realSets(b)[0]
	for b.Loop() {
		s := openStore(b, b.TempDir(), Options{})
		mustBuild(b, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric}, d.rows)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(d.rows)*b.N)/b.Elapsed().Seconds(), "vectors/s")
}
