package sprat

import (
	"context"
	"fmt"
	"testing"
)

// benchmarkConfig is that of an index of real texts with a hundred postings or so.
func benchmarkConfig(d dataset) IndexConfig {
	return IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 8 << 10}
}

// BenchmarkQuery is one client asking a set of real texts for ten results at a
// recall: without a cache, so that every query reads, and with one that holds
// everything.
func BenchmarkQuery(b *testing.B) {
	d, dir := realSets(b)[0], b.TempDir()
	s := openStore(b, dir, Options{CacheBytes: -1})
	mustBuild(b, s, "i", benchmarkConfig(d), d.rows)
	mustClose(b, s)
	for _, cache := range []int64{-1, 64 << 20} {
		s := openStore(b, dir, Options{CacheBytes: cache})
		ix := mustIndex(b, s, "i")
		for _, target := range []float64{0.9, 0.99} {
			b.Run(fmt.Sprintf("cached=%v/recall=%v", cache > 0, target), func(b *testing.B) {
				b.ReportAllocs()
				reads, bytes, n := 0, int64(0), 0
				for b.Loop() {
					res, err := ix.Query(context.Background(), d.queries[n%len(d.queries)], 10, QueryOptions{RecallTarget: target})
					if err != nil {
						b.Fatal(err)
					}
					reads, bytes, n = reads+res.Work.Reads, bytes+res.Work.Bytes, n+1
				}
				b.ReportMetric(float64(reads)/float64(n), "reads/op")
				b.ReportMetric(float64(bytes)/1024/float64(n), "KiB-read/op")
			})
		}
		mustClose(b, s)
	}
}

// BenchmarkQueryParallel is as many clients as there are processors, uncached.
func BenchmarkQueryParallel(b *testing.B) {
	d := realSets(b)[0]
	s := openStore(b, b.TempDir(), Options{CacheBytes: -1})
	ix := mustBuild(b, s, "i", benchmarkConfig(d), d.rows)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			if _, err := ix.Query(context.Background(), d.queries[n%len(d.queries)], 10, QueryOptions{}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkBuild is a bulk build, calibration included.
func BenchmarkBuild(b *testing.B) {
	d := realSets(b)[0]
	s := openStore(b, b.TempDir(), Options{CacheBytes: -1})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		mustBuild(b, s, fmt.Sprint("i-", n), benchmarkConfig(d), d.rows)
		n++
	}
	b.ReportMetric(float64(n*len(d.rows))/b.Elapsed().Seconds(), "vectors/s")
}

// BenchmarkOpen is the start of a store with one index.
func BenchmarkOpen(b *testing.B) {
	d, dir := realSets(b)[0].few(1000, 0), b.TempDir()
	s := openStore(b, dir, Options{CacheBytes: -1})
	mustBuild(b, s, "i", benchmarkConfig(d), d.rows)
	mustClose(b, s)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(dir, Options{CacheBytes: -1})
		if err != nil {
			b.Fatal(err)
		}
		mustClose(b, s)
	}
}
