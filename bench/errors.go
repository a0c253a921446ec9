package bench

import (
	"errors"
	"io"
	"strconv"
	"strings"
)

// ErrFormat is what every [*FormatError] wraps: the file is not a well-formed file
// of the format it claims to be, or holds what this package does not read.
var ErrFormat = errors.New("malformed data file")

// ErrUnknownFormat is returned when neither the content nor the name of a file
// tells its format.
var ErrUnknownFormat = errors.New("unknown data format")

// ErrMetric is returned for a metric other than cosine, euclidean and dot.
var ErrMetric = errors.New("unknown metric")

// ErrZeroVector is returned when a vector without direction meets the cosine
// metric. The error that wraps it names the row.
var ErrZeroVector = errors.New("zero vector has no cosine")

// FormatError says where a file departs from its format, and how.
type FormatError struct {
	// Path is the file as it was given to [Open].
	Path string
	// Offset is the position in bytes from the start of the file, or -1 when the
	// fault has no single place.
	Offset int64
	// Line and Column are 1-based and count bytes; both are 0 in binary formats.
	Line, Column int
	// Want is what should have been there.
	Want string
	// Got is what was there instead.
	Got string
	// Err is the error below this one, or nil.
	Err error
}

// Error formats the place, the expectation and the finding on one line.
func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString("bench: ")
	b.WriteString(e.Path)
	switch {
	case e.Line > 0:
		b.WriteString(":" + strconv.Itoa(e.Line))
		if e.Column > 0 {
			b.WriteString(":" + strconv.Itoa(e.Column))
		}
	case e.Offset >= 0:
		b.WriteString(": offset " + strconv.FormatInt(e.Offset, 10))
	}
	b.WriteString(": want " + e.Want)
	if e.Got != "" {
		b.WriteString(", got " + e.Got)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap makes errors.Is find [ErrFormat] and the error below, unless that is
// io.EOF, which would pass for the sound end of the rows.
func (e *FormatError) Unwrap() []error {
	if e.Err == nil || errors.Is(e.Err, io.EOF) {
		return []error{ErrFormat}
	}
	return []error{ErrFormat, e.Err}
}
