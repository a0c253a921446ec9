package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLineBytes is the longest line of a file of keys or metadata.
const maxLineBytes = 1 << 20

// lineReader reads a text file line by line. Lines end with LF or CR LF; the
// last may end with the file.
type lineReader struct {
	path string
	file *os.File
	scan *bufio.Scanner
	n    int64 // lines read so far, so the 1-based number of the last one
}

func openLines(path string) (*lineReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	scan := bufio.NewScanner(f)
	scan.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	return &lineReader{path: path, file: f, scan: scan}, nil
}

// next returns the next line without its end, valid until the next call; io.EOF
// after the last.
func (r *lineReader) next() ([]byte, error) {
	if r.scan.Scan() {
		r.n++
		return r.scan.Bytes(), nil
	}
	switch err := r.scan.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		r.n++
		return nil, r.lineFault(fmt.Sprintf("at most %d bytes", maxLineBytes), "a longer line")
	default:
		return nil, fmt.Errorf("bench: %s: read line %d: %w", r.path, r.n+1, err)
	}
}

// count reads on to the end and returns the number of lines of the file.
func (r *lineReader) count() (int64, error) {
	for {
		if _, err := r.next(); errors.Is(err, io.EOF) {
			return r.n, nil
		} else if err != nil {
			return r.n, err
		}
	}
}

// fault is an error about the file as a whole, lineFault about the last line.
func (r *lineReader) fault(want, got string) error {
	return &FormatError{Path: r.path, Offset: -1, Want: want, Got: got}
}

func (r *lineReader) lineFault(want, got string) error {
	return &FormatError{Path: r.path, Offset: -1, Line: int(r.n), Want: want, Got: got}
}

// Close releases the file.
func (r *lineReader) Close() error { return r.file.Close() }
