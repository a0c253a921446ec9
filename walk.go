package sprat

import (
	"context"

	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
)

// walkAhead is how many reads a walk over an index keeps in flight.
const walkAhead = 32

// eachPosting reads every posting of the directory, in the order of ids, and
// calls f with it. It stops at the first error.
func (ix *Index) eachPosting(f func(id uint32, v *posting.View) error) error {
	return ix.eachPostingRaw(func(id uint32, e posting.Extent, data []byte, err error) error {
		var v posting.View
		if err == nil {
			v, err = ix.layout.Parse(data, id)
			err = posting.Located(err, ix.path(postingsFile), e.Offset())
		}
		if err != nil {
			return err
		}
		return f(id, &v)
	})
}

// eachPostingRaw is eachPosting without the parsing; f also gets the errors of
// reads and decides.
func (ix *Index) eachPostingRaw(f func(id uint32, e posting.Extent, data []byte, err error) error) error {
	var ids []uint32
	for id := range ix.directory.Limit() {
		if _, ok := ix.directory.Get(id); ok {
			ids = append(ids, id)
		}
	}
	return ix.walk(len(ids), func(b *iopath.Batch, i int) {
		e, _ := ix.directory.Get(ids[i])
		b.Read(ix.postingsFile, e.Offset(), int(e.Bytes), uint64(i))
	}, func(c iopath.Completion) error {
		id := ids[c.Tag]
		e, _ := ix.directory.Get(id)
		return f(id, e, c.Data, c.Err)
	})
}

// recordRun is a run of slots whose records are read together.
type recordRun struct {
	first, end uint32
	off        int64
	data       []byte
}

// eachRecordRun reads a slot file from slot 0 to the last in long reads and
// calls f with each run, in order.
func (ix *Index) eachRecordRun(file *iopath.File, s rescore.Stride, f func(r recordRun, err error) error) error {
	per := uint32(max(1, (128<<10)/s.Bytes))
	if s.PerBlock > 0 {
		per = max(1, per/uint32(s.PerBlock)) * uint32(s.PerBlock)
	}
	slots := uint32(ix.row.Slots)
	run := func(i int) recordRun {
		first := uint32(i) * per
		return recordRun{first: first, end: min(first+per, slots), off: s.Offset(first)}
	}
	n := int((uint64(slots) + uint64(per) - 1) / uint64(per))
	return ix.walk(n, func(b *iopath.Batch, i int) {
		r := run(i)
		b.Read(file, r.off, int(s.Offset(r.end-1)-r.off)+s.Bytes, uint64(i))
	}, func(c iopath.Completion) error {
		r := run(int(c.Tag))
		r.data = c.Data
		return f(r, c.Err)
	})
}

// walk issues reads 0 to n-1 in windows and hands their completions out in
// order.
func (ix *Index) walk(n int, issue func(b *iopath.Batch, i int), take func(iopath.Completion) error) error {
	ctx := context.Background()
	for first := 0; first < n; first += walkAhead {
		if err := ix.walkWindow(ctx, first, min(first+walkAhead, n), issue, take); err != nil {
			return err
		}
	}
	return nil
}

func (ix *Index) walkWindow(ctx context.Context, first, end int, issue func(*iopath.Batch, int), take func(iopath.Completion) error) error {
	b := ix.store.engine.NewBatch()
	defer b.Release()
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
