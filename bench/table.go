package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Neighbors holds the ids of the nearest rows of many queries.
type Neighbors struct {
	// Rows is the number of queries, K the number of ids for each.
	Rows, K int
	// IDs is row major, [Rows][K], nearest first. -1 pads rows with fewer than K.
	IDs []int32
}

// Row returns the K ids of query i. The slice shares memory with n.
func (n *Neighbors) Row(i int) []int32 { return n.IDs[i*n.K : (i+1)*n.K : (i+1)*n.K] }

// Matrix holds float32 values, e.g. the distances that belong to [Neighbors].
type Matrix struct {
	// Rows and Cols are its shape.
	Rows, Cols int
	// Values is row major, [Rows][Cols].
	Values []float32
}

// Row returns the Cols values of row i. The slice shares memory with m.
func (m *Matrix) Row(i int) []float32 { return m.Values[i*m.Cols : (i+1)*m.Cols : (i+1)*m.Cols] }

// ReadInts reads a file of neighbours into memory: .ibin, .ivecs, .npy of integers,
// or the data set "neighbors" of an HDF5 file. A value outside int32 is a
// [*FormatError], and so is a malformed file.
func ReadInts(path string) (*Neighbors, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	n, err := readInts(src)
	return n, errors.Join(err, src.Close())
}

// ReadFloats reads a file of float32 values into memory: .fbin, .fvecs, .npy, the
// data set "distances" of an HDF5 file, or any other binary format that [Open]
// knows. Infinities, which pad rows of distances, are kept; NaN is refused.
func ReadFloats(path string) (*Matrix, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	m, err := readFloats(src)
	return m, errors.Join(err, src.Close())
}

// ReadVectors reads all vectors of a data set into memory, as queries are held.
func ReadVectors(path string, o Options) (vectors [][]float32, err error) {
	r, err := OpenOptions(path, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		var row Row
		if err := r.Next(&row); errors.Is(err, io.EOF) {
			return vectors, nil
		} else if err != nil {
			return nil, err
		}
		vectors = append(vectors, row.Vector)
	}
}

// openTable opens src as rows of any width.
func openTable(src *source, dataset string) (raw rawRows, rows, cols int, err error) {
	f, elem, err := detect(src)
	if err != nil {
		return nil, 0, 0, err
	}
	raw, err = openRaw(src, f, elem, Options{Dataset: dataset, MaxDim: math.MaxInt32}.withDefaults())
	if err != nil {
		return nil, 0, 0, err
	}
	n, cols := raw.shape()
	if n > math.MaxInt32 {
		return nil, 0, 0, src.fault(0, "fewer than 2^31 rows", fmt.Sprint(n))
	}
	return raw, int(n), cols, nil
}

// readInts is [ReadInts] of an open file, which stays the caller's.
func readInts(src *source) (*Neighbors, error) {
	raw, rows, k, err := openTable(src, "neighbors")
	if err != nil {
		return nil, err
	}
	e := raw.element()
	if !e.isInt() {
		return nil, src.fault(0, "integers", e.String())
	}
	n := &Neighbors{Rows: rows, K: k, IDs: make([]int32, rows*k)}
	for i := range rows {
		b, off, err := raw.next()
		if err != nil {
			return nil, err
		}
		if bad := e.ints(n.Row(i), b); bad >= 0 {
			return nil, src.fault(off, "values in the range of int32", fmt.Sprintf("another in row %d, column %d", i, bad))
		}
	}
	return n, nil
}

// readFloats is [ReadFloats] of an open file, which stays the caller's.
func readFloats(src *source) (*Matrix, error) {
	raw, rows, cols, err := openTable(src, "distances")
	if err != nil {
		return nil, err
	}
	e := raw.element()
	m := &Matrix{Rows: rows, Cols: cols, Values: make([]float32, rows*cols)}
	for i := range rows {
		b, off, err := raw.next()
		if err != nil {
			return nil, err
		}
		if e.floats(m.Row(i), b) < 0 {
			continue
		}
		for j, v := range m.Row(i) {
			if v != v {
				return nil, src.fault(off, "numbers", fmt.Sprintf("NaN in row %d, column %d", i, j))
			}
		}
	}
	return m, nil
}
