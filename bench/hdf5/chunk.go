package hdf5

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// chunk is where one chunk is stored.
type chunk struct {
	row, col int64 // position of its first value, in values
	addr     int64
	size     int64  // stored bytes
	mask     uint32 // filters that were skipped, bit i = filter i
}

// chunkBytes is the size of a chunk without filters.
func (d *Dataset) chunkBytes() int64 {
	return d.layout.rows * d.layout.cols * int64(d.Kind.Size())
}

// grid is the number of chunks down and across.
func (d *Dataset) grid() (down, across int64) {
	l := &d.layout
	return (d.Rows + l.rows - 1) / l.rows, (d.Cols + l.cols - 1) / l.cols
}

// indexChunks finds the chunks and checks that they tile the data set: every place
// of the grid has one, and each lies in the file and can hold what it must.
func (d *Dataset) indexChunks() error {
	l := &d.layout
	if d.Rows > math.MaxInt64-l.rows || l.rows*l.cols > math.MaxInt32/int64(d.Kind.Size()) {
		return fault(l.at, "chunks below 2 GiB", l.rows, " x ", l.cols, " in ", d.Rows, " rows")
	}
	down, across := d.grid()
	if down > d.file.size/across {
		return fault(l.at, "no more chunks than the file has bytes", down, " x ", across)
	}
	var err error
	switch {
	case down == 0:
		return nil
	case l.index == indexTree:
		err = d.treeChunks()
	case l.index == indexSingle:
		err = d.singleChunk()
	case l.index == indexImplicit:
		err = d.implicitChunks()
	default:
		err = d.fixedChunks()
	}
	if err != nil {
		return err
	}
	slices.SortFunc(l.chunks, func(a, b chunk) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col))
	})
	if n := int64(len(l.chunks)); n != down*across {
		return fault(l.at, fmt.Sprintf("%d x %d chunks", down, across), n)
	}
	for i, c := range l.chunks {
		if row, col := int64(i)/across*l.rows, int64(i)%across*l.cols; c.row != row || c.col != col {
			return fault(c.addr, fmt.Sprintf("a chunk at row %d, column %d", row, col), fmt.Sprintf("one at %d, %d", c.row, c.col))
		}
	}
	return nil
}

// addChunk checks and keeps a chunk. Those outside the data set, left when it was
// made smaller, do not count.
func (d *Dataset) addChunk(c chunk) error {
	if c.row >= d.Rows || c.col >= d.Cols {
		return nil
	}
	if err := d.file.within(c.addr, c.size, "chunk"); err != nil {
		return err
	}
	if d.layout.stored += c.size; d.layout.stored > d.file.size {
		return fault(c.addr, "chunks that do not overlap", "more bytes in chunks than in the file")
	}
	full := d.chunkBytes()
	if d.deflated(c.mask) {
		if full > c.size*maxDeflate {
			return fault(c.addr, fmt.Sprintf("a deflate stream of %d bytes", full), fmt.Sprintf("one of %d stored", c.size))
		}
	} else if c.size != full {
		return fault(c.addr, fmt.Sprintf("a chunk of %d bytes", full), c.size)
	}
	d.layout.chunks = append(d.layout.chunks, c)
	return nil
}

// treeChunks reads a B-tree whose keys are: stored size u32 | filter mask u32 | row u64 | col u64 | 0 u64
func (d *Dataset) treeChunks() error {
	return d.file.tree(d.layout.addr, treeChunks, func(key []byte, child int64) error {
		b := block{data: key, off: child, what: "chunk key"}
		c := chunk{addr: child, size: int64(b.u32()), mask: b.u32(), row: b.size(), col: b.size()}
		if b.err != nil {
			return b.err
		}
		return d.addChunk(c)
	})
}

// singleChunk is the index of a data set that is one chunk.
func (d *Dataset) singleChunk() error {
	c := d.layout.single
	c.addr = d.layout.addr
	if c.size == 0 {
		c.size = d.chunkBytes()
	}
	return d.addChunk(c)
}

// place is the position of chunk i of an index that counts them in row-major order,
// across the greatest width that the data set may grow to.
func (d *Dataset) place(i int64) (row, col int64) {
	across := (d.maxCols-1)/d.layout.cols + 1
	return i / across * d.layout.rows, i % across * d.layout.cols
}

// implicitChunks lie back to back.
func (d *Dataset) implicitChunks() error {
	down, _ := d.grid()
	across := (d.maxCols-1)/d.layout.cols + 1
	size := d.chunkBytes()
	if down > d.file.size/size/across {
		return fault(d.layout.at, fmt.Sprintf("%d x %d chunks of %d bytes", down, across, size), "a file of ", d.file.size)
	}
	if err := d.file.within(d.layout.addr, down*across*size, "chunks"); err != nil {
		return err
	}
	for i := range down * across {
		row, col := d.place(i)
		if err := d.addChunk(chunk{row: row, col: col, addr: d.layout.addr + i*size, size: size}); err != nil {
			return err
		}
	}
	return nil
}
