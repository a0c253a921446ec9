package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// utf8BOM is the byte order mark some editors put at the start of a text.
const utf8BOM = "\xef\xbb\xbf"

// jsonlReader reads one JSON value a line.
type jsonlReader struct {
	src     *source
	maxLine int
	dim     int
	line    int   // 1-based number of the line last read
	start   int64 // offset of that line
	spill   []byte
	first   *Row // row 0, read at Open to know the dimension
	scan    jsonScanner
}

// openJSONL reads the first row, which sets the dimension of all others.
func openJSONL(src *source, o Options) (*jsonlReader, error) {
	if bom, _ := src.buf.Peek(len(utf8BOM)); string(bom) == utf8BOM {
		if err := src.skipTo(int64(len(utf8BOM))); err != nil {
			return nil, err
		}
	}
	r := &jsonlReader{src: src, maxLine: o.MaxLine}
	r.scan.maxDim = o.MaxDim
	first := new(Row)
	err := r.read(first)
	if errors.Is(err, io.EOF) {
		return nil, src.fault(0, "at least one row of JSON", "only white space")
	}
	if err != nil {
		return nil, err
	}
	r.first, r.dim = first, len(first.Vector)
	return r, nil
}

func (r *jsonlReader) Dim() int     { return r.dim }
func (r *jsonlReader) Rows() int64  { return -1 }
func (r *jsonlReader) Close() error { return r.src.Close() }

func (r *jsonlReader) Next(row *Row) error {
	if r.first != nil {
		*row, r.first = *r.first, nil
		return nil
	}
	return r.read(row)
}

// read parses the next line that is not blank.
func (r *jsonlReader) read(row *Row) error {
	for {
		line, err := r.nextLine()
		if err != nil {
			return err
		}
		if len(bytes.TrimLeft(line, " \t\r")) == 0 {
			continue
		}
		if err := r.scan.parse(line, r.dim, row); err != nil {
			return r.lineError(err)
		}
		return nil
	}
}

// lineError adds the place to the scanner's fault.
func (r *jsonlReader) lineError(err error) error {
	var f *jsonFault
	if !errors.As(err, &f) {
		return err
	}
	return &FormatError{Path: r.src.path, Offset: r.start + int64(f.pos), Line: r.line, Column: f.pos + 1,
		Want: f.want, Got: f.got}
}

// nextLine returns the next line without its newline. The bytes are valid until the
// next call.
func (r *jsonlReader) nextLine() ([]byte, error) {
	r.start = r.src.off
	r.line++
	r.spill = r.spill[:0]
	for {
		part, err := r.src.buf.ReadSlice('\n')
		r.src.off += int64(len(part))
		if len(r.spill)+len(part) > r.maxLine {
			return nil, &FormatError{Path: r.src.path, Offset: r.start, Line: r.line,
				Want: fmt.Sprintf("a line of at most %d bytes", r.maxLine), Got: "a longer one"}
		}
		switch {
		case err == nil:
			part = part[:len(part)-1]
		case errors.Is(err, bufio.ErrBufferFull):
			r.spill = append(r.spill, part...)
			continue
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("bench: %s: read line %d: %w", r.src.path, r.line, err)
		case len(part) == 0 && len(r.spill) == 0:
			return nil, io.EOF
		}
		if len(r.spill) > 0 {
			r.spill = append(r.spill, part...)
			part = r.spill
		}
		return part, nil
	}
}
