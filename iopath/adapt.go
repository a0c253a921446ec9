package iopath

import (
	"sync"
	"sync/atomic"
	"time"
)

// adapter keeps the reads in flight near the knee of the volume: the least depth
// that reaches what the volume gives. More in flight than that makes every read
// wait longer at the device, in an order that nobody here decides; fewer leave
// operations unused. By Little's law the knee is rate x latency, but neither is
// known and both change while we run (a gp3 volume is modified live), so it is
// found by trial, and only while there are more reads than are let in:
//
//  1. measure the rate in a window at the present limit;
//  2. try half of it for a window. Where that gives the same, the knee is at or
//     below the half, and the limit falls by a third; so it comes to rest between
//     the knee and twice the knee, where no read that the volume could do is lost;
//  3. or try twice the limit. Where that gives more, it becomes the limit;
//  4. trials without a result become rarer, and frequent again when the rate
//     changes by itself: the volume, or the work, is another.
//
// The rate counts reads as the queue does, operations and bytes together, since
// postings and records alternate. An engine whose depth was given does not adapt.
type adapter struct {
	gate    *gate
	waiting *atomic.Int64 // reads that wait for admission
	most    int64         // Config.Depth or its default

	cost atomic.Int64 // of finished reads, in units of 1/costUnit
	next atomic.Int64 // Unix nanoseconds of the next look

	mu struct {
		sync.Mutex
		adaptation
		start     time.Time // of the window
		startCost int64
		looks     int64 // in the window
		held      int64 // of them, when the limit held reads back
	}
}

const (
	costUnit   = 16
	lookEvery  = 5 * time.Millisecond
	windowTime = 250 * time.Millisecond // blkio throttles in slices of 100 ms
	windowMost = 2 * time.Second
	windowCost = 200 * costUnit
	leastLimit = 8
	firstLimit = 128
)

func newAdapter(g *gate, waiting *atomic.Int64, most int64) *adapter {
	a := &adapter{gate: g, waiting: waiting, most: most}
	a.mu.adaptation = adaptation{limit: min(firstLimit, most), least: min(leastLimit, most), most: most}
	g.setLimit(a.mu.limit)
	return a
}

// begin sets the limit to start from, as a calibration has found it.
func (a *adapter) begin(limit int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.adaptation = adaptation{limit: max(a.mu.least, min(limit, a.most)), least: a.mu.least, most: a.most}
	a.mu.start = time.Time{}
	a.gate.setLimit(a.mu.limit)
}

// finished notes a read that is done.
func (a *adapter) finished(r *request) {
	if a != nil {
		a.cost.Add(int64(r.cost() * costUnit))
	}
}

// look is called now and then by whoever reaps completions, before these leave the
// gate.
func (a *adapter) look() {
	if a == nil {
		return
	}
	now := time.Now()
	if now.UnixNano() < a.next.Load() || !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	a.next.Store(now.Add(lookEvery).UnixNano())
	m := &a.mu
	m.looks++
	if a.waiting.Load() > 0 && 10*a.gate.inside.Load() >= 8*a.gate.limit.Load() {
		m.held++
	}
	passed := now.Sub(m.start)
	cost := a.cost.Load() - m.startCost
	if passed < windowTime || cost < windowCost && passed < windowMost {
		return
	}
	// A window tells something when the limit was what held reads back most of the
	// time. A long pause is no window.
	busy := 10*m.held >= 8*m.looks && passed < 2*windowMost
	if limit := m.window(now, float64(cost)/passed.Seconds(), busy); limit != a.gate.limit.Load() {
		a.gate.setLimit(limit)
	}
	m.start, m.startCost, m.looks, m.held = now, a.cost.Load(), 0, 0
}

// adaptation is the decisions of an adapter, without its clock and its counters.
type adaptation struct {
	limit, least, most int64

	trial   int64 // limit being tried, 0 when none
	settled bool  // the trial's first window is over, in which the old limit still showed
	base    float64
	plateau float64 // rate at the limit, smoothed
	below   int     // windows in a row far below the plateau
	up      bool    // the direction of the next trial
	due     time.Time
	pause   time.Duration
}

const (
	// sameRate is the part of a rate that counts as all of it, moreRate what counts
	// as more: windows of the same load differ by one or two per cent.
	sameRate = 0.985
	moreRate = 1.04
	// otherRate is the change of the rate that tells that the volume is another.
	otherRate  = 0.15
	firstPause = time.Second
	mostPause  = 15 * time.Second
)

// window takes in the rate of a window and returns the limit for the next. A window
// in which the limit did not hold reads back says nothing, and ends a trial.
func (d *adaptation) window(now time.Time, rate float64, busy bool) int64 {
	switch {
	case !busy:
		d.trial = 0
	case d.trial == 0:
		d.watch(now, rate)
		if now.Before(d.due) {
			break
		}
		if d.trial = d.candidate(); d.trial != 0 {
			d.base, d.settled = rate, false
		}
	case !d.settled:
		d.settled = true
	default:
		d.judge(now, rate)
	}
	if d.trial != 0 {
		return d.trial
	}
	return d.limit
}

// watch follows the rate at the limit, and notices when it changes by itself.
func (d *adaptation) watch(now time.Time, rate float64) {
	switch {
	case d.plateau == 0:
		d.plateau = rate
	case rate > d.plateau*(1+otherRate):
		d.plateau, d.up = rate, true
		d.due, d.pause = now, firstPause
	case rate < d.plateau*(1-otherRate):
		if d.below++; d.below < 2 {
			return
		}
		d.plateau = rate
		d.due, d.pause = now, firstPause
	default:
		d.plateau += (rate - d.plateau) / 8
	}
	d.below = 0
}

// candidate is the limit to try next, 0 when there is none.
func (d *adaptation) candidate() int64 {
	up := d.up
	d.up = !d.up
	if up && d.limit < d.most {
		return min(2*d.limit, d.most)
	}
	if d.limit > d.least {
		return max(d.limit/2, d.least)
	}
	if d.limit < d.most {
		return min(2*d.limit, d.most)
	}
	return 0
}

// judge ends a trial by its rate.
func (d *adaptation) judge(now time.Time, rate float64) {
	tried := d.trial
	d.trial = 0
	switch {
	case tried > d.limit && rate >= moreRate*d.base:
		d.limit, d.plateau, d.up, d.due, d.pause = tried, rate, true, now, firstPause
	case tried < d.limit && rate >= sameRate*max(d.base, sameRate*d.plateau):
		d.limit, d.up, d.due = max(tried, d.limit*2/3), false, now
	default:
		d.pause = max(firstPause, min(2*d.pause, mostPause))
		d.due = now.Add(d.pause)
	}
}
