package archive

import (
	"errors"
	"fmt"
	"time"
)

// What callers branch on. Test with errors.Is.
var (
	// ErrDamaged marks objects that are missing or not what was written;
	// errors.As gives the *DamageError.
	ErrDamaged = errors.New("snapshot is damaged")
	// ErrBusy says that another writer holds the lease; errors.As gives the
	// *BusyError.
	ErrBusy = errors.New("another snapshot is being written or pruned")
	// ErrFormat says that a manifest or lease was written by a newer program.
	ErrFormat = errors.New("snapshot format is newer than this program")
	// ErrNoSnapshot says that there is no snapshot of that id, or none at all.
	ErrNoSnapshot = errors.New("no such snapshot")
	// ErrOccupied says that the target of a restore exists and is not an empty
	// directory. Nothing was changed.
	ErrOccupied = errors.New("target is not an empty directory")
	// ErrInvalid marks a bad argument. Nothing was changed.
	ErrInvalid = errors.New("invalid argument")
)

// DamageError says which object is not what was written.
type DamageError struct {
	Object string // its name in the store
	Reason string
}

// Error names the object and what is wrong with it.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%v: %s %s", ErrDamaged, e.Object, e.Reason)
}

// Unwrap makes errors.Is(err, ErrDamaged) true.
func (e *DamageError) Unwrap() error { return ErrDamaged }

func damaged(object, format string, args ...any) error {
	return &DamageError{Object: object, Reason: fmt.Sprintf(format, args...)}
}

// BusyError says who holds the lease of a store.
type BusyError struct {
	Owner   string    // host and process id of the writer; "" when it could not be seen
	Renewed time.Time // when the writer last said that it is at work
	Stale   time.Time // when the lease lapses unless it is renewed
}

// Error names the writer and when its lease lapses.
func (e *BusyError) Error() string {
	if e.Owner == "" {
		return ErrBusy.Error()
	}
	return fmt.Sprintf("%v by %s, last seen %s; if it is gone, the lease lapses %s", ErrBusy, e.Owner,
		e.Renewed.UTC().Format(time.RFC3339), e.Stale.UTC().Format(time.RFC3339))
}

// Unwrap makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Unwrap() error { return ErrBusy }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
