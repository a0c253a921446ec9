package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spratdb/sprat"
)

// fakeIndex answers query i (its first component) by work that depends on i.
type fakeIndex struct {
	answer func(ctx context.Context, i int, opts *sprat.QueryOptions) (*sprat.Result, error)

	mu    sync.Mutex
	asked []int
	busy  atomic.Int64
	most  int64
}

func (f *fakeIndex) Query(ctx context.Context, q []float32, k int, opts sprat.QueryOptions) (*sprat.Result, error) {
	f.mu.Lock()
	f.asked = append(f.asked, int(q[0]))
	f.most = max(f.most, f.busy.Add(1))
	f.mu.Unlock()
	defer f.busy.Add(-1)
	if f.answer == nil {
		return &sprat.Result{}, nil
	}
	return f.answer(ctx, int(q[0]), &opts)
}

// numbered are n queries that say their row.
func numbered(n int) [][]float32 {
	q := make([][]float32, n)
	for i := range q {
		q[i] = []float32{float32(i)}
	}
	return q
}

func TestWorkloadAsksEveryQueryInEveryPass(t *testing.T) {
	for _, clients := range []int{1, 3, 16} {
		f := &fakeIndex{}
		var last int64
		r, err := Workload{Queries: numbered(10), K: 1, Clients: clients, Passes: 3, Warmup: 2,
			Progress: func(done, total int64) {
				if total != 30 && total != 20 {
					t.Errorf("progress of %d, want 20 (warm-up) or 30", total)
				}
				last = done
			}}.Run(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		times := map[int]int{}
		for _, i := range f.asked {
			times[i]++
		}
		for i := range 10 {
			if times[i] != 5 {
				t.Errorf("%d clients: query %d was asked %d times, want 2 of warm-up and 3", clients, i, times[i])
			}
		}
		if r.Queries != 30 || r.Clients != clients || last != 30 {
			t.Errorf("%d clients: %d queries of %d clients reported, progress to %d", clients, r.Queries, r.Clients, last)
		}
		if f.most > int64(clients) {
			t.Errorf("%d queries in progress at one time with %d clients", f.most, clients)
		}
	}
}

// All clients must be in a query before any gets its answer.
func TestWorkloadRunsClientsTogether(t *testing.T) {
	const clients = 4
	var arrived sync.WaitGroup
	arrived.Add(clients)
	f := &fakeIndex{answer: func(context.Context, int, *sprat.QueryOptions) (*sprat.Result, error) {
		arrived.Done()
		arrived.Wait()
		return &sprat.Result{}, nil
	}}
	if _, err := (Workload{Queries: numbered(clients), K: 1, Clients: clients}).Run(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func TestWorkloadDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeIndex{answer: func(_ context.Context, i int, _ *sprat.QueryOptions) (*sprat.Result, error) {
			<-time.After(300 * time.Millisecond)
			return &sprat.Result{}, nil
		}}
		r, err := Workload{Queries: numbered(2), K: 1, Duration: time.Second}.Run(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		// Sent at 0, 0.3, 0.6 and 0.9 s; the last is waited for.
		if r.Queries != 4 || r.Seconds != 1.2 || math.Abs(r.QPS-4/1.2) > 1e-9 {
			t.Errorf("%d queries in %v s at %v QPS, want 4 in 1.2 s", r.Queries, r.Seconds, r.QPS)
		}
		if r.Latency.Mean != 300 || r.Latency.Max != 300 || math.Abs(r.Latency.P99-300) > 0.3 {
			t.Errorf("latency %+v, want 300 ms", r.Latency)
		}
	})
}

func TestWorkloadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeIndex{answer: func(_ context.Context, i int, opts *sprat.QueryOptions) (*sprat.Result, error) {
			if left := time.Until(opts.Deadline); left != 50*time.Millisecond {
				t.Errorf("query %d has %v left, want 50ms", i, left)
			}
			return &sprat.Result{Partial: i == 1}, nil
		}}
		r, err := Workload{Queries: numbered(3), K: 1, Timeout: 50 * time.Millisecond}.Run(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if r.Partial != 1 {
			t.Errorf("%d answers cut short, want 1", r.Partial)
		}
	})
}

