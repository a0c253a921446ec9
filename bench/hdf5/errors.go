package hdf5

import (
	"errors"
	"fmt"
	"io"
)

// ErrFormat is what every [*Error] wraps.
var ErrFormat = errors.New("not a readable HDF5 file")

// Error says where a file departs from what this package reads.
type Error struct {
	// Offset is the position in bytes from the start of the file.
	Offset int64
	// Want is what should have been there, Got what was.
	Want, Got string
	// Err is the error below this one, or nil.
	Err error
}

// Error formats all fields on one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("hdf5: offset %d: want %s, got %s", e.Offset, e.Want, e.Got)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap makes errors.Is find [ErrFormat] and the error below, unless that is
// io.EOF, which would pass for the sound end of the rows.
func (e *Error) Unwrap() []error {
	if e.Err == nil || errors.Is(e.Err, io.EOF) {
		return []error{ErrFormat}
	}
	return []error{ErrFormat, e.Err}
}

// fault makes an Error. got is formatted by fmt.Sprint.
func fault(off int64, want string, got ...any) error {
	return &Error{Offset: off, Want: want, Got: fmt.Sprint(got...)}
}
