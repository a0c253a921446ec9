package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spratdb/sprat"
)

// ChurnConfig says what [RunChurn] measures. Set is required; zero values of the
// rest mean the defaults.
type ChurnConfig struct {
	// Set is what indexes are made of, in its natural order.
	Set ChurnSet
	// Rows is the number of vectors of the final content. Default, and at most,
	// half of the set.
	Rows int
	// Queries bounds the queries asked at each setting. Default all of the set.
	Queries int
	// Work is where temporary stores are made, on the volume to be measured.
	// Default: the system's folder for temporary files.
	Work string
	// Probes are the search probes to measure, each as fixed work with
	// RescoreLimit candidates. Default 4, 8, 16, 32.
	Probes []int
	// RescoreLimit goes with Probes. Default 100.
	RescoreLimit int
	// Targets are the recalls to ask for, with which the index chooses its dials.
	// Default 0.95 and 0.99.
	Targets []float64
	// K is the number of results of a query. Default 10.
	K int
	// Callers is the number of calls in progress while an index changes, Batch how
	// many vectors each brings. Default 8 and 100.
	Callers, Batch int
	// Store is how stores are opened; while queries are measured, without a cache.
	Store sprat.Options
	// Index holds the parameters of the indexes; dimension and metric are the
	// set's.
	Index sprat.IndexConfig
	// Progress, when set, is told the case, the step and how much of it is done,
	// from one goroutine at a time; total is 0 while unknown.
	Progress func(name, step string, done, total int64)
}

// ChurnSet is a set of vectors for [RunChurn].
type ChurnSet struct {
	Name    string
	Metric  string // Cosine, Euclidean or Dot
	Base    func() (Reader, error)
	Queries [][]float32
}

// OpenChurnSet reads a folder as [OpenANNSet] does; its true neighbours are not
// used, because the experiment holds a part of the set only.
func OpenChurnSet(dir string) (ChurnSet, error) {
	set, err := OpenANNSet(dir)
	if err != nil {
		return ChurnSet{}, err
	}
	return ChurnSet{set.Name, set.Metric, func() (Reader, error) { return Open(set.Base) }, set.Queries}, nil
}

func (c ChurnConfig) withDefaults() ChurnConfig {
	number := func(p *int, value int) {
		if *p == 0 {
			*p = value
		}
	}
	number(&c.RescoreLimit, 100)
	number(&c.K, 10)
	number(&c.Callers, 8)
	number(&c.Batch, 100)
	number(&c.Queries, len(c.Set.Queries))
	if len(c.Probes) == 0 {
		c.Probes = []int{4, 8, 16, 32}
	}
	if len(c.Targets) == 0 {
		c.Targets = []float64{0.95, 0.99}
	}
	if c.Progress == nil {
		c.Progress = func(string, string, int64, int64) {}
	}
	c.Set.Queries = c.Set.Queries[:min(c.Queries, len(c.Set.Queries))]
	return c
}

// ChurnReport is the outcome of [RunChurn].
type ChurnReport struct {
	Machine   Machine      `json:"machine"`
	Set       string       `json:"set"`
	Vectors   int          `json:"vectors"` // of the final content
	Dimension int          `json:"dimension"`
	Metric    string       `json:"metric"`
	Queries   int          `json:"queries"`
	K         int          `json:"k"`
	Callers   int          `json:"callers"`
	Batch     int          `json:"batch"`
	IOEngine  string       `json:"io_engine"`
	DirectIO  bool         `json:"direct_io"`
	Cases     []*ChurnCase `json:"cases"` // the fresh build first
}

