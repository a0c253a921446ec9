package vecbin

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
)

// Limits of a matrix. They bound what Decode allocates for a damaged header.
const (
	MaxRows = 1 << 20 // rows in one matrix
	MaxDim  = 4096    // elements in one row, the largest dimension sprat accepts

	// maxElements bounds rows*dim: 64 Mi elements, 256 MiB as float32.
	maxElements = 1 << 26

	headerSize = 8
)

// Element is how one number of a matrix is stored.
type Element int

// The element types. Their values are not stored anywhere.
const (
	HalfFloat Element = iota // IEEE 754 binary16, two bytes
	Byte                     // unsigned byte
)

// width returns the bytes of one element.
func (e Element) width() int {
	if e == Byte {
		return 1
	}
	return 2
}

// Matrix is rows of equal length. The zero Matrix is not valid: Dim is at least 1.
type Matrix struct {
	Rows int
	Dim  int
	Data []float32 // [Rows][Dim], row after row
}

// Row returns row i, 0 <= i < Rows, as a view into Data.
func (m Matrix) Row(i int) []float32 {
	return m.Data[i*m.Dim : (i+1)*m.Dim : (i+1)*m.Dim]
}

// Decode returns the matrix in the gzip stream src, whose elements are of type
// e. Nothing of src is kept. Every error matches ErrFormat.
func Decode(src []byte, e Element) (Matrix, error) {
	zr, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return Matrix{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var header [headerSize]byte
	if _, err := io.ReadFull(zr, header[:]); err != nil {
		return Matrix{}, fmt.Errorf("%w: header: %w", ErrFormat, err)
	}
	rows := uint64(binary.LittleEndian.Uint32(header[0:]))
	dim := uint64(binary.LittleEndian.Uint32(header[4:]))
	if dim < 1 || dim > MaxDim || rows > MaxRows || rows*dim > maxElements {
		return Matrix{}, fmt.Errorf("%w: %d rows of %d elements are out of range", ErrFormat, rows, dim)
	}
	// The header may lie, so the content is read as it comes and compared with
	// it, not allocated from it. One byte more than promised shows a surplus.
	want := int(rows*dim) * e.width()
	raw, err := io.ReadAll(io.LimitReader(zr, int64(want)+1))
	if err != nil {
		return Matrix{}, fmt.Errorf("%w: elements: %w", ErrFormat, err)
	}
	if len(raw) != want {
		return Matrix{}, fmt.Errorf("%w: header promises %d bytes of elements, found %s",
			ErrFormat, want, found(len(raw), want))
	}
	return Matrix{Rows: int(rows), Dim: int(dim), Data: widen(raw, e)}, nil
}

// found words the number of bytes read when want were promised.
func found(got, want int) string {
	if got > want {
		return "more"
	}
	return fmt.Sprint(got)
}

// widen turns stored elements into float32.
func widen(raw []byte, e Element) []float32 {
	data := make([]float32, len(raw)/e.width())
	for i := range data {
		if e == Byte {
			data[i] = float32(raw[i])
		} else {
			data[i] = FromHalf(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	}
	return data
}

// Encode writes m to w as a gzip stream of elements of type e. HalfFloat rounds
// to the nearest half; Byte refuses a value that is not an integer in 0..255.
func Encode(w io.Writer, m Matrix, e Element) error {
	if m.Dim < 1 || m.Dim > MaxDim || m.Rows < 0 || m.Rows > MaxRows || len(m.Data) != m.Rows*m.Dim {
		return fmt.Errorf("vecbin: encode %d rows of %d elements from %d numbers", m.Rows, m.Dim, len(m.Data))
	}
	raw := make([]byte, headerSize, headerSize+len(m.Data)*e.width())
	binary.LittleEndian.PutUint32(raw[0:], uint32(m.Rows))
	binary.LittleEndian.PutUint32(raw[4:], uint32(m.Dim))
	for i, f := range m.Data {
		if e == HalfFloat {
			raw = binary.LittleEndian.AppendUint16(raw, ToHalf(f))
			continue
		}
		if !(f >= 0 && f <= 255) || f != float32(byte(f)) {
			return fmt.Errorf("vecbin: encode element %d of row %d: %v is not a byte", i%m.Dim, i/m.Dim, f)
		}
		raw = append(raw, byte(f))
	}
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("vecbin: encode: %w", err)
	}
	if _, err := zw.Write(raw); err != nil {
		return fmt.Errorf("vecbin: encode: %w", err)
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("vecbin: encode: %w", err)
	}
	return nil
}
