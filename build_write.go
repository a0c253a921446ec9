package sprat

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/cow"
	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/internal/filterindex"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rq"
)

// Items of a build's spill, little endian. A record item is what one row adds
// to the record and refine files; an entry item what it adds to a posting.
//
//	| record | bytes | field                     |  | entry | bytes | field            |
//	|--------|-------|---------------------------|  |-------|-------|------------------|
//	| 0      | 1     | 'R'                       |  | 0     | 1     | 'E', 'P' primary |
//	| 1      | 4     | slot                      |  | 1     | 4     | slot             |
//	| 5      | S     | vector record             |  | 5     | 4     | posting          |
//	| 5+S    | F     | refine record             |  | 9     | 12    | factors          |
//	|        |       |                           |  | 21    | C     | code             |
const (
	itemRecord  = 'R'
	itemEntry   = 'E'
	itemPrimary = 'P'
)

// output is where a build writes an index's files.
type output struct {
	postings, refine, records *iopath.Writer
	builder                   *posting.Builder
}

// write scatters the rows to partitions, then writes each partition's records
// and postings in order.
func (b *build) write(ctx context.Context) error {
	ix, err := newIndex(b.store, b.row)
	if err != nil {
		return err
	}
	var none cow.Array[postingRow]
	b.ix, b.directory, b.batch = ix, none.Edit(), b.store.catalog.NewBatch()
	b.filters = filterindex.NewSorter(b.tmp, b.memory/8)
	parts := b.partition()
	sp := newSpill(b.tmp, len(parts)-1, b.memory/8)
	if err := b.scatter(ctx, parts, sp); err != nil {
		return errors.Join(err, sp.close())
	}
	b.state.Filters, b.state.Filtered = catalog.FiltersWhole, b.filtered.Load()
	out, err := b.create()
	if err == nil {
		for p := range len(parts) - 1 {
			if err = ctx.Err(); err == nil {
				err = b.writePartition(out, sp, p, parts[p], parts[p+1])
			}
			if err != nil {
				break
			}
			b.opts.Progress("write", int64(p+1), int64(len(parts)-1))
		}
	}
	return errors.Join(err, sp.close(), out.close(err == nil, b))
}

// partition cuts the postings into runs whose items fit in an eighth of the
// build's memory, loaded and indexed. It returns the first posting of each run,
// and the end.
func (b *build) partition() []uint32 {
	record := int64(b.ix.records.Bytes + 9)
	if b.ix.refine != nil {
		record += int64(b.ix.refine.Bytes)
	}
	const bookkeeping = 32 // slices that find an item
	entry := int64(b.ix.layout.CodeSize() + 25 + bookkeeping)
	cuts, held := []uint32{0}, int64(0)
	for i, n := range b.placed.entries {
		size := int64(b.placed.primaries[i])*(record+bookkeeping) + int64(n)*entry
		if held > 0 && held+size > b.memory/8 {
			cuts, held = append(cuts, uint32(i)), 0
		}
		held += size
	}
	return append(cuts, uint32(len(b.placed.entries)))
}

