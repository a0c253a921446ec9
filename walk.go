package sprat

import (
	"context"

	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
)

// walkAhead is how many reads a walk over an index keeps in flight.
const walkAhead = 32

// eachPosting reads the postings of a version with the given ids and calls f with
// each, in their order. It stops at the first error.
func (ix *Index) eachPosting(ctx context.Context, v *version, ids []uint32, f func(id uint32, p *posting.View) error) error {
	return ix.eachPostingRaw(ctx, v, ids, func(id uint32, e posting.Extent, data []byte, err error) error {
		var p posting.View
		if err == nil {
			p, err = ix.layout.Parse(data, id)
			err = posting.Located(err, ix.path(postingsFile), e.Offset())
		}
		if err != nil {
			return err
		}
		return f(id, &p)
	})
}

// walkBeside is the same for the background while there are queries.
const walkBeside = 4

// postingIDs are the ids of the postings that exist, ascending.
func (v *version) postingIDs() []uint32 {
	var ids []uint32
	for id := range v.postings.Len() {
		if exists(v, uint32(id)) {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

// eachPostingRaw is eachPosting without the parsing; f also gets the errors of
// reads and decides.
func (ix *Index) eachPostingRaw(ctx context.Context, v *version, ids []uint32, f func(id uint32, e posting.Extent, data []byte, err error) error) error {
	extent := func(i int) posting.Extent {
		p := v.postings.At(int(ids[i]))
		return p.extent
	}
	return ix.walkIn(ctx, walkAhead, len(ids), func(b *iopath.Batch, i int) {
		e := extent(i)
		b.Read(ix.postingsFile, e.Offset(), int(e.Bytes), uint64(i))
	}, func(c iopath.Completion) error {
		return f(ids[c.Tag], extent(int(c.Tag)), c.Data, c.Err)
	})
}

// walkIn issues reads 0 to n-1 in windows and hands their completions out in
// order.
func (ix *Index) walkIn(ctx context.Context, window, n int, issue func(b *iopath.Batch, i int), take func(iopath.Completion) error) error {
	if isBackground(ctx) && !ix.store.compute.quiet() {
		window = min(window, walkBeside)
	}
	for first := 0; first < n; first += window {
		if err := ix.walkWindow(ctx, first, min(first+window, n), issue, take); err != nil {
			return err
		}
	}
	return nil
}

func (ix *Index) walkWindow(ctx context.Context, first, end int, issue func(*iopath.Batch, int), take func(iopath.Completion) error) error {
	b := ix.store.engine.NewBatch()
	defer b.Release()
	if isBackground(ctx) {
		b.SetClass(iopath.Maintenance)
	}
	for i := first; i < end; i++ {
		issue(b, i)
	}
	if err := b.Submit(ctx); err != nil {
		return err
	}
	got := make([]iopath.Completion, end-first)
	for range got {
		c, err := b.Next(ctx)
		if err != nil {
			return err
		}
		got[int(c.Tag)-first] = c
	}
	for _, c := range got {
		if err := take(c); err != nil {
			return err
		}
	}
	return nil
}
