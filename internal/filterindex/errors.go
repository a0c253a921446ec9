package filterindex

import "errors"

// ErrCorrupt marks a row that is not what was written.
var ErrCorrupt = errors.New("filter row is corrupt")
