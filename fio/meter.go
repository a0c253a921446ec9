package fio

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	binWidth    = 10 * time.Millisecond
	meterShards = 8
	// slowest is the longest latency that a histogram tells apart, in microseconds.
	slowest = int64(100 * time.Second / time.Microsecond)
)

// meter counts the operations that end within a window of time. It is safe for
// concurrent use between open and close.
type meter struct {
	began  time.Time // of the window
	bins   []atomic.Int64
	shards [meterShards]struct {
		sync.Mutex
		h *hdrhistogram.Histogram // microseconds
		_ [64]byte                // keeps the locks on different cache lines
	}
}

func newMeter(began time.Time, window time.Duration) *meter {
	m := &meter{began: began, bins: make([]atomic.Int64, window/binWidth)}
	for i := range m.shards {
		m.shards[i].h = hdrhistogram.New(1, slowest, 3)
	}
	return m
}

// add counts an operation and reports true, unless it ended outside of the window.
func (m *meter) add(worker int, begin, end time.Time) bool {
	at := end.Sub(m.began)
	if at < 0 || int(at/binWidth) >= len(m.bins) {
		return false
	}
	m.bins[at/binWidth].Add(1)
	s := &m.shards[worker%meterShards]
	s.Lock()
	defer s.Unlock()
	// Out of range is not possible: the value is cut to what the histogram takes.
	_ = s.h.RecordValue(min(max(end.Sub(begin).Microseconds(), 1), slowest))
	return true
}

// counts is the operations of each bin up to now.
func (m *meter) counts() []int64 {
	out := make([]int64, len(m.bins))
	for i := range m.bins {
		out[i] = m.bins[i].Load()
	}
	return out
}

// latency merges what was counted.
func (m *meter) latency() (Latency, int64) {
	all := hdrhistogram.New(1, slowest, 3)
	for i := range m.shards {
		s := &m.shards[i]
		s.Lock()
		all.Merge(s.h)
		s.Unlock()
	}
	return Latency{
		Mean: micros(all.Mean()),
		P50:  micros(float64(all.ValueAtQuantile(50))),
		P90:  micros(float64(all.ValueAtQuantile(90))),
		P99:  micros(float64(all.ValueAtQuantile(99))),
		P999: micros(float64(all.ValueAtQuantile(99.9))),
	}, all.TotalCount()
}

// rate is the operations a second of bins that cover a whole window: the slope
// of the least-squares line through the number of operations done by the end of
// each bin. Throttles let operations through in slices of about 100 ms, so the
// plain quotient of a short window is off by up to a slice at either end; the
// slope hardly notices them.
func rate(bins []int64, width time.Duration) float64 {
	if len(bins) == 0 {
		return 0
	}
	// Points (i, done by i) for i = 0..n.
	n := float64(len(bins))
	meanX := n / 2
	var meanY, done float64
	for _, b := range bins {
		done += float64(b)
		meanY += done
	}
	meanY /= n + 1
	var xy, xx float64
	done = 0
	for i := range len(bins) + 1 {
		dx := float64(i) - meanX
		xy += dx * (done - meanY)
		xx += dx * dx
		if i < len(bins) {
			done += float64(bins[i])
		}
	}
	return xy / xx / width.Seconds()
}
