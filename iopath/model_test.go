package iopath

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// modelled runs a test in a bubble, on an engine in front of a model of the volume
// and a file of which all offsets differ.
func modelled(t *testing.T, cfg Config, v Volume, test func(t *testing.T, m *Model, e *Engine, f *File, want []byte)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Model = NewModel(v, 1)
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 4<<20)
		test(t, cfg.Model, e, f, want)
	})
}

// reads are n spans of the size, one after the other in a file of 4 MiB.
func reads(n, size int) []span {
	out := make([]span, n)
	for i := range out {
		out[i] = span{int64(i * size % (4<<20 - size + 1)), size}
	}
	return out
}

// TestModelThroughput: n reads that are all there take what the volume's two rates
// make of them, to the nanosecond, and bring the right bytes.
func TestModelThroughput(t *testing.T) {
	for what, c := range map[string]struct {
		volume  Volume
		n, size int
		want    time.Duration
	}{
		"no limit":             {Volume{}, 500, 4096, 0},
		"operations":           {Volume{IOPS: 100}, 500, 4096, 5 * time.Second},
		"a volume of 3,000":    {Volume{IOPS: 3000, Latency: 500 * time.Microsecond}, 1500, 4096, 500*time.Millisecond + 500*time.Microsecond},
		"a volume of 80,000":   {Volume{IOPS: 80_000, BytesPerSecond: 2000 << 20}, 4000, 4096, 50 * time.Millisecond},
		"an odd rate":          {Volume{IOPS: 7}, 3, 4096, 428571429},
		"large reads":          {Volume{IOPS: 100}, 50, 300 << 10, time.Second}, // two operations each
		"bytes":                {Volume{BytesPerSecond: 1 << 20}, 8, 256 << 10, 2 * time.Second},
		"bytes bind":           {Volume{IOPS: 1000, BytesPerSecond: 1 << 20}, 8, 256 << 10, 2 * time.Second},
		"operations bind":      {Volume{IOPS: 10, BytesPerSecond: 1 << 30}, 8, 4096, 800 * time.Millisecond},
		"a burst":              {Volume{IOPS: 10, Burst: 30}, 50, 4096, 2 * time.Second},
		"a burst that is more": {Volume{IOPS: 10, Burst: 60}, 50, 4096, 0},
		"a burst of bytes":     {Volume{BytesPerSecond: 4096, BurstBytes: 5 * 4096}, 8, 4096, 3 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			modelled(t, Config{Depth: 64}, c.volume, func(t *testing.T, _ *Model, e *Engine, f *File, want []byte) {
				began := time.Now()
				b := e.NewBatch()
				defer b.Release()
				readAll(t, b, f, want, reads(c.n, c.size))
				if took := time.Since(began); took != c.want {
					t.Errorf("%d reads took %v, want %v", c.n, took, c.want)
				}
			})
		})
	}
}

// TestModelDepth: without a limit of its rates, a volume reads as many at one time
// as there are, so n reads at a depth take n/depth times the latency.
func TestModelDepth(t *testing.T) {
	const latency = 2 * time.Millisecond
	for _, depth := range []int{1, 4, 32, 256} {
		modelled(t, Config{Depth: depth}, Volume{Latency: latency}, func(t *testing.T, _ *Model, e *Engine, f *File, want []byte) {
			began := time.Now()
			b := e.NewBatch()
			defer b.Release()
			readAll(t, b, f, want, reads(512, 4096))
			if took := time.Since(began); took != time.Duration(512/depth)*latency {
				t.Errorf("depth %d: %v", depth, took)
			}
			if s := e.Stats(); s.InFlightMax != int64(min(depth, 512)) {
				t.Errorf("depth %d: %d in flight at most", depth, s.InFlightMax)
			}
		})
	}
}

// latencies reads one by one and says how long each took.
func latencies(t *testing.T, v Volume, seed uint64, n int) (out []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		e := openEngine(t, Config{Model: NewModel(v, seed)})
		f, _ := openContent(t, e, 1<<20)
		for _, s := range reads(n, 4096) {
			began := time.Now()
			if err := readOne(t, e, f, s); err != nil {
				t.Fatal(err)
			}
			out = append(out, time.Since(began))
		}
	})
	return out
}

// TestModelJitter: it is evenly distributed behind the latency, and the same for
// the same seed.
func TestModelJitter(t *testing.T) {
	v := Volume{Latency: time.Millisecond, Jitter: 400 * time.Microsecond}
	got, again, other := latencies(t, v, 5, 200), latencies(t, v, 5, 200), latencies(t, v, 6, 200)
	if !slices.Equal(got, again) || slices.Equal(got, other) {
		t.Error("the seed does not decide")
	}
	var sum time.Duration
	for _, d := range got {
		if sum += d; d < v.Latency || d > v.Latency+v.Jitter {
			t.Errorf("a read took %v", d)
		}
	}
	if mean := sum / 200; mean < 1150*time.Microsecond || mean > 1250*time.Microsecond {
		t.Errorf("mean %v", mean)
	}
}

// TestModelChangesLive: a volume that is raised, lowered or freed of its limit is so
// for the reads that wait already.
func TestModelChangesLive(t *testing.T) {
	for what, c := range map[string]struct {
		after Volume
		want  time.Duration // 100 reads at 10 a second, changed after 5 s
	}{
		"raised":      {Volume{IOPS: 50}, 6 * time.Second},
		"lowered":     {Volume{IOPS: 1}, 55 * time.Second},
		"no limit":    {Volume{}, 5 * time.Second},
		"slower":      {Volume{IOPS: 10, Latency: time.Second}, 11 * time.Second},
		"other limit": {Volume{BytesPerSecond: 5 * 4096}, 15 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			modelled(t, Config{Depth: 256}, Volume{IOPS: 10}, func(t *testing.T, m *Model, e *Engine, f *File, want []byte) {
				began := time.Now()
				time.AfterFunc(5*time.Second+time.Nanosecond, func() { m.Set(c.after) }) // behind the 50th
				b := e.NewBatch()
				defer b.Release()
				readAll(t, b, f, want, reads(100, 4096))
				if took := time.Since(began) - c.want; took < -time.Millisecond || took > time.Millisecond {
					t.Errorf("%v off %v", took, c.want)
				}
			})
		})
	}
}

