package main

import (
	"fmt"
	"strings"
)

// text tells what the demonstration did and what its figures mean.
func (r *demoResult) text(p *page, cause string) {
	b, w, s := r.Build, r.Single, r.Several
	p.line("%s English words as GloVe vectors of dimension %d, compared by %s\n", count(b.Vectors), b.Dimension, b.Metric)

	p.line("Bulk build into a temporary store")
	p.row("time", decimal(b.Seconds, 2)+" s", count(int64(b.VectorsPerSecond))+" vectors/s")
	p.row("postings", count(b.Postings), fmt.Sprintf("lists of words near one centroid; each word is in %.2f of them", b.ReplicasMean))
	p.row("disk", size(b.DiskBytes), fmt.Sprintf("%.0f bytes/vector, of which %d are the vector itself", b.DiskBytesPerVector, 4*b.Dimension))

	p.line("\nNearest words (the index does not hold the words asked for)")
	for _, n := range r.Neighbours {
		p.row(n.Word, strings.Join(n.Nearest, ", "))
	}

	cached := "nothing cached"
	if r.Cached {
		cached = "cached after one pass"
	}
	p.line("\n%s held-out words, the %d nearest of each, default dials, %s", count(w.Queries), w.K, cached)
	p.row(fmt.Sprintf("recall@%d", w.K), decimal(*w.Recall, 4), "share of the true nearest that are found; an exact scan is the truth")
	costText(p, w)
	p.row("QPS", count(int64(w.QPS)), fmt.Sprintf("queries per second here, one at a time; %.2f ms each", w.Latency.Mean))
	p.row("", count(int64(s.QPS)), fmt.Sprintf("with %d at a time; p99 %.2f ms", s.Clients, s.Latency.P99))

	p.line("\nMemory")
	index := r.Memory["centroids"] + r.Memory["directory"]
	p.row("index", size(index), fmt.Sprintf("%.1f bytes/vector: centroids and directory, all that must stay in memory",
		float64(index)/float64(b.Vectors)))
	p.row("process", decimal(s.RSSMiB, 1)+" MiB", fmt.Sprintf("resident, with the words themselves; %.1f MiB at most, while building", s.RSSPeakMiB))

	p.line("\nI/O engine")
	p.row(b.IOEngine, directText(b.DirectIO, cause))

	p.line("\nOne query in words: %s", strings.ReplaceAll(strings.TrimRight(r.Trace, "\n"), "\n", "\n  "))
}
