package sprat

import (
	"cmp"
	"context"
	"slices"

	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/rescore"
)

// nearGap is the space, in bytes, between two records that is read with them
// rather than making a read of its own.
const nearGap = 16 << 10

// span is a read of records that lie near each other.
type span struct {
	first, end int // of the order of places
	off        int64
	len        int
}

// spans orders the places that are not in memory as they lie on the volume and puts those that lie near each
// other, each of size bytes, into reads of at most half an operation.
func spans(places []recordPlace, size int) (order []int, out []span) {
	for i := range places {
		if places[i].mem == nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &places[a], &places[b]
		return cmp.Or(cmp.Compare(x.file.Path(), y.file.Path()), cmp.Compare(x.off, y.off))
	})
	for i, at := range order {
		p := &places[at]
		if n := len(out); n > 0 {
			s := &out[n-1]
			far := p.off - s.off + int64(size)
			if places[order[s.first]].file == p.file && p.off-(s.off+int64(s.len)) <= nearGap && far <= rescore.MaxReadBytes/2 {
				s.end, s.len = i+1, max(s.len, int(far))
				continue
			}
		}
		out = append(out, span{i, i + 1, p.off, size})
	}
	return order, out
}

// walkNear reads size bytes at each place that is not in memory, in the order of
// the places on the volume, and calls f with each, or with the error of its read. The bytes are
// valid during the call. Where a read fails, its records are read one by one: those
// that lie around a bad spot are not lost with it.
func (ix *Index) walkNear(ctx context.Context, places []recordPlace, size int, f func(i int, data []byte, err error) error) error {
	for i := range places {
		if m := places[i].mem; m != nil {
			if err := f(i, m[:size], nil); err != nil {
				return err
			}
		}
	}
	order, reads := spans(places, size)
	return ix.walkIn(ctx, walkAhead, len(reads), func(b *iopath.Batch, i int) {
		b.Read(places[order[reads[i].first]].file, reads[i].off, reads[i].len, uint64(i))
	}, func(c iopath.Completion) error {
		s := &reads[c.Tag]
		if c.Err != nil && lasting(c.Err) {
			return ix.walkSingly(ctx, places, order[s.first:s.end], size, f)
		}
		for _, at := range order[s.first:s.end] {
			var data []byte
			if c.Err == nil {
				data = c.Data[places[at].off-s.off:][:size]
			}
			if err := f(at, data, c.Err); err != nil {
				return err
			}
		}
		return nil
	})
}

// walkSingly is walkNear for some of the places, by reads of their own.
func (ix *Index) walkSingly(ctx context.Context, places []recordPlace, which []int, size int, f func(i int, data []byte, err error) error) error {
	return ix.walkIn(ctx, walkAhead, len(which), func(b *iopath.Batch, i int) {
		p := &places[which[i]]
		b.Read(p.file, p.off, size, uint64(i))
	}, func(c iopath.Completion) error {
		return f(which[c.Tag], c.Data, c.Err)
	})
}

// readNear reads the vector records at the places and calls f with each, in the
// order of the places on the volume; the record is valid during the call. It stops
// at the first that cannot be read, which is noted as damaged.
func (ix *Index) readNear(ctx context.Context, places []recordPlace, f func(i int, rec *rescore.Record) error) error {
	return ix.walkNear(ctx, places, ix.records.Bytes, func(i int, data []byte, err error) error {
		var rec rescore.Record
		if err == nil {
			rec, err = ix.decodeRecord(data, &places[i])
		}
		if err != nil {
			ix.damage.slot(places[i].slot, err)
			return err
		}
		return f(i, &rec)
	})
}
