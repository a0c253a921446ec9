package rq

import "errors"

var (
	// ErrDimension is returned by the constructors for a dimension that they
	// cannot handle.
	ErrDimension = errors.New("rq: dimension out of range")

	// ErrBits is returned by the constructors for a code width that does not exist.
	ErrBits = errors.New("rq: bits out of range")
)