func TestWorkloadReportsMeans(t *testing.T) {
	f := &fakeIndex{answer: func(_ context.Context, i int, _ *sprat.QueryOptions) (*sprat.Result, error) {
		n := i + 1 // 1 to 4, mean 2.5
		return &sprat.Result{Work: sprat.Work{
			Postings: 2 * n, Codes: 100 * n, PostingReads: 3 * n, RefineReads: 4 * n, RecordReads: 5 * n,
			Reads: 12 * n, Bytes: 2048 * int64(n), Waves: 6 * n, CacheHits: 4 * n,
		}}, nil
	}}
	score := func(row int, _ []sprat.Match) (int, int, error) { return row, 4 * min(row, 1), nil }
	r, err := Workload{Queries: numbered(4), K: 7, Score: score}.Run(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"probes", r.ProbesPerQuery, 5}, {"codes", r.CodesPerQuery, 250}, {"posting reads", r.PostingReadsPerQuery, 7.5},
		{"refine reads", r.RefineReadsPerQuery, 10}, {"record reads", r.RecordReadsPerQuery, 12.5}, {"reads", r.ReadsPerQuery, 30},
		{"KiB", r.KiBPerQuery, 5}, {"waves", r.WavesPerQuery, 15}, {"cache hits", r.CacheHitRatio, 0.25},
		{"recall without the query that has no neighbour", *r.Recall, (0.25 + 0.5 + 0.75) / 3}, {"k", float64(r.K), 7},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if r.RSSMiB <= 0 || r.RSSPeakMiB < r.RSSMiB {
		t.Errorf("%v MiB resident, %v at most", r.RSSMiB, r.RSSPeakMiB)
	}
}

func TestWorkloadFails(t *testing.T) {
	broken := errors.New("broken volume")
	t.Run("query", func(t *testing.T) {
		f := &fakeIndex{answer: func(ctx context.Context, i int, _ *sprat.QueryOptions) (*sprat.Result, error) {
			if i == 3 {
				return nil, broken
			}
			return &sprat.Result{}, ctx.Err()
		}}
		_, err := Workload{Queries: numbered(8), K: 1, Clients: 2, Passes: 100}.Run(t.Context(), f)
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "row 3") {
			t.Errorf("got %v, want the error of the query in row 3", err)
		}
	})
	t.Run("score", func(t *testing.T) {
		score := func(int, []sprat.Match) (int, int, error) { return 0, 0, broken }
		if _, err := (Workload{Queries: numbered(1), K: 1, Score: score}).Run(t.Context(), &fakeIndex{}); !errors.Is(err, broken) {
			t.Errorf("got %v, want the scorer's error", err)
		}
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fakeIndex{answer: func(ctx context.Context, _ int, _ *sprat.QueryOptions) (*sprat.Result, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		if _, err := (Workload{Queries: numbered(1), K: 1, Duration: time.Hour}).Run(ctx, f); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
	for name, w := range map[string]Workload{
		"no queries": {K: 1}, "k": {Queries: numbered(1)}, "clients": {Queries: numbered(1), K: 1, Clients: -1},
		"passes": {Queries: numbered(1), K: 1, Passes: -1}, "warm-up": {Queries: numbered(1), K: 1, Warmup: -1},
	} {
		if _, err := w.Run(t.Context(), &fakeIndex{}); !errors.Is(err, ErrWorkload) {
			t.Errorf("%s: got %v, want ErrWorkload", name, err)
		}
	}
}

// What programs read from the report.
func TestWorkloadReportFields(t *testing.T) {
	text, err := json.Marshal(WorkloadReport{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`queries k clients seconds recall qps latency_ms reads_per_query
		posting_reads_per_query refine_reads_per_query record_reads_per_query kib_per_query waves_per_query
		probes_per_query codes_per_query cache_hit_ratio cpu_ms_per_query partial rss_mib rss_peak_mib`) {
		if _, ok := fields[name]; !ok {
			t.Errorf("no field %q in %s", name, text)
		}
	}
	if fields["recall"] != nil {
		t.Errorf("recall %v where nothing was scored, want null", fields["recall"])
	}
}

func TestParseMemory(t *testing.T) {
	status := "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t    1024 kB\nVmSwap:\t 7 kB\nVmRSS\n"
	if got, want := parseMemory([]byte(status)), (Memory{Resident: 1 << 20, Peak: 2 << 20}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestProcessCPUCountsWork(t *testing.T) {
	before := processCPU()
	x := 1.0
	for processCPU()-before < time.Millisecond {
		for range 1000 {
			x = math.Sqrt(x + 1)
		}
	}
	if x <= 0 {
		t.Error("no work was done")
	}
}

func TestVolume(t *testing.T) {
	v := Volume{IOPS: 1000, MiBps: 10}
	for _, c := range []struct {
		reads, kib, qps float64
		limit           string
	}{
		{10, 1, 100, "IOPS"},
		{1, 1024, 10, "throughput"},
		{0, 1024, 10, "throughput"},
		{0, 0, math.Inf(1), "IOPS"},
	} {
		if qps, limit := v.QPS(c.reads, c.kib); qps != c.qps || limit != c.limit {
			t.Errorf("%v reads, %v KiB: %v by %s, want %v by %s", c.reads, c.kib, qps, limit, c.qps, c.limit)
		}
	}
}
