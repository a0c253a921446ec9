package sprat

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
)

// What callers branch on. Test with errors.Is.
var (
	// ErrInvalid marks bad input; errors.As gives the *InputError with the
	// field and its limit. Nothing was changed.
	ErrInvalid = errors.New("invalid input")
	// ErrNotFound says that no such bucket, index or key exists.
	ErrNotFound = errors.New("not found")
	// ErrExists says that the bucket or index exists already.
	ErrExists = errors.New("exists already")
	// ErrNotEmpty says that a bucket holds indexes. Nothing was changed.
	ErrNotEmpty = errors.New("not empty")
	// ErrInUse says that another process or another Store has the directory open.
	ErrInUse = errors.New("store is in use")
	// ErrFormat says that the store was written by a newer program.
	ErrFormat = errors.New("store format is newer than this program")
	// ErrCorrupt marks bytes on the volume that are not what was written;
	// errors.As gives the *CorruptionError with file and offset.
	ErrCorrupt = errors.New("corruption")
	// ErrMemoryLimit says that the memory limit is too small; errors.As gives
	// the *MemoryLimitError with the number needed. Nothing was changed.
	ErrMemoryLimit = errors.New("memory limit is too small")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrVolumeFull says that the volume has no room for a change; errors.As gives
	// the *VolumeFullError. Nothing was changed; reads go on, and writes do when
	// there is room again.
	ErrVolumeFull = errors.New("volume is full")
	// ErrNotStore says that the directory holds something other than a store.
	ErrNotStore = errors.New("not a sprat store")
)

// InputError says which field of the input is wrong and what is allowed.
type InputError struct {
	Field string // as the caller named it: "vector", "k", "dimension", ...
	Want  string // the limit
	Got   string
}

// Error names the field, its limit and what was given.
func (e *InputError) Error() string {
	return fmt.Sprintf("%v: %s: want %s, got %s", ErrInvalid, e.Field, e.Want, e.Got)
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *InputError) Unwrap() error { return ErrInvalid }

func invalid(field, want, format string, args ...any) error {
	return &InputError{Field: field, Want: want, Got: fmt.Sprintf(format, args...)}
}

// RowError says which row of a bulk load is wrong.
type RowError struct {
	Row int64 // from 0
	Key string
	Err error
}

// Error names the row and its key.
func (e *RowError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("row %d: %v", e.Row, e.Err)
	}
	return fmt.Sprintf("row %d (key %q): %v", e.Row, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// CorruptionError says where the volume does not hold what was written.
type CorruptionError struct {
	Path   string
	Offset int64 // bytes from the start of the file
	Err    error
}

// Error names the file and the offset.
func (e *CorruptionError) Error() string {
	return fmt.Sprintf("%v in %s at offset %d: %v", ErrCorrupt, e.Path, e.Offset, e.Err)
}

// Unwrap makes errors.Is true for ErrCorrupt and for the cause.
func (e *CorruptionError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// VolumeFullError says which volume is full.
type VolumeFullError struct {
	Path   string // a file or directory on it
	Free   int64  // bytes free when it was asked, 0 where a write failed
	Needed int64  // bytes that the change wants free, 0 where a write failed
	Err    error
}

// Error names the volume by a path on it.
func (e *VolumeFullError) Error() string {
	if e.Needed == 0 {
		return fmt.Sprintf("%v: %s: %v", ErrVolumeFull, e.Path, e.Err)
	}
	return fmt.Sprintf("%v: %s has %d MiB free, %d MiB are needed: %v", ErrVolumeFull, e.Path, e.Free>>20, (e.Needed+(1<<20)-1)>>20, e.Err)
}

// Unwrap makes errors.Is true for ErrVolumeFull and for the cause.
func (e *VolumeFullError) Unwrap() []error { return []error{ErrVolumeFull, e.Err} }

// MemoryLimitError says how much memory is needed.
type MemoryLimitError struct {
	What   string // what needs it
	Limit  int64  // bytes allowed
	Needed int64  // bytes that would do
}

// Error states both numbers in MiB.
func (e *MemoryLimitError) Error() string {
	return fmt.Sprintf("%v: %s needs %d MiB, the limit is %d MiB",
		ErrMemoryLimit, e.What, (e.Needed+(1<<20)-1)>>20, e.Limit>>20)
}

// Unwrap makes errors.Is(err, ErrMemoryLimit) true.
func (e *MemoryLimitError) Unwrap() error { return ErrMemoryLimit }

// publicError turns an error of the inner packages into one that callers of
// this package can test. It leaves errors alone that already are.
func publicError(err error) error {
	var (
		pe *posting.CorruptError
		re *rescore.CorruptError
		rd *iopath.ReadError
		ce *catalog.CorruptError
		we *iopath.WriteError
	)
	switch {
	case err == nil || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVolumeFull):
		return err
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		full := &VolumeFullError{Path: "the store's", Err: err}
		if errors.As(err, &we) {
			full.Path = we.Path
		}
		return full
	case errors.As(err, &pe):
		return &CorruptionError{Path: pe.Path, Offset: pe.Offset, Err: err}
	case errors.As(err, &re):
		return &CorruptionError{Path: re.Path, Offset: re.Offset, Err: err}
	case errors.As(err, &rd) && errors.Is(err, io.ErrUnexpectedEOF):
		return &CorruptionError{Path: rd.Path, Offset: rd.Off, Err: err}
	case errors.As(err, &ce):
		return &CorruptionError{Path: ce.Path, Err: err}
	case errors.Is(err, catalog.ErrCorrupt):
		return &CorruptionError{Path: catalogDir, Err: err}
	case errors.Is(err, diskfile.ErrVersion), errors.Is(err, centroids.ErrVersion), errors.Is(err, catalog.ErrVersion):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return err
}
