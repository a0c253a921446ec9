package hdf5

import (
	"encoding/binary"
	"fmt"
)

// fixedArray is the header of an index of a fixed number of entries.
type fixedArray struct {
	entry    int   // bytes of an entry
	pageBits int   // 1<<pageBits entries make a page
	n        int64 // entries
	data     int64 // address of the data block
}

// fixedChunks reads the header of a fixed array, then its data block:
//
//	"FAHD" | version u8 = 0 | filtered u8 | entry bytes u8 | page bits u8 | entries u64 | data block | checksum u32
func (d *Dataset) fixedChunks() error {
	b, err := d.file.block(d.layout.addr, 28, "fixed array header")
	if err != nil {
		return err
	}
	b.sign("FAHD")
	b.version(0, 0)
	at, filtered := b.at(), b.u8()
	a := fixedArray{entry: b.u8(), pageBits: b.u8(), n: b.size(), data: b.address()}
	b.checksum(d.file.verify)
	if b.err != nil {
		return b.err
	}
	if filtered > 1 || filtered == 0 && a.entry != 8 || filtered == 1 && (a.entry < 13 || a.entry > 20) || a.pageBits > 31 {
		return fault(at, "a fixed array of chunks", fmt.Sprintf("client %d, entries of %d bytes, %d page bits", filtered, a.entry, a.pageBits))
	}
	if a.n > d.file.size/int64(a.entry) {
		return fault(at, "entries within the file", a.n)
	}
	return d.fixedData(a)
}

// fixedData reads the data block of a fixed array, which is paged when it has more
// entries than one page. Pages that were never written are zero in the bitmap.
//
//	"FADB" | version u8 = 0 | filtered u8 | address of the header
//	not paged: entries | checksum u32
//	paged:     bitmap, 1 bit a page | checksum u32 | pages of entries, each followed by a checksum u32
func (d *Dataset) fixedData(a fixedArray) error {
	page := int64(1) << a.pageBits
	head := int64(14)
	if a.n <= page {
		b, err := d.fixedBlock(a.data, head+a.n*int64(a.entry)+4)
		if err != nil {
			return err
		}
		return d.fixedEntries(b, a, 0, a.n)
	}
	pages := (a.n + page - 1) / page
	head += (pages+7)/8 + 4
	b, err := d.fixedBlock(a.data, head)
	if err != nil {
		return err
	}
	bitmap := b.bytes(int((pages + 7) / 8))
	for p := range pages {
		if bitmap[p/8]>>(7-p%8)&1 == 0 {
			continue
		}
		// Every page but the last is full, and its place is reserved if it is not
		// written.
		n := min(page, a.n-p*page)
		b, err := d.file.block(a.data+head+p*(page*int64(a.entry)+4), n*int64(a.entry)+4, "fixed array page")
		if err != nil {
			return err
		}
		if err := d.fixedEntries(b, a, p*page, n); err != nil {
			return err
		}
	}
	return nil
}

// fixedBlock reads the first n bytes of a data block, which a checksum ends, and
// moves behind its head.
func (d *Dataset) fixedBlock(addr, n int64) (*block, error) {
	b, err := d.file.block(addr, n, "fixed array data")
	if err != nil {
		return nil, err
	}
	b.sign("FADB")
	b.version(0, 0)
	b.skip(9)
	return b, b.err
}

// fixedEntries reads n entries, the first of which is number first, up to the end
// of b:
//
//	address | when filtered: stored size, of what bytes remain | filter mask u32
func (d *Dataset) fixedEntries(b *block, a fixedArray, first, n int64) error {
	start := b.pos
	b.pos = len(b.data) - 4
	if b.checksum(d.file.verify); b.err != nil {
		return b.err
	}
	b.pos = start
	for i := range n {
		c := chunk{addr: b.address(), size: d.chunkBytes()}
		c.row, c.col = d.place(first + i)
		if a.entry > 8 {
			c.size = b.uint(a.entry - 12)
			c.mask = binary.LittleEndian.Uint32(b.bytes(4))
		}
		if b.err != nil {
			return b.err
		}
		if c.addr == undefined {
			continue // counted as missing afterwards if it is inside the data set
		}
		if err := d.addChunk(c); err != nil {
			return err
		}
	}
	return b.err
}
