package rescore

import (
	"errors"
	"fmt"
)

// ErrCorrupt marks every error that says a record's bytes are not what was
// written. Test for it with errors.Is.
var ErrCorrupt = errors.New("record is corrupt")

// CorruptError says what is wrong with the record of a slot.
type CorruptError struct {
	Path   string // empty when the bytes came from memory
	Offset int64  // bytes from the start of the file
	Slot   uint32
	Reason string
}

// Error names the file, the offset, the slot and the reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s at offset %d (slot %d): %v: %s", e.Path, e.Offset, e.Slot, ErrCorrupt, e.Reason)
}

// Unwrap makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Unwrap() error { return ErrCorrupt }
