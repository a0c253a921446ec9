package iopath

import "context"

// Reads are of one of two classes. Those of the foreground, which answer queries,
// are admitted up to Config.Depth. Those of the background, which maintenance,
// calibration, verification and backup issue, have a share of that: never more
// than Config.Background of them are with the engine at one time, so a query finds
// at most that many before its own on the device, whatever the background does.

// Background makes the batch one of the background class, until its Release. Its
// Submit waits for room in the background's share.
func (b *Batch) Background() { b.background = true }

// enterClass waits for room for n reads. A wave that is larger than the share
// takes all of it.
func (b *Batch) enterClass(ctx context.Context, n int64) error {
	if !b.background || b.places > 0 { // never wait for oneself
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
	b.background, b.places = false, 0
}

// release lets go of the files of reads that were not submitted.
func (e *Engine) release(w wave) {
	for r := w.head; r != nil; r = r.next {
		r.file.release()
	}
}
