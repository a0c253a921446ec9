package sprat

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spratdb/sprat/iopath"
)

// modelledStore opens a store with an index of real vectors on a modelled volume.
func modelledStore(t *testing.T, m *iopath.Model) (*Store, *Index, dataset) {
	t.Helper()
	d := realSets(t)[0].few(1500, 20)
	s, err := openWith(t.TempDir(), Options{CacheBytes: -1}, hooks{model: m})
	mustDo(t, err)
	ix := mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 8 << 10}, d.rows)
	return s, ix, d
}

// load runs queries from a number of clients until the time is over, and returns
// how many were answered.
func load(t *testing.T, ix *Index, d dataset, clients int, over time.Duration, opts QueryOptions) int64 {
	t.Helper()
	var done atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(over)
	for c := range clients {
		all.Go(func() {
			for i := c; time.Now().Before(end); i++ {
				if _, err := ix.Query(context.Background(), d.queries[i%len(d.queries)], 10, opts); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return done.Load()
}

// TestThroughputIsFlat: by the clock of a modelled volume, many more clients than
// the volume has operations for do not lower the rate, the volume is used up, and
// what is in flight follows the volume when that is raised and lowered.
func TestThroughputIsFlat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gp3 := iopath.Volume{IOPS: 3000, BytesPerSecond: 125 << 20, Latency: time.Millisecond}
		m := iopath.NewModel(iopath.Volume{}, 1)
		s, ix, d := modelledStore(t, m)
		defer mustClose(t, s)
		fixed := QueryOptions{SearchProbe: 6, RescoreLimit: 10, FixedWork: true}
		m.Set(gp3)
		load(t, ix, d, 64, 4*time.Second, fixed) // it finds the knee
		rate := map[int]float64{}
		for _, clients := range []int{32, 128} {
			before := s.engine.Stats().Reads
			const over = 2 * time.Second
			start := time.Now()
			n := load(t, ix, d, clients, over, fixed)
			took := time.Since(start).Seconds()
			rate[clients] = float64(n) / took
			iops := float64(s.engine.Stats().Reads-before) / took
			t.Logf("%d clients: %.0f queries/s, %.0f reads/s, at most %d in flight", clients, rate[clients], iops, s.engine.Stats().InFlightLimit)
			if iops < 0.95*3000 {
				t.Errorf("%d clients use %.0f of 3,000 operations", clients, iops)
			}
		}
		if r := rate[128] / rate[32]; r < 0.98 {
			t.Errorf("128 clients reach %.3f of what 32 do", r)
		}
		if l := s.engine.Stats().InFlightLimit; l > 16 {
			t.Errorf("%d reads are let in where the knee is at 3", l)
		}
		raised := iopath.Volume{IOPS: 12000, BytesPerSecond: 2000 << 20, Latency: time.Millisecond}
		m.Set(raised)
		load(t, ix, d, 128, 4*time.Second, fixed)
		before := s.engine.Stats().Reads
		load(t, ix, d, 128, 2*time.Second, fixed)
		iops := float64(s.engine.Stats().Reads-before) / 2
		t.Logf("raised: %.0f reads/s, at most %d in flight", iops, s.engine.Stats().InFlightLimit)
		if iops < 0.9*12000 {
			t.Errorf("after 4 s %.0f of 12,000 operations are used", iops)
		}
	})
}

// stalled opens a store whose volume answers no reads until release is called.
func stalled(t *testing.T) (s *Store, ix *Index, d dataset, stall func(), release func()) {
	t.Helper()
	d = realSets(t)[0].few(600, 5)
	var until atomic.Pointer[chan struct{}]
	s, err := openWith(t.TempDir(), Options{CacheBytes: -1, MemoryLimit: 64 << 20}, hooks{faults: func(iopath.ReadOp) iopath.Fault {
		if c := until.Load(); c != nil {
			return iopath.Fault{Until: *c}
		}
		return iopath.Fault{}
	}})
	mustDo(t, err)
	ix = mustBuild(t, s, "i", IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric}, d.rows)
	c := make(chan struct{})
	return s, ix, d, func() { until.Store(&c) }, func() { until.Store(nil); close(c) }
}

// TestDeadlineOnStalledVolume: queries come back at their deadline, marked, from a
// volume that answers nothing, also those that were never admitted; one without a
// deadline waits for its context. When the volume is back, all is as before.
func TestDeadlineOnStalledVolume(t *testing.T) {
	s, ix, d, stall, release := stalled(t)
	defer mustClose(t, s)
	stall()
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			res, err := ix.Query(context.Background(), d.queries[i%len(d.queries)], 10,
				QueryOptions{Deadline: time.Now().Add(20 * time.Millisecond)})
			if err != nil || !res.Partial || res.Work.Stop != stopDeadline {
				t.Errorf("query %d: %+v, %v", i, res, err)
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no patience")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := ix.Query(ctx, d.queries[0], 10, QueryOptions{}); !errors.Is(err, why) {
		t.Errorf("a query whose context ends: %v", err)
	}
	release()
	res, err := ix.Query(context.Background(), d.queries[0], 10, QueryOptions{Deadline: time.Now().Add(time.Hour)})
	if err != nil || res.Partial || len(res.Matches) != 10 {
		t.Errorf("afterwards: %+v, %v", res, err)
	}
	if damaged := ix.Stats().Damaged; len(damaged) > 0 {
		t.Errorf("deadlines have left damage behind: %q", damaged)
	}
	for name, sem := range map[string]interface{ TryAcquire(int64) bool }{"queries": s.admission.queries, "buffers": s.admission.buffers} {
		if !sem.TryAcquire(s.admission.most) {
			t.Errorf("somebody still holds part of %s", name)
		}
	}
}

// TestManyQueriesOnStalledVolume: thousands of queries at one time hold no more
// memory than they are allowed to.
func TestManyQueriesOnStalledVolume(t *testing.T) {
	s, ix, d, stall, release := stalled(t)
	defer mustClose(t, s)
	stall()
	const queries = 5000
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	var answered atomic.Int64
	for i := range queries {
		all.Go(func() {
			res, err := ix.Query(ctx, d.queries[i%len(d.queries)], 10, QueryOptions{})
			if err != nil || len(res.Matches) != 10 {
				t.Errorf("query %d: %v", i, err)
			}
			answered.Add(1)
		})
	}
	for s.engine.Stats().InFlight == 0 {
		runtime.Gosched()
	}
	if st := s.engine.Stats(); st.BufferMax > s.admission.most {
		t.Errorf("%d bytes of buffers, allowed are %d", st.BufferMax, s.admission.most)
	}
	release()
	all.Wait()
	if st := s.engine.Stats(); st.BufferMax > s.admission.most {
		t.Errorf("%d bytes of buffers, allowed are %d", st.BufferMax, s.admission.most)
	}
	if answered.Load() != queries {
		t.Errorf("%d answers", answered.Load())
	}
}
