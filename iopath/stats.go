package iopath

import "sync/atomic"

// Stats is a snapshot of an engine. Totals count from Open; gauges say how
// things stood at the moment of the call. The fields are read one by one, so a
// snapshot taken under load is not consistent to the last read.
type Stats struct {
	Reads      int64 `json:"reads"`       // operations handed to the device: ceil(aligned length / 256 KiB) for each read
	Bytes      int64 `json:"bytes"`       // bytes of those reads, after rounding outward to the alignment
	Waves      int64 `json:"waves"`       // successful Submit calls with at least one read
	Errors     int64 `json:"errors"`      // reads completed with an error
	Cancelled  int64 `json:"cancelled"`   // of these, dropped from the queue unread: released batch, ended context, closed engine
	Retries    int64 `json:"retries"`     // attempts repeated after EINTR, EAGAIN or EIO
	ShortReads int64 `json:"short_reads"` // attempts that returned less than was needed
	QueueWaits int64 `json:"queue_waits"` // Submit calls that had to wait because the queue was full
	Enters     int64 `json:"enters"`      // io_uring_enter calls; 0 on other engines
	Wakes      int64 `json:"wakes"`       // eventfd writes that woke a sleeping ring; 0 on other engines
	LaneWaves  int64 `json:"lane_waves"`  // waves that their caller carried out itself, see doc.go; 0 on other engines

	Queued        int64 `json:"queued"`          // gauge: reads waiting for admission
	InFlight      int64 `json:"in_flight"`       // gauge: reads with the kernel
	InFlightLimit int64 `json:"in_flight_limit"` // gauge: reads that are let in at one time, see Config.Depth
	InFlightMax   int64 `json:"in_flight_max"`   // most reads that were ever with the kernel at one time

	BufferInUse  int64 `json:"buffer_in_use"` // gauge: bytes of buffers being read into or held by unreleased batches
	BufferPooled int64 `json:"buffer_pooled"` // gauge: bytes of memory without any buffer in use that is kept, bounded by Config.PoolBytes
	BufferMapped int64 `json:"buffer_mapped"` // gauge: bytes of memory mapped for buffers: the most that can be resident
	BufferMax    int64 `json:"buffer_max"`    // most bytes that were ever in use at one time

	BufferFixed int64  `json:"buffer_fixed"` // gauge: bytes registered with rings, once for each ring; 0 on other engines
	BufferCause string `json:"buffer_cause"` // why a ring did not take some of the memory; "" when all has been taken, and on other engines
}

// counters are the engine's live totals, written by any goroutine.
type counters struct {
	reads, bytes, waves, errors, cancelled atomic.Int64
	retries, shorts, queueWaits            atomic.Int64
	enters, wakes                          atomic.Int64
	laned                                  atomic.Int64
	queued                                 atomic.Int64
}

// raise sets the high-water mark m to at least v.
func raise(m *atomic.Int64, v int64) {
	for {
		old := m.Load()
		if v <= old || m.CompareAndSwap(old, v) {
			return
		}
	}
}

// snapshot copies the counters into their public form.
func (c *counters) snapshot() Stats {
	return Stats{
		Reads: c.reads.Load(), Bytes: c.bytes.Load(), Waves: c.waves.Load(),
		Errors: c.errors.Load(), Cancelled: c.cancelled.Load(),
		Retries: c.retries.Load(), ShortReads: c.shorts.Load(),
		QueueWaits: c.queueWaits.Load(),
		Enters:     c.enters.Load(), Wakes: c.wakes.Load(), LaneWaves: c.laned.Load(),
		Queued: c.queued.Load(),
	}
}

// reset forgets the work of the probe. Nothing is in flight.
func (c *counters) reset() {
	for _, v := range []*atomic.Int64{
		&c.reads, &c.bytes, &c.waves, &c.errors, &c.cancelled, &c.retries,
		&c.shorts, &c.queueWaits, &c.enters, &c.wakes, &c.laned,
	} {
		v.Store(0)
	}
}
