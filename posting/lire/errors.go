package lire

import "errors"

// ErrShape says that the lengths of the arguments do not fit together, or that
// limits are below 1.
var ErrShape = errors.New("lengths or limits do not fit")
