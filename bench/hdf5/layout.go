package hdf5

import "fmt"

// Chunk indexes of layout version 4. Version 3 has only the B-tree, which keeps
// number 0 here.
const (
	indexTree     = 0
	indexSingle   = 1
	indexImplicit = 2
	indexFixed    = 3
)

// layout says where the values are.
type layout struct {
	at      int64 // of the message, for errors
	chunked bool
	addr    int64 // of the values, or of the index of the chunks
	size    int64 // of the values when not chunked

	// When chunked:
	rows, cols int64 // of one chunk
	index      int
	single     chunk   // the stored size of the only chunk of indexSingle, when filtered
	chunks     []chunk // all of them, in row-major order
	stored     int64   // bytes of all chunks
}

// readLayout reads the message. Version 5, of HDF5 2.0, is version 4 with wider
// sizes of chunks in the indexes, which say how wide theirs are:
//
//	version u8 = 3 to 5 | class u8
//	class 0, compact:     size u16 | values
//	class 1, contiguous:  address | size u64
//	class 2, chunked:     see chunkShape3 and chunkShape4
func (d *Dataset) readLayout(b *block) error {
	b.what = "layout"
	l := &d.layout
	l.at = b.at()
	version := b.version(3, 5)
	at := b.at()
	switch class := b.u8(); class {
	case 0:
		l.size = int64(b.u16())
		l.addr = b.at()
		b.skip(int(l.size))
	case 1:
		l.addr, l.size = b.address(), b.size()
	case 2:
		l.chunked = true
		if version == 3 {
			return l.chunkShape3(b)
		}
		return l.chunkShape4(b)
	default:
		return fault(at, "a compact, contiguous or chunked layout", "class ", class)
	}
	return nil
}

// chunkShape3 reads: dimensions u8 = 3 | address | rows u32 | cols u32 | element size u32
func (l *layout) chunkShape3(b *block) error {
	if err := b.dimensions(); err != nil {
		return err
	}
	l.addr = b.address()
	l.rows, l.cols = int64(b.u32()), int64(b.u32())
	b.skip(4)
	return l.checkShape(b)
}

// chunkShape4 reads: flags u8 | dimensions u8 = 3 | width u8 | rows | cols | element size, each of
// width bytes | index u8 | parameters of the index | address
func (l *layout) chunkShape4(b *block) error {
	at, flags := b.at(), b.u8()
	if flags&1 != 0 {
		return fault(at, "filters on all chunks", "none on those at the edge")
	}
	if err := b.dimensions(); err != nil {
		return err
	}
	at = b.at()
	width := b.u8()
	if b.err == nil && (width < 1 || width > 8) {
		return fault(at, "sizes of 1 to 8 bytes", width)
	}
	l.rows, l.cols = b.uint(width), b.uint(width)
	b.skip(width)
	at = b.at()
	switch l.index = b.u8(); l.index {
	case indexSingle:
		if flags&2 != 0 {
			l.single = chunk{size: b.size(), mask: b.u32()}
		}
	case indexImplicit:
	case indexFixed:
		b.skip(1) // page bits, which the array's header repeats
	default:
		if b.err == nil {
			return fault(at, "a chunk index of type 1 to 3", l.index)
		}
	}
	l.addr = b.address()
	return l.checkShape(b)
}

// dimensions checks the number of sizes of a chunk: two and the element's.
func (b *block) dimensions() error {
	at := b.at()
	if n := b.u8(); n != 3 && b.err == nil {
		return fault(at, "chunks of 2 dimensions and the element", n)
	}
	return nil
}

// checkShape refuses empty chunks and such whose size in bytes could overflow.
func (l *layout) checkShape(b *block) error {
	const most = 1 << 30
	if b.err == nil && (l.rows < 1 || l.cols < 1 || l.rows > most || l.cols > most) {
		return fault(b.off, fmt.Sprintf("chunks of 1 to %d rows and columns", most), l.rows, " x ", l.cols)
	}
	return nil
}
