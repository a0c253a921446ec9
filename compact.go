package sprat

import (
	"context"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
)

// Compact brings an index to the state in which it costs least, and erases: when
// it returns, the bytes of vectors, keys and metadata that were deleted or
// replaced before it began are in none of the index's files and in none of the
// catalog's. Reads and writes go on meanwhile. Progress may be nil. Errors: the
// context's, ErrClosed, and those of the volume.
//
//  1. settle, bring scattered records together, then write every posting anew that
//     holds an entry of a dead slot;
//  2. give free extents and dead slots back to the volume as holes, which read as
//     zeros;
//  3. have the catalog rewrite its tables and drop its old logs.
func (ix *Index) Compact(ctx context.Context, progress func(step string, done, total int64)) error {
	leave, err := ix.changeable()
	if err != nil {
		return err
	}
	defer leave()
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	u := ix.writer.upkeep
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"settle", ix.Settle},
		{"tidy", func(ctx context.Context) error { return u.grant(ctx, &u.order, 1) }},
		// Twice: the sweep under way may have passed what dies now.
		{"purge", func(ctx context.Context) error { return u.grant(ctx, &u.purge, 2) }},
		{"settle", ix.Settle},
		{"erase", ix.erase},
		{"catalog", func(ctx context.Context) error { return ix.store.catalog.Erase(ctx) }},
	}
	for i, s := range steps {
		progress(s.name, int64(i), int64(len(steps)))
		if err := s.do(ctx); err != nil {
			return publicError(err)
		}
	}
	progress("done", int64(len(steps)), int64(len(steps)))
	return nil
}

// grant waits until the upkeep has done n times what a wish asks for.
func (u *upkeep) grant(ctx context.Context, w *wish, n int64) error {
	w.asked.Add(1)
	defer w.asked.Add(-1)
	want := w.done.Load() + n
	for w.done.Load() < want {
		var err error
		if u.manual {
			_, err = u.step(ctx)
		} else {
			err = u.awaitStep(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// erase turns what nothing live is in into holes.
func (ix *Index) erase(ctx context.Context) error {
	w := ix.writer
	if err := w.erasePostings(); err != nil {
		return err
	}
	if err := w.eraseSlots(ctx, w.records, func(slot uint32) int64 { return ix.records.Offset(slot) }, ix.records.Bytes); err != nil {
		return err
	}
	if ix.refine != nil {
		if err := w.eraseSlots(ctx, w.refine, func(slot uint32) int64 { return ix.refine.Offset(slot) }, ix.refine.Bytes); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.retireSegment()
}

// erasePostings punches the gaps between extents, and what an extent's last block
// holds beyond the posting is zeros anyway.
func (w *writer) erasePostings() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reclaim()
	var fail error
	punch := func(off, n int64) {
		if fail == nil && n > 0 {
			fail = w.postings.Punch(off, n)
		}
	}
	w.extents.Gaps(punch)
	if size, err := w.postings.Size(); err == nil {
		punch(max(w.extents.End(), posting.ExtentAlign), size-max(w.extents.End(), posting.ExtentAlign))
	}
	if fail == nil {
		fail = w.postings.Sync()
	}
	return fail
}

// eraseRuns is how many runs one step of eraseSlots holds the lock for.
const eraseRuns = 4096

// eraseSlots zeroes the dead slots of a file of records, and those live ones whose
// records have not come home yet.
func (w *writer) eraseSlots(ctx context.Context, u *iopath.Updater, offset func(uint32) int64, bytes int) error {
	for first := 0; ; first += eraseRuns {
		more, err := w.eraseSome(u, offset, bytes, first)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !more {
			if err == nil {
				err = u.Sync()
			}
			return err
		}
	}
}

// eraseSome is eraseSlots for a few runs. It holds writer.mu, so that no slot is
// given out meanwhile; a slot that a query may still read is left.
func (w *writer) eraseSome(u *iopath.Updater, offset func(uint32) int64, bytes, first int) (more bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reclaim()
	v := w.ix.current.Load()
	size, err := u.Size()
	if err != nil {
		return false, err
	}
	start, end := int64(0), int64(0) // of the hole in the making
	punch := func() {
		if err == nil && end > start {
			err = u.Punch(start, min(end, size)-start)
		}
	}
	for r := first; r < min(first+eraseRuns, v.runs.Len()); r++ {
		x := v.runs.At(r)
		for i := range catalog.RunSlots {
			gone := x.live>>i&1 == 0 && w.slots.held[uint32(r)]>>i&1 == 0
			off := offset(uint32(r*catalog.RunSlots + i))
			if !gone || off >= size {
				continue
			}
			if off != end {
				punch()
				start = off
			}
			end = off + int64(bytes)
		}
	}
	punch()
	return first+eraseRuns < v.runs.Len(), err
}

// retireSegment begins a new landing segment when the active one holds nothing
// live. The caller holds writer.mu.
func (w *writer) retireSegment() error {
	s := w.active
	if s == nil || s.landed > 0 || s.size == diskfile.HeaderBytes {
		return nil
	}
	t := w.begin()
	t.active = nil
	return t.commit()
}
