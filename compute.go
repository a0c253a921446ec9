package sprat

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// compute bounds the goroutines that route, encode and divide for writers and
// maintenance. While queries come in, one processor is left to them, so that a
// query whose reads have arrived does not queue behind long computations; when
// there are none, all processors work. While there are, a place also rests after
// each use: what follows a computation (the commit, the catalog's tables, the
// volume) is not counted here and grows with it, and a reader that comes back from
// the kernel needs a processor at once.
type compute struct {
	always  chan struct{} // one place for each processor but one, and at least one
	idle    chan struct{} // one more, taken while there are no queries
	queried atomic.Int64  // when the last query began, Unix nanoseconds
}

const (
	// quietAfter is how long after a query its processor goes back to writers.
	quietAfter = 50 * time.Millisecond
	// restShare is how long a place rests while queries come in, as a multiple of the
	// time it was used. Measured by bench mixed on two processors, which one client's
	// queries keep busy: the p99 under a load is 3.0 to 3.7 times the quiet one at 3,
	// 2.5 to 3.0 times at 6 and 2.4 to 2.6 times at 8, with 3,900, 2,800 and 2,200
	// vectors put a second.
	restShare = 8
	// maxRest bounds the rest after one long computation.
	maxRest = 100 * time.Millisecond
)

func newCompute() *compute {
	n := runtime.GOMAXPROCS(0)
	c := &compute{always: make(chan struct{}, max(1, n-1)), idle: make(chan struct{}, 1)}
	if n == 1 {
		c.idle = nil
	}
	return c
}

// query notes that a query begins.
func (c *compute) query() { c.queried.Store(time.Now().UnixNano()) }

func (c *compute) quiet() bool {
	return time.Since(time.Unix(0, c.queried.Load())) > quietAfter
}

// enter waits for a place and returns the function that gives it back.
func (c *compute) enter(ctx context.Context) (leave func(), err error) {
	select {
	case c.always <- struct{}{}:
		return c.rest(), nil
	default:
	}
	if c.quiet() {
		select {
		case c.idle <- struct{}{}:
			return func() { <-c.idle }, nil
		default:
		}
	}
	select {
	case c.always <- struct{}{}:
		return c.rest(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rest returns the function that gives a place back, at once or, while there are
// queries, after its rest. The caller never waits.
func (c *compute) rest() (leave func()) {
	start := time.Now()
	return func() {
		if c.quiet() {
			<-c.always
			return
		}
		time.AfterFunc(min(restShare*time.Since(start), maxRest), func() { <-c.always })
	}
}