// TestModelRests: what a volume gives at once comes back while it rests, and no more.
func TestModelRests(t *testing.T) {
	modelled(t, Config{}, Volume{IOPS: 10, Burst: 20}, func(t *testing.T, _ *Model, e *Engine, f *File, want []byte) {
		for _, c := range []struct {
			rest time.Duration
			want time.Duration // of 30 reads
		}{{0, time.Second}, {time.Second, 2 * time.Second}, {time.Hour, time.Second}} {
			<-time.After(c.rest)
			began := time.Now()
			b := e.NewBatch()
			readAll(t, b, f, want, reads(30, 4096))
			b.Release()
			if took := time.Since(began); took != c.want {
				t.Errorf("after %v: %v, want %v", c.rest, took, c.want)
			}
		}
	})
}

// TestModelBackground: behind a flood of the background a read of the foreground
// waits for the background's share at most.
func TestModelBackground(t *testing.T) {
	const share, iops = 4, 100
	modelled(t, Config{Depth: 64, Background: share}, Volume{IOPS: iops}, func(t *testing.T, _ *Model, e *Engine, f *File, want []byte) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				b := e.NewBatch()
				defer b.Release()
				b.SetClass(Maintenance)
				for range 10 {
					readAll(t, b, f, want, reads(share, 4096))
				}
			})
		}
		for range 20 {
			<-time.After(137 * time.Millisecond)
			began := time.Now()
			if err := readOne(t, e, f, span{0, 4096}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > (share+1)*time.Second/iops {
				t.Errorf("a read of the foreground took %v", took)
			}
		}
		wg.Wait()
	})
}

// TestModelWithFaults: a read that fails once is charged twice.
func TestModelWithFaults(t *testing.T) {
	cfg := Config{Faults: nth(map[uint64]Fault{3: {Kind: FaultEIO}})}
	modelled(t, cfg, Volume{IOPS: 10}, func(t *testing.T, _ *Model, e *Engine, f *File, want []byte) {
		began := time.Now()
		b := e.NewBatch()
		defer b.Release()
		readAll(t, b, f, want, reads(9, 4096))
		if took := time.Since(began); took != time.Second {
			t.Errorf("%v", took)
		}
	})
}

// TestModelNeedsPread: the ring waits in the kernel, where no model holds anything.
func TestModelNeedsPread(t *testing.T) {
	m := NewModel(Volume{}, 1)
	if _, err := Open(t.TempDir(), Config{Engine: IOUring, Model: m}); !errors.Is(err, ErrConfig) {
		t.Errorf("io_uring: %v", err)
	}
	if e := openEngine(t, Config{Model: m}); e.Info().Engine != Pread {
		t.Errorf("auto is %s", e.Info().Engine)
	}
}

// TestModelNeverGivesMore: whatever is asked and changed, in no stretch of time does
// a volume give more than its rates and one burst, and everything is served in the
// order of its arrival.
func TestModelNeverGivesMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := Volume{
			IOPS: rapid.Int64Range(1, 5000).Draw(rt, "iops"), Burst: rapid.Int64Range(0, 20).Draw(rt, "burst"),
			BytesPerSecond: rapid.Int64Range(1<<10, 1<<30).Draw(rt, "bytes"), BurstBytes: rapid.Int64Range(0, 1<<22).Draw(rt, "burst bytes"),
		}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 600<<10), 1, 40).Draw(rt, "sizes")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 2000), len(sizes), len(sizes)).Draw(rt, "gaps in ms")
		var done []time.Time
		synctest.Test(t, func(*testing.T) { done = serve(v, sizes, gaps) })
		for i := range done {
			ops, bytes := int64(0), int64(0)
			for k := i + 1; k < len(done); k++ {
				passed := done[k].Sub(done[i]).Seconds() + 1e-6
				if passed < 0 {
					rt.Fatalf("read %d came before %d", k, i)
				}
				ops, bytes = ops+int64((sizes[k]+OpBytes-1)/OpBytes), bytes+int64(sizes[k])
				// Who waits for one bucket may have its cost ready in the other.
				if most := float64(v.IOPS)*passed + max(float64(v.Burst), 3); float64(ops) > most {
					rt.Fatalf("%d operations in %.6f s, at most %.1f", ops, passed, most)
				}
				if most := float64(v.BytesPerSecond)*passed + max(float64(v.BurstBytes), 600<<10); float64(bytes) > most {
					rt.Fatalf("%d bytes in %.6f s, at most %.0f", bytes, passed, most)
				}
			}
		}
	})
}

// serve has a model serve reads that come one behind the other, every other one
// after its gap, and says when each was done.
func serve(v Volume, sizes, gaps []int) []time.Time {
	m, done := NewModel(v, 1), make([]time.Time, len(sizes))
	var wg sync.WaitGroup
	for i, n := range sizes {
		if i%2 == 1 {
			<-time.After(time.Duration(gaps[i]) * time.Millisecond)
		}
		wg.Go(func() {
			m.hold(n)
			done[i] = time.Now()
		})
		synctest.Wait() // it has arrived
	}
	wg.Wait()
	return done
}
