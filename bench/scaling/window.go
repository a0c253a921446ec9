package scaling

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

// window stands between a load and the index and counts the answers that come
// while it is open. What a closed loop does at its two ends, all clients beginning
// together and fewer and fewer being left, is thus no part of the measurement. It
// is safe for concurrent use.
type window struct {
	index bench.Searcher
	score bench.Scorer // nil when nothing is known

	mu struct {
		sync.Mutex
		answered int64 // also before it was opened
		open     bool
		opened   time.Time
		cpu      time.Duration // of the process when it was opened

		queries int64
		partial int64
		work    sprat.Work // sums
		took    time.Duration
		most    time.Duration
		latency *hdrhistogram.Histogram // microseconds
		recall  float64                 // sum
		scored  int64
	}
}

// The range of the histogram in microseconds; longer times count as the longest.
const (
	latencyMin = 1
	latencyMax = int64(time.Hour / time.Microsecond)
)

func newWindow(index bench.Searcher, score bench.Scorer) *window {
	w := &window{index: index, score: score}
	w.mu.latency = hdrhistogram.New(latencyMin, latencyMax, 3)
	return w
}

// Query asks the index and counts the answer.
func (w *window) Query(ctx context.Context, q []float32, k int, opts sprat.QueryOptions) (*sprat.Result, error) {
	begin := time.Now()
	res, err := w.index.Query(ctx, q, k, opts)
	took := time.Since(begin)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &w.mu
	m.answered++
	if !m.open {
		return res, nil
	}
	m.queries++
	if res.Partial {
		m.partial++
	}
	m.took += took
	m.most = max(m.most, took)
	// Out of range is not possible: the value is cut to what the histogram takes.
	_ = m.latency.RecordValue(min(max(took.Microseconds(), latencyMin), latencyMax))
	addWork(&m.work, &res.Work)
	return res, nil
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

// judge is a [bench.Scorer] that counts what is answered while the window is open.
func (w *window) judge(row int, matches []sprat.Match) (int, int, error) {
	w.mu.Lock()
	open := w.mu.open
	w.mu.Unlock()
	if !open || w.score == nil {
		return 0, 0, nil
	}
	right, of, err := w.score(row, matches)
	if err != nil || of == 0 {
		return 0, 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.recall += float64(right) / float64(of)
	w.mu.scored++
	return right, of, nil
}

// begin opens the window.
func (w *window) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.open, w.mu.opened, w.mu.cpu = true, time.Now(), processCPU()
}

// counts is the answers since the load began and since the window was opened.
func (w *window) counts() (answered, queries int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.answered, w.mu.queries
}

// end closes the window and reports what was in it.
func (w *window) end(k, clients int) *bench.WorkloadReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &w.mu
	m.open = false
	elapsed, cpu := time.Since(m.opened), processCPU()-m.cpu
	n := float64(m.queries)
	per := func(sum int) float64 { return round(ratioOf(float64(sum), n), 3) }
	percentile := func(p float64) float64 {
		return round(float64(m.latency.ValueAtPercentile(p))/1000, 3)
	}
	r := &bench.WorkloadReport{
		Queries: m.queries, K: k, Clients: clients, Seconds: round(elapsed.Seconds(), 3), QPS: round(n/elapsed.Seconds(), 3),
		Latency: bench.LatencyMS{
			Mean: round(ratioOf(milliseconds(m.took), n), 3), P50: percentile(50), P95: percentile(95), P99: percentile(99),
			Max: round(milliseconds(m.most), 3),
		},
		ReadsPerQuery: per(m.work.Reads), PostingReadsPerQuery: per(m.work.PostingReads), RefineReadsPerQuery: per(m.work.RefineReads),
		RecordReadsPerQuery: per(m.work.RecordReads), KiBPerQuery: round(ratioOf(float64(m.work.Bytes)/1024, n), 2),
		WavesPerQuery: per(m.work.Waves), ProbesPerQuery: per(m.work.Postings), CodesPerQuery: per(m.work.Codes),
		CacheHitRatio: round(ratioOf(float64(m.work.CacheHits), float64(m.work.CacheHits+m.work.Reads)), 4),
		CPUMSPerQuery: round(ratioOf(milliseconds(cpu), n), 4), Partial: m.partial,
	}
	if m.scored > 0 {
		recall := round(m.recall/float64(m.scored), 5)
		r.Recall = &recall
	}
	memory := bench.ProcessMemory()
	r.RSSMiB, r.RSSPeakMiB = round(mebibytes(memory.Resident), 1), round(mebibytes(memory.Peak), 1)
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// processCPU is the user and system time that this process has used.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}
