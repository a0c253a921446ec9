package iopath

import "sync/atomic"

// Stats is a snapshot of an engine. Totals count from Open; gauges say how
// things stood at the moment of the call. The fields are read one by one, so a
// snapshot taken under load is not consistent to the last read.
type Stats struct {
	Reads      int64 // operations handed to the device: ceil(aligned length / 256 KiB) for each read
	Bytes      int64 // bytes of those reads, after rounding outward to the alignment
	Waves      int64 // successful Submit calls with at least one read
	Errors     int64 // reads completed with an error
	Cancelled  int64 // of these, dropped from the queue unread: released batch, ended context, closed engine
	Retries    int64 // attempts repeated after EINTR, EAGAIN or EIO
	ShortReads int64 // attempts that returned less than was needed
	QueueWaits int64 // Submit calls that had to wait because the queue was full
	Enters     int64 // io_uring_enter calls; 0 on other engines
	Wakes      int64 // eventfd writes that woke a sleeping ring; 0 on other engines
	LaneWaves  int64 // waves that their caller carried out itself, see doc.go; 0 on other engines

	Queued      int64 // gauge: reads waiting for admission
	InFlight    int64 // gauge: reads with the kernel
	InFlightMax int64 // most reads that were ever with the kernel at one time

	BufferInUse  int64 // gauge: bytes of buffers being read into or held by unreleased batches
	BufferPooled int64 // gauge: bytes of memory without any buffer in use that is kept, bounded by Config.PoolBytes
	BufferMapped int64 // gauge: bytes of memory mapped for buffers: the most that can be resident
	BufferMax    int64 // most bytes that were ever in use at one time
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
