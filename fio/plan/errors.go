package plan

import (
	"errors"
	"fmt"
)

var (
	// ErrRequest is matched by every *FieldError of a Request.
	ErrRequest = errors.New("plan cannot be made")
	// ErrPrices is matched by every error of a price list.
	ErrPrices = errors.New("bad price list")
)

// FieldError says that a field of a request or of a price list is out of its
// limits. It matches ErrRequest or ErrPrices.
type FieldError struct {
	Field string // as the request's flag or the list's JSON path has it
	Want  string // the limit
	Got   string
	in    error
}

// Error names the field, its limit and what it was.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%v: %s: want %s, got %s", e.in, e.Field, e.Want, e.Got)
}

// Unwrap returns ErrRequest or ErrPrices.
func (e *FieldError) Unwrap() error { return e.in }

func badRequest(field, want string, got any) error {
	return &FieldError{Field: field, Want: want, Got: fmt.Sprint(got), in: ErrRequest}
}

func badPrice(field, want string, got any) error {
	return &FieldError{Field: field, Want: want, Got: fmt.Sprint(got), in: ErrPrices}
}
