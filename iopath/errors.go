package iopath

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

var (
	// ErrClosed is returned for work given to an engine, file or writer that
	// has been closed, and completes the reads that were still queued then.
	ErrClosed = errors.New("iopath: closed")

	// ErrDrained is returned by Batch.Next when every submitted read has
	// already been returned.
	ErrDrained = errors.New("iopath: no read is pending")

	// ErrInvalidRead completes a read with a negative offset, a length outside
	// 1..MaxReadBytes, or a file of another engine.
	ErrInvalidRead = errors.New("iopath: invalid read")

	// ErrInvalidWrite is the cause when an Updater is given a negative offset,
	// length or size, or one beyond what a file can have.
	ErrInvalidWrite = errors.New("iopath: invalid write")

	// ErrNoSpace marks a WriteError whose cause is a full volume or quota.
	// errors.Is(err, syscall.ENOSPC) holds as well when that was the cause.
	ErrNoSpace = errors.New("iopath: no space left on volume")

	// ErrUnavailable marks a ModeError: the engine or direct mode asked for by
	// name cannot be had here.
	ErrUnavailable = errors.New("iopath: mode unavailable")

	// ErrConfig marks a Config with a value out of range.
	ErrConfig = errors.New("iopath: invalid config")

	// ErrBusy is returned by Engine.Close when the device still holds reads
	// after the grace period. Their buffers stay mapped, since the kernel may
	// yet write to them.
	ErrBusy = errors.New("iopath: reads still with the device")
)

// ReadError is the error of one read. Err is the cause: io.ErrUnexpectedEOF
// when the range ends past the end of the file, a syscall.Errno from the
// device, ErrClosed, ErrInvalidRead, or the error of the context given to
// Submit when the read was still queued as that ended.
type ReadError struct {
	Path string // file as given to OpenFile
	Off  int64  // offset asked for, in bytes
	Len  int    // length asked for, in bytes
	Err  error  // cause, never nil
}

// Error names the file, the range and the cause.
func (e *ReadError) Error() string {
	return fmt.Sprintf("iopath: read %s at %d length %d: %v", e.Path, e.Off, e.Len, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// WriteError is the error of a change to a file or of names. errors.Is(err,
// ErrNoSpace) recognises a full volume.
type WriteError struct {
	Path string // file or directory as the caller named it
	Off  int64  // offset of the failed operation, in bytes
	Err  error  // cause, never nil
}

// Error names the file, the offset and the cause.
func (e *WriteError) Error() string {
	return fmt.Sprintf("iopath: write %s at %d: %v", e.Path, e.Off, e.Err)
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// Is reports ErrNoSpace for a full volume and for an exhausted quota.
func (e *WriteError) Is(target error) bool {
	return target == ErrNoSpace &&
		(errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT))
}

// ModeError says that the engine or direct mode asked for cannot be had, with
// every rung that was tried and what the system said. errors.Is(err,
// ErrUnavailable) holds, and so does errors.Is for each cause.
type ModeError struct {
	Engine string // engine asked for
	Direct string // direct mode asked for
	Steps  []Step // rungs tried, in order, none of which worked
}

// Step is one rung of the ladder that did not work.
type Step struct {
	Engine string // "io_uring", "pread" or "mmap"
	Direct bool   // with O_DIRECT
	Err    error  // what the system said, never nil
	Hint   string // likely cause in words and what to do about it; may be ""
}

// String is "io_uring+direct: operation not permitted (hint)".
func (s Step) String() string {
	out := rungName(s.Engine, s.Direct) + ": " + s.Err.Error()
	if s.Hint != "" {
		out += " (" + s.Hint + ")"
	}
	return out
}

// Error lists what was asked for and each failed rung with its likely cause.
func (e *ModeError) Error() string {
	return fmt.Sprintf("iopath: engine %q with direct %q cannot be had: %s",
		e.Engine, e.Direct, joinSteps(e.Steps))
}

// Unwrap returns ErrUnavailable and the cause of each step.
func (e *ModeError) Unwrap() []error {
	errs := []error{ErrUnavailable}
	for _, s := range e.Steps {
		errs = append(errs, s.Err)
	}
	return errs
}

// joinSteps renders steps on one line. A cause shared by neighbouring rungs is
// written once: "io_uring+direct, io_uring+buffered: operation not permitted".
func joinSteps(steps []Step) string {
	var out []string
	for i := 0; i < len(steps); {
		names := []string{rungName(steps[i].Engine, steps[i].Direct)}
		j := i + 1
		for ; j < len(steps) && steps[j].Err.Error() == steps[i].Err.Error(); j++ {
			names = append(names, rungName(steps[j].Engine, steps[j].Direct))
		}
		s := strings.Join(names, ", ") + ": " + steps[i].Err.Error()
		if h := steps[i].Hint; h != "" {
			s += " (" + h + ")"
		}
		out = append(out, s)
		i = j
	}
	return strings.Join(out, "; ")
}

// rungName is how a rung is called in logs, errors and Info.Cause.
func rungName(engine string, direct bool) string {
	if direct {
		return engine + "+direct"
	}
	return engine + "+buffered"
}

// errShort is the cause of a read past the end of its file.
var errShort = io.ErrUnexpectedEOF
