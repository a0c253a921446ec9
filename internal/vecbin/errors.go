package vecbin

import "errors"

// ErrFormat marks content that is not a matrix in this package's format: a
// damaged gzip stream, a header out of range, or too few or too many elements.
var ErrFormat = errors.New("vecbin: not a matrix")
