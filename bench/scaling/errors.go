package scaling

import (
	"errors"
	"fmt"
	"strings"
)

// ErrConfig marks a [Config] that cannot be run.
var ErrConfig = errors.New("bad configuration of the experiment")

// ErrOther marks results of another experiment in the folder for the results.
var ErrOther = errors.New("results of another experiment are there")

// ErrRecord marks a file of finished runs that is not one.
var ErrRecord = errors.New("no file of finished runs")

func badConfig(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
}

// OtherError says in what the experiment whose results are there differs from the
// one that was asked for.
type OtherError struct {
	Path    string   // the file of finished runs
	Differs []string // "window_seconds is 5, was 10"
}

// Error names the differences and what to do.
func (e *OtherError) Error() string {
	return fmt.Sprintf("%v: %s (%s); begin anew with --fresh, which discards them, or give another folder", ErrOther, e.Path,
		strings.Join(e.Differs, ", "))
}

// Unwrap makes errors.Is find [ErrOther].
func (e *OtherError) Unwrap() error { return ErrOther }

// RecordError says where a file of finished runs departs from its format.
type RecordError struct {
	Line   int // 1-based
	Reason string
	Err    error // below, or nil
}

// Error is the place and the reason.
func (e *RecordError) Error() string {
	text := fmt.Sprintf("%v: line %d: %s", ErrRecord, e.Line, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap makes errors.Is find [ErrRecord] and the error below.
func (e *RecordError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrRecord}
	}
	return []error{ErrRecord, e.Err}
}
