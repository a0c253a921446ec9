package bench

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/spratdb/sprat"
)

// WorkloadReport says what a [Workload] cost. Figures "per query" are means over
// the measured queries; a read is an operation of the volume.
type WorkloadReport struct {
	Queries int64   `json:"queries"` // answered and measured
	K       int     `json:"k"`
	Clients int     `json:"clients"`
	Seconds float64 `json:"seconds"`

	// Recall is the mean over the answers scored, nil when none was.
	Recall  *float64  `json:"recall"`
	QPS     float64   `json:"qps"`
	Latency LatencyMS `json:"latency_ms"`

	ReadsPerQuery        float64 `json:"reads_per_query"`
	PostingReadsPerQuery float64 `json:"posting_reads_per_query"`
	RefineReadsPerQuery  float64 `json:"refine_reads_per_query"`
	RecordReadsPerQuery  float64 `json:"record_reads_per_query"`
	KiBPerQuery          float64 `json:"kib_per_query"`
	WavesPerQuery        float64 `json:"waves_per_query"`
	ProbesPerQuery       float64 `json:"probes_per_query"` // postings scanned
	CodesPerQuery        float64 `json:"codes_per_query"`  // posting entries scanned
	CacheHitRatio        float64 `json:"cache_hit_ratio"`  // hits / (hits + reads)

	// CPUMSPerQuery is user and system time of the whole process.
	CPUMSPerQuery float64 `json:"cpu_ms_per_query"`
	// Partial counts the answers that a deadline or read budget cut short.
	Partial int64 `json:"partial"`
	// RSSMiB is resident in memory at the end, RSSPeakMiB was at most since the
	// process began; 0 where the system does not tell.
	RSSMiB     float64 `json:"rss_mib"`
	RSSPeakMiB float64 `json:"rss_peak_mib"`
}

// LatencyMS are times from sending a query to having its answer, in
// milliseconds. Percentiles are rounded to three digits.
type LatencyMS struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// The range of the histogram in microseconds; longer times count as the longest.
const (
	latencyMin    = 1
	latencyMax    = int64(time.Hour / time.Microsecond)
	latencyDigits = 3
)

// tally gathers the answers of all clients.
type tally struct {
	load *Workload

	mu struct {
		sync.Mutex
		answered  int64
		partial   int64
		work      sprat.Work // sums
		took, max time.Duration
		latency   *hdrhistogram.Histogram // microseconds
		recall    float64                 // sum over the answers scored
		scored    int64
	}
}

func newTally(w *Workload) *tally {
	t := &tally{load: w}
	t.mu.latency = hdrhistogram.New(latencyMin, latencyMax, latencyDigits)
	return t
}

// progressEvery is the number of answers between calls of Progress.
const progressEvery = 32

// add counts the answer to the query in a row of the load.
func (t *tally) add(row int, took time.Duration, res *sprat.Result) error {
	right, of := 0, 0
	if t.load.Score != nil {
		var err error
		if right, of, err = t.load.Score(row, res.Matches); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &t.mu
	if of > 0 {
		m.recall += float64(right) / float64(of)
		m.scored++
	}
	if res.Partial {
		m.partial++
	}
	m.took += took
	m.max = max(m.max, took)
	if err := m.latency.RecordValue(min(max(took.Microseconds(), latencyMin), latencyMax)); err != nil {
		return err
	}
	addWork(&m.work, &res.Work)
	if m.answered++; m.answered%progressEvery == 0 || m.answered == t.load.total() {
		t.load.Progress(m.answered, t.load.total())
	}
	return nil
}

// addWork adds what is reported of w to sum.
func addWork(sum, w *sprat.Work) {
	sum.Postings += w.Postings
	sum.Codes += w.Codes
	sum.PostingReads += w.PostingReads
	sum.RefineReads += w.RefineReads
	sum.RecordReads += w.RecordReads
	sum.Reads += w.Reads
	sum.Bytes += w.Bytes
	sum.Waves += w.Waves
	sum.CacheHits += w.CacheHits
}

// report closes the account. At least one query was answered.
func (t *tally) report(elapsed, cpu time.Duration) *WorkloadReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &t.mu
	n := float64(m.answered)
	per := func(sum int) float64 { return float64(sum) / n }
	w := &m.work
	r := &WorkloadReport{
		Queries: m.answered, K: t.load.K, Clients: t.load.Clients,
		Seconds: elapsed.Seconds(), QPS: n / elapsed.Seconds(),
		Latency: LatencyMS{
			Mean: milliseconds(m.took) / n,
			P50:  t.percentile(50), P95: t.percentile(95), P99: t.percentile(99),
			Max: milliseconds(m.max),
		},
		ReadsPerQuery: per(w.Reads), PostingReadsPerQuery: per(w.PostingReads),
		RefineReadsPerQuery: per(w.RefineReads), RecordReadsPerQuery: per(w.RecordReads),
		KiBPerQuery: float64(w.Bytes) / 1024 / n, WavesPerQuery: per(w.Waves),
		ProbesPerQuery: per(w.Postings), CodesPerQuery: per(w.Codes),
		CPUMSPerQuery: milliseconds(cpu) / n, Partial: m.partial,
	}
	if tried := w.CacheHits + w.Reads; tried > 0 {
		r.CacheHitRatio = float64(w.CacheHits) / float64(tried)
	}
	if m.scored > 0 {
		recall := m.recall / float64(m.scored)
		r.Recall = &recall
	}
	mem := ProcessMemory()
	r.RSSMiB, r.RSSPeakMiB = mebibytes(mem.Resident), mebibytes(mem.Peak)
	return r
}

// percentile is a latency in milliseconds; mu is held.
func (t *tally) percentile(p float64) float64 {
	return float64(t.mu.latency.ValueAtPercentile(p)) / 1000
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
