package scaling

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

// fakeIndex answers after a time.
type fakeIndex struct {
	takes time.Duration
	fails error
}

func (f fakeIndex) Query(ctx context.Context, _ []float32, _ int, _ sprat.QueryOptions) (*sprat.Result, error) {
	select {
	case <-time.After(f.takes):
		return &sprat.Result{Partial: true, Work: sprat.Work{Reads: 4, Bytes: 8192, CacheHits: 1, Waves: 2}}, f.fails
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestWindow counts the answers that come while the window is open, and no others.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		score := func(row int, _ []sprat.Match) (int, int, error) { return 1, 2, nil }
		w := newWindow(fakeIndex{takes: 300 * time.Millisecond}, score)
		until, done := make(chan struct{}), make(chan error, 1)
		load := bench.Workload{Queries: [][]float32{{1}, {2}}, K: 1, Clients: 2, Until: until, Score: w.judge}
		go func() {
			_, err := load.Run(t.Context(), w)
			done <- err
		}()
		<-time.After(700 * time.Millisecond) // answers at 0.3 and 0.6 s are warm-up
		w.begin()
		<-time.After(time.Second) // those at 0.9, 1.2 and 1.5 s count
		r := w.end(1, 2)
		close(until)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if r.Queries != 6 || r.Seconds != 1 || r.QPS != 6 || r.Partial != 6 {
			t.Errorf("%d answers in %v s, %v a second, %d partial", r.Queries, r.Seconds, r.QPS, r.Partial)
		}
		if r.Latency.Mean != 300 || r.Latency.Max != 300 || math.Abs(r.Latency.P99-300) > 0.5 {
			t.Errorf("latency %+v", r.Latency)
		}
		if r.Recall == nil || *r.Recall != 0.5 || r.ReadsPerQuery != 4 || r.KiBPerQuery != 8 || r.WavesPerQuery != 2 || r.CacheHitRatio != 0.2 {
			t.Errorf("%+v", r)
		}
		if answered, queries := w.counts(); answered < 10 || queries != 6 {
			t.Errorf("%d answered, %d counted", answered, queries)
		}
	})
}

// TestWindowEmpty: no answer in time is a rate of 0, and figures that JSON can hold.
func TestWindowEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow(fakeIndex{}, nil)
		w.begin()
		<-time.After(time.Second)
		r := w.end(1, 2)
		if r.QPS != 0 || r.Recall != nil || r.ReadsPerQuery != 0 || r.Latency.Mean != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// TestLoadEnds: queries that take long are cut short, errors are not lost.
func TestLoadEnds(t *testing.T) {
	broken := errors.New("broken volume")
	cfg := Config{K: 1}
	for _, c := range []struct {
		name  string
		index fakeIndex
		want  error
	}{
		{"short", fakeIndex{takes: time.Second}, nil}, {"long", fakeIndex{takes: time.Hour}, nil}, {"broken", fakeIndex{takes: time.Second, fails: broken}, broken},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoad(t.Context(), &cfg, Setting{Clients: 3}, [][]float32{{1}}, newWindow(c.index, nil))
			began := time.Now()
			if err := l.end(); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
			if took := time.Since(began); took > drain {
				t.Errorf("%s: it took %v", c.name, took)
			}
			l.cancel()
		})
	}
	t.Run("the whole", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := newLoad(ctx, &cfg, Setting{Clients: 3}, [][]float32{{1}}, newWindow(fakeIndex{takes: time.Hour}, nil))
			synctest.Wait()
			cancel()
			if err := l.end(); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	})
}
