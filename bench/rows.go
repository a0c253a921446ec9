package bench

import (
	"encoding/binary"
	"fmt"
	"io"
)

// rawRows streams the undecoded rows of a binary format, so that the same file can
// be read as floats (vectors, distances) or as integers (neighbours).
type rawRows interface {
	shape() (rows int64, dim int)
	element() element
	// next returns the bytes of the next row, valid until the next call, and their
	// offset in the file (-1 when they are not contiguous there); io.EOF after the
	// last row.
	next() (row []byte, off int64, err error)
	Close() error
}

// binRows reads the fbin family and, with another header, npy: rows of one size
// back to back up to the end of the file.
type binRows struct {
	src  *source
	elem element
	dim  int
	rows int64
	done int64
	buf  []byte
}

// openBin reads the header of an fbin-like file.
func openBin(src *source, elem element, o Options) (*binRows, error) {
	var head [8]byte
	if err := src.readFull(head[:], "header (uint32 rows, uint32 dimension)"); err != nil {
		return nil, err
	}
	rows := int64(binary.LittleEndian.Uint32(head[:]))
	dim := int64(binary.LittleEndian.Uint32(head[4:]))
	if err := src.checkDim(4, dim, o.MaxDim); err != nil {
		return nil, err
	}
	return newBinRows(src, elem, rows, dim)
}

// newBinRows checks the body that starts at the source's position. dim must have
// passed checkDim.
func newBinRows(src *source, elem element, rows, dim int64) (*binRows, error) {
	if err := src.checkBody(src.off, rows, dim, int64(elem.size())); err != nil {
		return nil, err
	}
	r := &binRows{src: src, elem: elem, dim: int(dim), rows: rows}
	if rows > 0 {
		r.buf = make([]byte, int(dim)*elem.size())
	}
	return r, nil
}

func (r *binRows) shape() (int64, int) { return r.rows, r.dim }
func (r *binRows) element() element    { return r.elem }
func (r *binRows) Close() error        { return r.src.Close() }

func (r *binRows) next() ([]byte, int64, error) {
	if r.done == r.rows {
		return nil, 0, io.EOF
	}
	off := r.src.off
	if err := r.src.readFull(r.buf, "a row"); err != nil {
		return nil, off, err
	}
	r.done++
	return r.buf, off, nil
}

// vecRows reads the fvecs family: every row is preceded by its dimension.
type vecRows struct {
	binRows
}

// openVecs takes the dimension from the first row and the number of rows from the
// size of the file.
func openVecs(src *source, elem element, o Options) (*vecRows, error) {
	head, err := src.buf.Peek(4)
	if err != nil {
		return nil, src.fault(0, "a row (int32 dimension, then the values)", fmt.Sprintf("end of file after %d bytes", len(head)))
	}
	dim := int64(int32(binary.LittleEndian.Uint32(head)))
	if err := src.checkDim(0, dim, o.MaxDim); err != nil {
		return nil, err
	}
	stride := 4 + dim*int64(elem.size())
	rows := src.size / stride
	if rest := src.size - rows*stride; rest != 0 {
		return nil, src.fault(rows*stride, fmt.Sprintf("a whole row of %d bytes (dimension %d)", stride, dim), fmt.Sprintf("%d bytes", rest))
	}
	return &vecRows{binRows{src: src, elem: elem, dim: int(dim), rows: rows, buf: make([]byte, stride)}}, nil
}

func (r *vecRows) next() ([]byte, int64, error) {
	row, off, err := r.binRows.next()
	if err != nil {
		return nil, off, err
	}
	if d := int32(binary.LittleEndian.Uint32(row)); int(d) != r.dim {
		return nil, off, r.src.fault(off, fmt.Sprintf("dimension %d as in the first row", r.dim), fmt.Sprintf("%d in row %d", d, r.done-1))
	}
	return row[4:], off + 4, nil
}

// floatReader is the [Reader] over any rawRows.
type floatReader struct {
	raw  rawRows
	path string
	rows int64
	dim  int
	done int64
}

func newFloatReader(path string, raw rawRows) *floatReader {
	rows, dim := raw.shape()
	return &floatReader{raw: raw, path: path, rows: rows, dim: dim}
}

func (r *floatReader) Dim() int     { return r.dim }
func (r *floatReader) Rows() int64  { return r.rows }
func (r *floatReader) Close() error { return r.raw.Close() }

func (r *floatReader) Next(row *Row) error {
	src, off, err := r.raw.next()
	if err != nil {
		return err
	}
	row.grow(r.dim)
	e := r.raw.element()
	if bad := e.floats(row.Vector, src); bad >= 0 {
		if off >= 0 {
			off += int64(bad * e.size())
		}
		return &FormatError{Path: r.path, Offset: off, Want: "a finite value in the range of float32",
			Got: fmt.Sprintf("%v in row %d, column %d", row.Vector[bad], r.done, bad)}
	}
	r.done++
	return nil
}
