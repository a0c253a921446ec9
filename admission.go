package sprat

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// admission bounds what all queries of a store hold in memory at one time; who
// comes when all is taken waits, first come first served. What is read at one time
// is the engine's to bound (package iopath): there a query's reads take turns with
// those of others.
//
// A query takes its part of queries for as long as it runs, before it has anything
// else, and for each wave the bytes of its buffers at once, giving them back before
// it asks for more: nobody holds one part while waiting for another of the same
// kind, so the waiting ends.
type admission struct {
	queries *semaphore.Weighted // bytes of workspaces
	buffers *semaphore.Weighted // bytes of reads
	most    int64               // of each
}

func newAdmission(memoryLimit int64) *admission {
	most := max(memoryLimit/admissionShare, leastAdmission)
	return &admission{semaphore.NewWeighted(most), semaphore.NewWeighted(most), most}
}

const (
	// admissionShare is the part of the memory limit, 1/admissionShare, that queries
	// may hold in workspaces, and again in buffers.
	admissionShare = 12
	leastAdmission = 4 << 20
	// lateGrace is how long after its deadline a query waits for its last wave.
	lateGrace = 250 * time.Millisecond
)

// errLate ends the waits of a query that is past its deadline. It is never
// returned to callers.
var errLate = errors.New("past the deadline")

// clock is the ends of a query's waits. Those of reads that improve the answer end
// at its deadline, those of the last wave a little later.
type clock struct {
	soft, hard context.Context
	stop       [2]context.CancelFunc
}

// newClock makes the clock of a query. A deadline that has passed already leaves
// the grace for all.
func newClock(ctx context.Context, deadline time.Time) clock {
	if deadline.IsZero() {
		return clock{soft: ctx, hard: ctx}
	}
	c := clock{}
	end := deadline
	if now := time.Now(); end.Before(now) {
		end = now
	}
	c.hard, c.stop[0] = context.WithDeadlineCause(ctx, end.Add(lateGrace), errLate)
	c.soft = c.hard
	if deadline.After(time.Now()) {
		c.soft, c.stop[1] = context.WithDeadlineCause(c.hard, deadline, errLate)
	}
	return c
}

func (c *clock) end() {
	for _, stop := range c.stop {
		if stop != nil {
			stop()
		}
	}
	*c = clock{}
}

// acquire waits for n bytes of a semaphore and says how many it took: no more than
// there are.
func (a *admission) acquire(ctx context.Context, s *semaphore.Weighted, n int64) (int64, error) {
	n = min(max(n, 1), a.most)
	if s.TryAcquire(n) {
		return n, nil
	}
	if err := s.Acquire(ctx, n); err != nil {
		return 0, context.Cause(ctx)
	}
	return n, nil
}

// queryBytes estimates the workspace of a query: what it rotates, the order of
// postings, candidates and exact rows.
func (ix *Index) queryBytes(k int, o *QueryOptions) int64 {
	d := ix.DialsFor(k, *o)
	rows := int64(max(k, d.RescoreLimit))
	each := int64(256)
	if o.Vectors {
		each += 4 * int64(ix.row.Dimension)
	}
	fixed := int64(64 << 10)
	if len(o.Filter) > 0 {
		fixed += 16 * outlookMost
	}
	return fixed + 16*int64(ix.layout.D) + 16*int64(d.SearchProbe) + rows*each
}
