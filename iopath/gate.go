package iopath

import "sync/atomic"

// gate bounds the reads that are with the kernel, over all rings of an engine.
// It is the second half of admission: the queue says which read is next, the
// gate when. Its limit may change at any time; a lower one is reached as reads
// leave.
type gate struct {
	limit   atomic.Int64
	inside  atomic.Int64
	most    atomic.Int64 // high-water mark of inside
	starved atomic.Bool  // somebody wanted a place in vain and must be told of one
	told    func()       // called by leave after starved; not while any lock is held
}

// enter takes up to n >= 1 places and returns how many. Fewer than n marks the
// gate starved, so that the next leave calls told. Whoever got some and lost a
// race for the mark will come again when these are done, so only for none at
// all is it worth looking twice.
func (g *gate) enter(n int) int {
	for {
		in := g.inside.Load()
		got := max(0, min(int64(n), g.limit.Load()-in))
		if !g.inside.CompareAndSwap(in, in+got) {
			continue
		}
		raise(&g.most, in+got)
		if got < int64(n) {
			g.starved.Store(true)
		}
		if got == 0 && g.inside.Load() < g.limit.Load() {
			continue // somebody left before the mark could be seen
		}
		return int(got)
	}
}

// leave gives n places back.
func (g *gate) leave(n int) {
	if n == 0 {
		return
	}
	g.inside.Add(-int64(n))
	g.tell()
}

// setLimit changes the limit, at least 1.
func (g *gate) setLimit(n int64) {
	g.limit.Store(max(n, 1))
	g.tell()
}

func (g *gate) tell() {
	if g.starved.Load() && g.starved.CompareAndSwap(true, false) && g.told != nil {
		g.told()
	}
}
