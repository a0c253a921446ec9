package iopath

import "context"

// Class says for whom a batch reads. When reads of several classes wait for the
// volume, each class gets a share of it by its weight; a class alone gets all.
type Class uint8

// The classes, the most important first.
const (
	Foreground  Class = iota // answers to queries
	Maintenance              // what keeps indexes in shape
	Backup                   // snapshots
	classes     = iota
)

// weights are the shares of the classes: with all three waiting, a query's reads
// get 12 of 16 parts of the volume.
var weights = [classes]float64{12, 3, 1}

var classNames = [classes]string{"foreground", "maintenance", "backup"}

// String is the name in lower case.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Those behind the foreground are also bounded: never more than Config.Background
// of their reads are with the engine at one time, so that a query finds at most so
// many before its own on the device, whatever they do.

// SetClass makes the batch one of a class, until its Release. The default is
// Foreground. Submit of the others waits for room in their share.
func (b *Batch) SetClass(c Class) { b.class = min(c, classes-1) }

// Hurry lets what the batch has waiting for admission pass what other batches of
// its class have, for a caller who has no more time.
func (b *Batch) Hurry() {
	if h, ok := b.engine.back.(interface{ hurry(b *Batch) }); ok {
		h.hurry(b)
	}
}

// enterClass waits for room for n reads. A wave that is larger than the share
// takes all of it.
func (b *Batch) enterClass(ctx context.Context, n int64) error {
	if b.class == Foreground || b.places > 0 { // never wait for oneself
		return nil
	}
	n = min(n, int64(b.engine.cfg.Background))
	if err := b.engine.share.Acquire(ctx, n); err != nil {
		return context.Cause(ctx)
	}
	b.places = n
	return nil
}

// leaveClass gives the room back.
func (b *Batch) leaveClass() {
	if b.places > 0 {
		b.engine.share.Release(b.places)
	}
	b.class, b.places = Foreground, 0
}

// release lets go of the files of reads that were not submitted.
func (e *Engine) release(w wave) {
	for r := w.head; r != nil; r = r.next {
		r.file.release()
	}
}
