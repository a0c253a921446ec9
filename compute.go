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
// there are none, all processors work.
type compute struct {
	always  chan struct{} // one place for each processor but one, and at least one
	idle    chan struct{} // one more, taken while there are no queries
	queried atomic.Int64  // when the last query began, Unix nanoseconds
}

// quietAfter is how long after a query its processor goes back to writers.
const quietAfter = 50 * time.Millisecond

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
		return func() { <-c.always }, nil
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
		return func() { <-c.always }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
