package iopath

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Volume says what a modelled volume can do. A rate of 0 or less is no limit.
//
// A read is charged by the rules of the volumes that we aim at, ceil(aligned
// length / OpBytes) operations and its aligned bytes. It waits, in the order of
// arrival, until both are paid for; then it takes Latency and up to Jitter, side
// by side with the others. So n reads of one operation that are all there take
// (n-Burst)/IOPS seconds and the latency of the last.
type Volume struct {
	IOPS           int64         // operations a second
	BytesPerSecond int64         // bytes a second
	Latency        time.Duration // of a read that is paid for
	Jitter         time.Duration // the most that is added to it, evenly distributed

	// Burst and BurstBytes are what a volume that has rested gives at once:
	// operations and bytes. With 0 even a read that comes alone waits 1/IOPS.
	// At most 2^33 of either count.
	Burst      int64
	BurstBytes int64
}

// Model is a volume for tests: a token bucket in front of the real files. The
// engine holds each attempt to read for the time that the volume would take, and
// then reads the file. It knows no time but that of package time, and blocks on
// channels alone: in a bubble of testing/synctest what takes seconds on a volume
// takes none, and the same reads take the same time in every run.
//
// By a real clock, timers that are late cost it a little throughput. It is safe for
// concurrent use, and may serve several engines, as a volume does.
type Model struct {
	mu     sync.Mutex
	volume Volume
	rng    *rand.Rand
	ops    bucket
	bytes  bucket
	asked  time.Time   // when the buckets were last filled
	queue  []*heldRead // not paid for, in the order of arrival
	timer  *time.Timer // runs serve when the first of the queue can be paid for
}

// heldRead is a read on its way through a model.
type heldRead struct {
	ops, bytes int64
	done       chan struct{} // closed when the device has read
}

// NewModel returns a model of a volume. The seed is that of the jitter.
func NewModel(v Volume, seed uint64) *Model {
	m := &Model{rng: rand.New(rand.NewPCG(seed, 0)), asked: time.Now()}
	m.change(v)
	m.ops.tokens, m.bytes.tokens = m.ops.burst, m.bytes.burst // it has rested
	return m
}

// Set changes the volume from now on, also for the reads that wait, as a cloud
// volume is changed while it works. What has been paid stays so; the latency of
// reads that are paid for does not change.
func (m *Model) Set(v Volume) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fill()
	m.change(v)
	m.serveLocked()
}

func (m *Model) change(v Volume) {
	m.volume = v
	m.ops.rate, m.ops.burst = max(v.IOPS, 0), min(max(v.Burst, 0), maxBurst)*tokensEach
	m.bytes.rate, m.bytes.burst = max(v.BytesPerSecond, 0), min(max(v.BurstBytes, 0), maxBurst)*tokensEach
}

// hold keeps a read of n bytes for the time that the volume takes.
func (m *Model) hold(n int) {
	if m == nil {
		return
	}
	r := &heldRead{ops: int64((n + OpBytes - 1) / OpBytes), bytes: int64(n), done: make(chan struct{})}
	m.mu.Lock()
	m.fill()
	m.queue = append(m.queue, r)
	m.serveLocked()
	m.mu.Unlock()
	<-r.done
}

// serve is what the timer runs.
func (m *Model) serve() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fill()
	m.serveLocked()
}

// fill gives the buckets what has come in since the last time.
func (m *Model) fill() {
	now := time.Now()
	passed := now.Sub(m.asked)
	m.asked = now
	var ops, bytes int64
	if len(m.queue) > 0 { // who waits may need more than a burst
		ops, bytes = m.queue[0].ops, m.queue[0].bytes
	}
	m.ops.fill(passed, ops)
	m.bytes.fill(passed, bytes)
}

// serveLocked lets the reads go that can be paid for, and sets the timer for the
// next. The buckets are filled.
func (m *Model) serveLocked() {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	for len(m.queue) > 0 {
		r := m.queue[0]
		if wait := max(m.ops.wait(r.ops), m.bytes.wait(r.bytes)); wait > 0 {
			m.timer = time.AfterFunc(wait, m.serve)
			return
		}
		m.ops.pay(r.ops)
		m.bytes.pay(r.bytes)
		m.queue = m.queue[1:]
		took := m.volume.Latency
		if j := m.volume.Jitter; j > 0 {
			took += time.Duration(m.rng.Int64N(int64(j) + 1))
		}
		if took <= 0 {
			close(r.done)
			continue
		}
		time.AfterFunc(took, func() { close(r.done) })
	}
}

// bucket holds tokens for one kind of cost. One operation, or byte, is tokensEach
// tokens, so that a rate is also the tokens that come in each nanosecond and
// nothing is ever rounded.
type bucket struct {
	rate   int64 // 0: no limit
	burst  int64 // in tokens
	tokens int64
}

const tokensEach = int64(time.Second)

// maxBurst keeps the tokens of a burst representable.
const maxBurst = 8 << 30

// fill adds the tokens of the time passed, up to a burst or what is wanted, if
// that is more. While anything is wanted those of one nanosecond may come on top:
// who waits is called at a whole one, and what is over then is the next one's.
func (b *bucket) fill(passed time.Duration, wanted int64) {
	room := max(b.burst, wanted*tokensEach) - b.tokens
	if wanted > 0 {
		room += b.rate
	}
	switch {
	case b.rate == 0 || room <= 0:
	case int64(passed) > room/b.rate:
		b.tokens += room
	default:
		b.tokens += int64(passed) * b.rate
	}
}

// wait is how long it takes until n can be paid.
func (b *bucket) wait(n int64) time.Duration {
	missing := n*tokensEach - b.tokens
	if b.rate == 0 || missing <= 0 {
		return 0
	}
	return time.Duration((missing + b.rate - 1) / b.rate)
}

func (b *bucket) pay(n int64) {
	if b.rate > 0 {
		b.tokens -= n * tokensEach
	}
}
