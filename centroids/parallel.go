package centroids

import (
	"context"
	"sync"
	"sync/atomic"
)

// crew runs independent tasks on a fixed number of goroutines. Which goroutine
// runs which task is left to chance, so tasks must not depend on it: every task
// writes to places of its own, and whatever is summed is summed in the order of
// the tasks afterwards. That is what makes training deterministic.
type crew struct {
	ctx     context.Context
	workers int
}

// each calls do(worker, task) for task = 0..tasks-1 and waits. worker is below
// c.workers and identifies scratch memory. It stops early when the context ends
// and returns the context's error.
func (c crew) each(tasks int, do func(worker, task int)) error {
	var next atomic.Int64
	loop := func(worker int) {
		for c.ctx.Err() == nil {
			task := int(next.Add(1)) - 1
			if task >= tasks {
				return
			}
			do(worker, task)
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < min(c.workers, tasks); w++ {
		wg.Go(func() { loop(w) })
	}
	loop(0)
	wg.Wait()
	return c.ctx.Err()
}

// span is a run lo..hi-1 of positions that belong to one owner (a node of the
// tree or a cell).
type span struct{ owner, lo, hi int32 }

// appendSpans cuts lo..hi-1 into runs of at most size positions.
func appendSpans(dst []span, owner, lo, hi, size int32) []span {
	for ; lo < hi; lo += size {
		dst = append(dst, span{owner, lo, min(lo+size, hi)})
	}
	return dst
}
