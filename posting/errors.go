package posting

import (
	"errors"
	"fmt"
)

// ErrCorrupt marks every error that says a posting's bytes are not what was
// written. Test for it with errors.Is.
var ErrCorrupt = errors.New("posting is corrupt")

// ErrFull says that a posting file cannot grow any further.
var ErrFull = errors.New("posting file is full")

// CorruptError says what is wrong with the posting at Offset of Path.
type CorruptError struct {
	Path   string // empty when the bytes came from memory
	Offset int64  // bytes from the start of the file
	Reason string
}

// Error names the file, the offset and the reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s at offset %d: %v: %s", e.Path, e.Offset, ErrCorrupt, e.Reason)
}

// Unwrap makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Unwrap() error { return ErrCorrupt }
