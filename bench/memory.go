package bench

import (
	"fmt"
	"io"
)

// NewMemoryReader reads rows that are in memory: values is [n][dim], and stays
// the caller's, who must not change it meanwhile. Values are not checked for NaN
// and infinity. It is an error when values is not made of whole rows.
func NewMemoryReader(dim int, values []float32) (Reader, error) {
	if dim < 1 || len(values)%dim != 0 {
		return nil, fmt.Errorf("bench: %d values are no rows of dimension %d", len(values), dim)
	}
	return &matrixReader{dim: dim, values: values}, nil
}

type matrixReader struct {
	dim    int
	values []float32
	done   int64
}

func (r *matrixReader) Dim() int     { return r.dim }
func (r *matrixReader) Rows() int64  { return int64(len(r.values) / r.dim) }
func (r *matrixReader) Close() error { return nil }

func (r *matrixReader) Next(row *Row) error {
	if r.done == r.Rows() {
		return io.EOF
	}
	row.grow(r.dim)
	copy(row.Vector, r.values[int(r.done)*r.dim:])
	r.done++
	return nil
}
