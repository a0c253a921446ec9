package fio

import (
	"sync"
	"time"
)

// timing is how long the parts of a calibration take.
type timing struct {
	whole time.Duration // bound of everything

	write       time.Duration // bound of writing the test file
	ramp        time.Duration // of a point, not measured
	window      time.Duration // of a point
	depths      []int         // of the sweep of the engine that the store uses
	rounds      int           // of that sweep, at least
	extraRounds int           // of points whose rounds do not agree, at most
	sizes       []int         // bytes
	sizeWindow  time.Duration // of a point of the sweep of sizes
	sizeRounds  int
	large       time.Duration // of the run of the largest reads
	otherDepths []int         // of the sweep of the other engine
	otherRounds int
	program     []int         // depths for the program fio
	programTime time.Duration // of a point of the program
	mixed       time.Duration
	sustained   time.Duration
	warm        time.Duration // of queries that fill a cache
	queries     time.Duration // of the queries of a cell of the grid, on average
}

// wholeTiming takes up to 3 minutes.
var wholeTiming = timing{
	whole: 175 * time.Second, write: 12 * time.Second, ramp: 100 * time.Millisecond, window: 500 * time.Millisecond,
	depths: []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, rounds: 2, extraRounds: 1,
	sizes:      []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 48 << 10, 64 << 10, 128 << 10, 256 << 10},
	sizeWindow: 500 * time.Millisecond, sizeRounds: 2, large: 4 * time.Second,
	otherDepths: []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, otherRounds: 1,
	program: []int{1, 4, 16, 64, 128, 256, 1024}, programTime: time.Second,
	mixed: 3 * time.Second, sustained: 12 * time.Second, warm: 8 * time.Second, queries: 3500 * time.Millisecond,
}

// quickTiming takes up to 20 s.
var quickTiming = timing{
	whole: 19 * time.Second, write: 2 * time.Second, ramp: 50 * time.Millisecond, window: 300 * time.Millisecond,
	depths: []int{1, 4, 16, 64, 256, 1024}, rounds: 2, extraRounds: 0,
	sizes: []int{4 << 10, 32 << 10, 64 << 10, 256 << 10}, sizeWindow: 400 * time.Millisecond, sizeRounds: 1, large: time.Second,
	otherDepths: []int{1, 64, 1024}, otherRounds: 1,
	program: []int{256}, programTime: time.Second,
	mixed: 500 * time.Millisecond, sustained: 1500 * time.Millisecond,
	warm: 500 * time.Millisecond, queries: 800 * time.Millisecond,
}

func timingOf(c Config) timing {
	t := choose(c.Quick, quickTiming, wholeTiming)
	if c.Sustained > 0 {
		longer := max(c.Sustained, time.Second)
		t.whole += longer - t.sustained
		t.sustained = longer
	}
	return t
}

// point is how long a point of a sweep takes whose window is this long, with
// what it waits for its last reads.
func (t timing) point(window time.Duration) time.Duration {
	return t.ramp + window + 50*time.Millisecond
}

// phase is a part of a calibration for the display.
type phase struct {
	name string
	took time.Duration // planned
}

// clock tells how far the work is. It is safe for concurrent use.
type clock struct {
	began   time.Time
	report  func(Progress)
	changed chan struct{} // a phase has begun

	mu struct {
		sync.Mutex
		now   phase
		step  string
		since time.Time // when the present phase began
		later []phase   // that follow
	}
}

func newClock(report func(Progress), phases []phase) *clock {
	c := &clock{began: time.Now(), report: report, changed: make(chan struct{}, 1)}
	c.mu.later = phases
	c.mu.since = c.began
	return c
}

// enter begins a phase; those before it are over or were left out.
func (c *clock) enter(name string) {
	c.mu.Lock()
	c.mu.now, c.mu.step, c.mu.since = phase{name: name}, "", time.Now()
	for i, p := range c.mu.later {
		if p.name == name {
			c.mu.now, c.mu.later = p, c.mu.later[i+1:]
			break
		}
	}
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// detail says what the present phase is doing.
func (c *clock) detail(step string) {
	c.mu.Lock()
	c.mu.step = step
	c.mu.Unlock()
}

func (c *clock) now() Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := max(c.mu.now.took-time.Since(c.mu.since), 0)
	for _, p := range c.mu.later {
		left += p.took
	}
	return Progress{Phase: c.mu.now.name, Step: c.mu.step, Elapsed: time.Since(c.began), Remaining: left}
}

// tell reports until the function that it returns is called.
func (c *clock) tell() (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				c.report(c.now())
			case <-c.changed:
				c.report(c.now())
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}
