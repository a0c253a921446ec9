package bench

import (
	"errors"
	"fmt"
	"io"

	"github.com/spratdb/sprat/bench/hdf5"
)

// hdf5Elements maps the kinds of values to those of this package.
var hdf5Elements = map[hdf5.Kind]element{
	hdf5.Float16: elemF16, hdf5.Float32: elemF32, hdf5.Float64: elemF64,
	hdf5.Int8: elemI8, hdf5.Int16: elemI16, hdf5.Int32: elemI32, hdf5.Int64: elemI64, hdf5.Uint8: elemU8,
}

// hdf5Rows streams one data set of an HDF5 file.
type hdf5Rows struct {
	src  *source
	set  *hdf5.Dataset
	scan *hdf5.Rows
}

// openHDF5 finds the data set that o names.
func openHDF5(src *source, o Options) (*hdf5Rows, error) {
	f, err := hdf5.Open(src.at, src.size)
	if err != nil {
		return nil, hdf5Error(src, err)
	}
	set, err := f.Dataset(o.Dataset)
	if err != nil {
		return nil, hdf5Error(src, err)
	}
	if err := src.checkDim(0, set.Cols, o.MaxDim); err != nil {
		return nil, err
	}
	return &hdf5Rows{src: src, set: set, scan: set.Scan()}, nil
}

func (r *hdf5Rows) shape() (int64, int) { return r.set.Rows, int(r.set.Cols) }
func (r *hdf5Rows) element() element    { return hdf5Elements[r.set.Kind] }
func (r *hdf5Rows) Close() error        { return r.src.Close() }

func (r *hdf5Rows) next() ([]byte, int64, error) {
	row, err := r.scan.Next()
	return row, r.scan.Offset(), hdf5Error(r.src, err)
}

// hdf5Error gives a format error this package's type, and other errors the path.
func hdf5Error(src *source, err error) error {
	var e *hdf5.Error
	if errors.As(err, &e) {
		return &FormatError{Path: src.path, Offset: e.Offset, Want: e.Want, Got: e.Got, Err: e.Err}
	}
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("bench: %s: %w", src.path, err)
}
