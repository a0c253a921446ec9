package hdf5

import (
	"bufio"
	"fmt"
	"io"
)

// bufferBytes is the read-ahead of contiguous values.
const bufferBytes = 1 << 20

// Rows streams the rows of a data set. It is not safe for use by several goroutines
// at once.
type Rows struct {
	d    *Dataset
	next int64 // row that comes next
	off  int64 // of the row that was returned last

	// When contiguous:
	buf *bufio.Reader
	row []byte

	// When chunked: the rows of one row of chunks, [bandRows][Cols].
	band               []byte
	stored, dst, spare []byte // scratch of one chunk
	inflate            inflater
}

// Scan begins at the first row.
func (d *Dataset) Scan() *Rows {
	r := &Rows{d: d, off: -1}
	switch l := &d.layout; {
	case d.Rows == 0:
	case l.chunked:
		r.band = make([]byte, min(l.rows, d.Rows)*d.rowBytes())
		r.dst = make([]byte, d.chunkBytes())
		if len(d.filters) > 1 {
			r.spare = make([]byte, d.chunkBytes())
		}
	default:
		values := io.NewSectionReader(d.file.at, l.addr, l.size)
		r.buf = bufio.NewReaderSize(values, int(min(l.size, bufferBytes)))
		r.row = make([]byte, d.rowBytes())
	}
	return r
}

// Next returns the bytes of the next row, Cols little-endian values, valid until
// the next call; io.EOF after the last row.
func (r *Rows) Next() ([]byte, error) {
	d := r.d
	if r.next == d.Rows {
		return nil, io.EOF
	}
	row := r.row
	if d.layout.chunked {
		in := r.next % d.layout.rows
		if in == 0 {
			if err := r.readBand(r.next / d.layout.rows); err != nil {
				return nil, err
			}
		}
		row = r.band[in*d.rowBytes() : (in+1)*d.rowBytes()]
	} else {
		r.off = d.layout.addr + r.next*d.rowBytes()
		if _, err := io.ReadFull(r.buf, row); err != nil {
			return nil, fmt.Errorf("hdf5: read row at offset %d: %w", r.off, notEOF(err))
		}
	}
	r.next++
	return row, nil
}

// Offset is the position in the file of the row that Next returned last, or -1 when
// it is not in one piece there.
func (r *Rows) Offset() int64 { return r.off }

// readBand reads all chunks of row n of the grid.
func (r *Rows) readBand(n int64) error {
	_, across := r.d.grid()
	for i := n * across; i < (n+1)*across; i++ {
		if err := r.readChunk(&r.d.layout.chunks[i]); err != nil {
			return err
		}
	}
	return nil
}

// readChunk decodes a chunk and copies its part of the data set into the band.
func (r *Rows) readChunk(c *chunk) error {
	d := r.d
	if int64(cap(r.stored)) < c.size {
		r.stored = make([]byte, c.size)
	}
	stored := r.stored[:c.size]
	if err := d.file.readAt(stored, c.addr, "chunk"); err != nil {
		return err
	}
	data, err := d.unfilter(stored, c.mask, r.dst, r.spare, &r.inflate)
	if err != nil {
		return &Error{Offset: c.addr, Want: fmt.Sprintf("a chunk that deflates to %d bytes", d.chunkBytes()), Got: "another", Err: err}
	}
	size := int64(d.Kind.Size())
	rows, cols := min(d.layout.rows, d.Rows-c.row), min(d.layout.cols, d.Cols-c.col)
	for i := range rows {
		copy(r.band[i*d.rowBytes()+c.col*size:], data[i*d.layout.cols*size:][:cols*size])
	}
	return nil
}