// scatter encodes every live row: its record, its refine record, and one entry
// per posting.
func (b *build) scatter(ctx context.Context, parts []uint32, sp *spill) error {
	partOf := func(posting uint32) int {
		i, found := slices.BinarySearch(parts, posting)
		if !found {
			i--
		}
		return min(i, len(sp.parts)-1)
	}
	return b.pass(ctx, "encode", func(w *worker, blk *block) error {
		return b.live(w, blk, func(i int, row uint64) error {
			routes, slot := b.placed.routes(row), b.placed.slotOf[row]
			if err := b.recordItem(w, blk, i, slot); err != nil {
				return err
			}
			if terms := b.ix.filterTerms(blk.metas[i]); len(terms) > 0 {
				b.filtered.Add(1)
				if err := b.filters.Add(terms, slot); err != nil {
					return err
				}
			}
			if err := sp.add(partOf(routes[0]), w.buf); err != nil {
				return err
			}
			for k, p := range routes {
				if p == noPosting {
					break
				}
				w.buf = b.entryItem(w, p, slot, k == 0)
				if err := sp.add(partOf(p), w.buf); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// recordItem leaves the record item of row i of the block in w.buf.
func (b *build) recordItem(w *worker, blk *block, i int, slot uint32) error {
	rec, ref, dim := &b.ix.records, b.ix.refine, b.staged.dim
	n := 5 + rec.Bytes
	if ref != nil {
		n += ref.Bytes
	}
	buf := grow(w.buf, n)
	w.buf = buf
	buf[0] = itemRecord
	binary.LittleEndian.PutUint32(buf[1:], slot)
	key, meta := blk.keys[i], blk.metas[i]
	keyIn, metaIn := rec.Encode(buf[5:5+rec.Bytes], slot, 0, key, meta, blk.vectors[i*dim:(i+1)*dim])
	if ref != nil {
		ref.Encode(buf[5+rec.Bytes:], slot, w.rotated, &w.coder)
	}
	if keyIn && metaIn {
		return nil
	}
	return b.overflow(slot, key, meta, keyIn, metaIn)
}

// overflowBytes is how much overflow is collected before it is written.
const overflowBytes = 1 << 20

// overflow puts what did not fit into a record into the catalog, in batches of
// bounded size: rows of an index id that no index row names are invisible.
func (b *build) overflow(slot uint32, key, meta []byte, keyIn, metaIn bool) error {
	b.overflowMu.Lock()
	defer b.overflowMu.Unlock()
	b.state.Overflows++
	if !keyIn {
		b.batch.PutLongKey(b.row.ID, slot, 0, key)
	}
	if !metaIn {
		b.batch.PutLongMetadata(b.row.ID, slot, 0, meta)
	}
	if b.batch.Len() < overflowBytes {
		return nil
	}
	return b.commitBatch(func(*catalog.Batch) {})
}

// commitBatch adds to the batch, commits it and starts another one. Pebble ends
// the process when its log cannot be written, so room for it is checked first.
func (b *build) commitBatch(last func(*catalog.Batch)) error {
	last(b.batch)
	if err := b.store.room(4*int64(b.batch.Len()) + catalogReserve); err != nil {
		return err
	}
	batch := b.batch
	b.batch = b.store.catalog.NewBatch()
	return batch.Commit()
}

func (b *build) entryItem(w *worker, p, slot uint32, primary bool) []byte {
	l := &b.ix.layout
	buf := grow(w.buf, 21+l.CodeSize())
	buf[0] = itemEntry
	if primary {
		buf[0] = itemPrimary
	}
	le := binary.LittleEndian
	le.PutUint32(buf[1:], slot)
	le.PutUint32(buf[5:], p)
	b.set.Decode(int32(p), w.centroid)
	f := l.Coder().Encode(buf[21:], w.rotated, w.centroid, &w.coder)
	le.PutUint32(buf[9:], math.Float32bits(f.Add))
	le.PutUint32(buf[13:], math.Float32bits(f.Rescale))
	le.PutUint32(buf[17:], math.Float32bits(f.Error))
	return buf
}

// create starts the index's files with their headers.
func (b *build) create() (*output, error) {
	o := &output{builder: posting.NewBuilder(b.ix.layout)}
	align := b.store.engine.Info().OffsetAlign
	start := func(w **iopath.Writer, name string, h diskfile.Header) error {
		var err error
		if *w, err = b.store.engine.Create(b.ix.path(name)); err != nil {
			return err
		}
		_, err = (*w).Write(h.Encode())
		return err
	}
	err := start(&o.postings, postingsFile, b.ix.postingsHeader(align))
	if err == nil {
		err = start(&o.records, recordsFile, b.ix.records.Header(b.row.ID, align))
	}
	if err == nil && b.ix.refine != nil {
		err = start(&o.refine, refineFile, b.ix.refine.Header(b.row.ID, align))
	}
	return o, err
}

// writePartition writes postings first to end-1 and the records of their
// primary members.
func (b *build) writePartition(o *output, sp *spill, part int, first, end uint32) error {
	items, err := sp.load(part)
	if err != nil {
		return err
	}
	// Records by slot first, then entries by posting and slot.
	slices.SortFunc(items, compareItems)
	for len(items) > 0 && items[0][0] == itemRecord {
		if err := b.writeRecord(o, items[0]); err != nil {
			return err
		}
		items = items[1:]
	}
	for p := first; p < end; p++ {
		o.builder.Reset()
		for len(items) > 0 && binary.LittleEndian.Uint32(items[0][5:]) == p {
			o.add(items[0])
			items = items[1:]
		}
		if err := b.writePosting(o, p); err != nil {
			return err
		}
	}
	return nil
}

func compareItems(x, y []byte) int {
	if xr, yr := x[0] == itemRecord, y[0] == itemRecord; xr != yr {
		if xr {
			return -1
		}
		return 1
	} else if !xr {
		px, py := binary.LittleEndian.Uint32(x[5:]), binary.LittleEndian.Uint32(y[5:])
		if px != py {
			return int(int64(px) - int64(py))
		}
	}
	return int(int64(binary.LittleEndian.Uint32(x[1:])) - int64(binary.LittleEndian.Uint32(y[1:])))
}

func (b *build) writeRecord(o *output, item []byte) error {
	slot, rec := binary.LittleEndian.Uint32(item[1:]), &b.ix.records
	if err := writeAt(o.records, rec.Offset(slot), item[5:5+rec.Bytes]); err != nil {
		return err
	}
	if b.ix.refine == nil {
		return nil
	}
	return writeAt(o.refine, b.ix.refine.Offset(slot), item[5+rec.Bytes:])
}

// writeAt writes p at off, filling the gap from the end of the file with zeros.
func writeAt(w *iopath.Writer, off int64, p []byte) error {
	var zeros [512]byte
	for gap := off - w.Size(); gap > 0; gap = off - w.Size() {
		if _, err := w.Write(zeros[:min(gap, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	_, err := w.Write(p)
	return err
}

func (o *output) add(item []byte) {
	le := binary.LittleEndian
	o.builder.Add(posting.Entry{
		Slot: le.Uint32(item[1:]), Primary: item[0] == itemPrimary, Code: item[21:],
		Factors: rq.Factors{
			Add:     math.Float32frombits(le.Uint32(item[9:])),
			Rescale: math.Float32frombits(le.Uint32(item[13:])),
			Error:   math.Float32frombits(le.Uint32(item[17:])),
		},
	})
}

func (b *build) writePosting(o *output, p uint32) error {
	off := o.postings.Size()
	if off%posting.ExtentAlign != 0 || off/posting.ExtentAlign > math.MaxUint32 {
		return fmt.Errorf("posting file is full at %d bytes", off)
	}
	data, used := o.builder.Encode(p, centroidOf(b.set, int32(p)))
	if _, err := o.postings.Write(data); err != nil {
		return err
	}
	e := posting.Extent{Block: uint32(off / posting.ExtentAlign), Bytes: uint32(used)}
	b.batch.PutExtent(b.row.ID, p, appendDirectoryRow(nil, e, 0))
	b.directory.Ref(int(p)).extent = e
	return nil
}

// close ends the files; with sync it makes them durable and opens them for
// queries.
func (o *output) close(sync bool, b *build) error {
	if o == nil {
		return nil
	}
	var errs []error
	for _, w := range []*iopath.Writer{o.postings, o.records, o.refine} {
		if w == nil {
			continue
		}
		if sync {
			errs = append(errs, w.Sync())
		}
		errs = append(errs, w.Close())
	}
	if err := errors.Join(errs...); err != nil || !sync {
		return err
	}
	if err := b.ix.saveCentroids(b.set); err != nil {
		return err
	}
	v := b.ix.current.Load()
	b.ix.current.Store(&version{space: v.space, calib: v.calib, set: b.set, postings: b.directory.Done(),
		runs: bulkRuns(b.state.Slots), state: b.state})
	return b.ix.openFiles()
}

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
