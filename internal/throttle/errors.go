package throttle

import "errors"

// ErrNotAllowed is what every [*NotAllowedError] wraps.
var ErrNotAllowed = errors.New("limits are not allowed here")

// What limits are of.
const (
	OfVolume = "volume"
	OfMemory = "memory"
)

// NotAllowedError says why limits cannot be put on this process here: no
// privilege, no such controller, or a group that cannot be divided.
type NotAllowedError struct {
	What   string // OfVolume or OfMemory
	Reason string // one clause
	Err    error  // of the system, or nil
}

// Error is what could not be limited and why.
func (e *NotAllowedError) Error() string {
	text := "the " + e.What + " cannot be limited: " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap makes errors.Is find [ErrNotAllowed] and the system's error.
func (e *NotAllowedError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNotAllowed}
	}
	return []error{ErrNotAllowed, e.Err}
}
