package iopath

import (
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// counted is a real ring that notes how many reads each call submits.
type counted struct {
	ring
	queued int
	log    *submitLog
}

// submitLog is shared by the rings of an engine.
type submitLog struct {
	mu      sync.Mutex
	submits []int
}

func (c *counted) read(r ringRead, token uint64) {
	c.queued++
	c.ring.read(r, token)
}

func (c *counted) enter(timeout time.Duration) error {
	err := c.ring.enter(timeout)
	if c.queued > 0 && (err == nil || err == unix.ETIME) {
		c.log.mu.Lock()
		c.log.submits = append(c.log.submits, c.queued)
		c.log.mu.Unlock()
		c.queued = 0
	}
	return err
}

// TestKernelTakesWholeWaves has the kernel itself take waves: each in one call,
// whoever makes it, up to the depth.
func TestKernelTakesWholeWaves(t *testing.T) {
	needRing(t)
	log := new(submitLog)
	cfg := Config{Engine: IOUring, Depth: 256, Rings: 1}.withDefaults()
	e := newEngine(cfg, rung{IOUring, false})
	var err error
	e.back, err = newUringOver(e, func(entries uint32, by issuers) (ring, error) {
		r, err := newRing(entries, by)
		return &counted{ring: r, log: log}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f, want := openContent(t, e, 256*5000)
	waves := []int{1, 3, laneSlots, laneSlots + 1, 100, 256, 2}
	for _, n := range waves {
		b := e.NewBatch()
		readAll(t, b, f, want, row(n))
		b.Release()
	}
	if !slices.Equal(log.submits, waves) {
		t.Errorf("waves of %v were submitted as %v", waves, log.submits)
	}
}

// TestCallsOfAWave pins the number of calls of io_uring_enter when reads come back
// at once, as from the page cache: the lone caller makes one for each wave. The
// owner makes another, in which it sleeps until the next.
func TestCallsOfAWave(t *testing.T) {
	for name, c := range map[string]struct{ reads, calls int }{"lane": {3, 1}, "owner": {20, 3 + 1}} { // the depth is 8
		t.Run(name, func(t *testing.T) {
			e := scripted(t, new(script))
			f, want := openContent(t, e, 300_001)
			const waves = 10
			for range waves {
				b := e.NewBatch()
				readAll(t, b, f, want, row(c.reads))
				b.Release()
			}
			if n := e.Stats().Enters; n > int64(waves*c.calls+1) {
				t.Errorf("%d calls for %d waves, want %d each", n, waves, c.calls)
			}
		})
	}
}

// TestReadsAllocateNothing goes every way that a read can take. The runtime now and
// then makes a thread, which it counts as allocations, so the best of a few
// measurements counts: what each wave allocates is in all of them.
func TestReadsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, way := range []struct {
		name  string
		cfg   Config
		reads int
		laned bool
	}{
		{"lane", Config{Engine: IOUring, Depth: 128}, 8, true},
		{"owner", Config{Engine: IOUring, Depth: 128}, 100, false},
		{"owner, more than the depth", Config{Engine: IOUring, Depth: 16}, 100, false},
		{"two rings", Config{Engine: IOUring, Depth: 128, Rings: 2}, 100, false},
		{"pread", Config{Engine: Pread, Depth: 8}, 32, false},
		{"mmap", Config{Engine: Mmap, Depth: 8}, 32, false},
	} {
		t.Run(way.name, func(t *testing.T) {
			if way.cfg.Engine == IOUring {
				needRing(t)
			}
			e := openEngine(t, way.cfg)
			f, _ := openContent(t, e, 100*5000)
			for name, ctx := range contexts(t) {
				wave := func() {
					b := e.NewBatch()
					defer b.Release()
					for i := range way.reads {
						b.Read(f, int64(i)*5000+1, 4000, uint64(i))
					}
					if err := b.Submit(ctx); err != nil {
						t.Error(err)
					}
					for b.Pending() > 0 {
						if c, err := b.Next(ctx); err != nil || c.Err != nil {
							t.Error(err, c.Err)
						}
					}
				}
				for range 20 {
					wave() // pools fill, and workers start
				}
				least := testing.AllocsPerRun(20, wave)
				for try := 0; try < 10 && least > 0; try++ {
					least = min(least, testing.AllocsPerRun(20, wave))
				}
				if least > 0 {
					t.Errorf("%s: %v allocations for each wave of %d reads", name, least, way.reads)
				}
			}
			if laned := e.Stats().LaneWaves > 0; laned != way.laned {
				t.Errorf("through the lane: %v", laned)
			}
		})
	}
}