// ChurnCase is one way to the final content and what it led to.
type ChurnCase struct {
	Name string `json:"name"` // fresh, grown, replaced or halved
	How  string `json:"how"`

	Build float64    `json:"build_seconds"` // of the bulk build, 0 without one
	Live  *ChurnLive `json:"live"`          // nil when nothing changed live

	Postings          int     `json:"postings"`
	PostingBytesMean  float64 `json:"posting_bytes_mean"`
	PostingBytesMax   int     `json:"posting_bytes_max"`
	CopiesMean        float64 `json:"copies_mean"`
	NearestViolations float64 `json:"nearest_violations"` // share of vectors
	StaleEntries      float64 `json:"stale_entries"`      // share of posting entries
	DiskBytes         int64   `json:"disk_bytes"`
	// Disk splits DiskBytes by kind of file.
	Disk sprat.DiskStats `json:"disk"`
	// MemoryPeakMiB is the most that was resident, of the process, while the index
	// was built or changed.
	MemoryPeakMiB float64 `json:"memory_peak_mib"`

	Fixed   []ANNPoint `json:"fixed"`   // fixed work at rising search probes
	Targets []ANNPoint `json:"targets"` // recall targets
}

// ChurnLive is what live changes cost.
type ChurnLive struct {
	Changes int64 `json:"changes"` // vectors put or deleted
	// Seconds until the last change was durable, SettleSeconds from then until
	// maintenance had nothing left to do.
	Seconds       float64 `json:"seconds"`
	SettleSeconds float64 `json:"settle_seconds"`
}

// PerSecond is the rate of durable changes.
func (l *ChurnLive) PerSecond() float64 { return float64(l.Changes) / max(l.Seconds, 1e-9) }

// SettledPerSecond is the rate with the maintenance that the changes caused.
func (l *ChurnLive) SettledPerSecond() float64 {
	return float64(l.Changes) / max(l.Seconds+l.SettleSeconds, 1e-9)
}

// RunChurn measures how an index that came about by live changes differs from one
// that was built of the same content at once: it makes the content in four ways,
// each in a temporary store which it removes, lets maintenance finish, verifies,
// and asks the same queries cold at the same dials. The final content is a random
// half of the first 2 x Rows rows. The first error ends it; a violated invariant
// is one.
func RunChurn(ctx context.Context, cfg ChurnConfig) (_ *ChurnReport, err error) {
	cfg = cfg.withDefaults()
	dir, err := os.MkdirTemp(cfg.Work, "sprat-churn-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rows, err := stageChurnRows(filepath.Join(dir, "rows.fbin"), cfg.Set, cfg.Rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Set.Name, err)
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	r := &churnRun{cfg: &cfg, dir: dir, rows: rows}
	if err := r.truth(ctx); err != nil {
		return nil, err
	}
	report := &ChurnReport{
		Machine: ThisMachine(), Set: cfg.Set.Name, Vectors: rows.n, Dimension: rows.dim, Metric: cfg.Set.Metric,
		Queries: len(cfg.Set.Queries), K: cfg.K, Callers: cfg.Callers, Batch: cfg.Batch,
	}
	r.report = report
	for _, way := range churnWays {
		c, err := r.measure(ctx, way)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", cfg.Set.Name, way.name, err)
		}
		report.Cases = append(report.Cases, c)
	}
	return report, nil
}

// churnWay is a way to the final content.
type churnWay struct {
	name, how string
	// built gives the row of key i < of in the bulk build; nil builds nothing.
	built func(r *churnRows, i int) int
	of    int // keys of the bulk build, in multiples of the final content
	// change lists what is then put (key i gets row i) or deleted.
	put, del func(r *churnRows) []int
}

// churnWays begins with the one that all are compared with. Keys and rows below
// n are the final content; the row of key i is i.
var churnWays = []churnWay{
	{name: "fresh", how: "bulk build of the final content",
		built: func(_ *churnRows, i int) int { return i }, of: 1},
	{name: "grown", how: "live puts into an empty index, in natural order",
		put: func(r *churnRows) []int { return upTo(0, r.n) }},
	{name: "replaced", how: "bulk build in which half of the keys have other vectors, then live puts of the right ones",
		built: func(r *churnRows, i int) int { return i + r.n*r.half[i] }, of: 1,
		put: func(r *churnRows) []int {
			return slices.DeleteFunc(upTo(0, r.n), func(i int) bool { return r.half[i] == 0 })
		}},
	{name: "halved", how: "bulk build of twice the content, then live deletion of half",
		built: func(_ *churnRows, i int) int { return i }, of: 2,
		del: func(r *churnRows) []int { return upTo(r.n, 2*r.n) }},
}

func upTo(from, to int) []int {
	list := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
