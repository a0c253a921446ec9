package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// bufferBytes is the read-ahead of a streamed file.
const bufferBytes = 1 << 20

// source is one open file: random access for the formats that need it and a
// buffered forward reader which knows its position.
type source struct {
	path  string
	at    io.ReaderAt
	size  int64
	close func() error
	buf   *bufio.Reader
	off   int64 // position of the next byte buf hands out
}

// openSource opens a regular file.
func openSource(path string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %w", err), f.Close())
	}
	return newSource(path, f, st.Size(), f.Close), nil
}

// newSource wraps size bytes of at. The buffer is never larger than the file.
func newSource(path string, at io.ReaderAt, size int64, closeFn func() error) *source {
	s := &source{path: path, at: at, size: size, close: closeFn}
	s.buf = bufio.NewReaderSize(io.NewSectionReader(at, 0, size), int(min(bufferBytes, max(size, 16))))
	return s
}

// Close releases the file.
func (s *source) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// readFull fills b from the stream. A file that ends first is a format error.
func (s *source) readFull(b []byte, what string) error {
	n, err := io.ReadFull(s.buf, b)
	at := s.off
	s.off += int64(n)
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.fault(at, fmt.Sprintf("%d bytes of %s", len(b), what), fmt.Sprintf("end of file after %d", n))
	}
	return fmt.Errorf("bench: %s: read at offset %d: %w", s.path, at, err)
}

// notEOF makes the end of a file, where the size of the file says otherwise, an
// error that does not pass for the sound end of the rows.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// skipTo moves the stream forward to the absolute position off.
func (s *source) skipTo(off int64) error {
	n, err := io.CopyN(io.Discard, s.buf, off-s.off)
	s.off += n
	if err != nil {
		return fmt.Errorf("bench: %s: skip to offset %d: %w", s.path, off, notEOF(err))
	}
	return nil
}

// fault makes the error for a departure from the format at off.
func (s *source) fault(off int64, want, got string) error {
	return &FormatError{Path: s.path, Offset: off, Want: want, Got: got}
}

// checkDim refuses dimensions outside 1..maxDim; off is where the number stood.
func (s *source) checkDim(off int64, dim int64, maxDim int) error {
	if dim < 1 || dim > int64(maxDim) {
		return s.fault(off, fmt.Sprintf("a dimension of 1 to %d", maxDim), fmt.Sprint(dim))
	}
	return nil
}

// checkBody compares rows x dim elements of elemSize bytes, starting at off, with
// what the file holds: not one byte less and not one more. dim must have passed
// checkDim, so that only rows can make the product overflow.
func (s *source) checkBody(off, rows, dim, elemSize int64) error {
	have, stride := s.size-off, dim*elemSize
	if rows < 0 || rows > have/stride {
		return s.fault(off, fmt.Sprintf("%d rows of %d bytes as the header says", rows, stride),
			fmt.Sprintf("%d bytes, room for %d rows", max(have, 0), max(have, 0)/stride))
	}
	if extra := have - rows*stride; extra != 0 {
		return s.fault(off+rows*stride, "the end of the file after the last row", fmt.Sprintf("%d more bytes", extra))
	}
	return nil
}
