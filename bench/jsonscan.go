package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// jsonFault is a departure from the grammar at a byte of the line.
type jsonFault struct {
	pos       int
	want, got string
}

func (f *jsonFault) Error() string {
	return fmt.Sprintf("byte %d: want %s, got %s", f.pos, f.want, f.got)
}

// jsonScanner parses the line of one row. It is strict: what it accepts is JSON by
// RFC 8259, with each known field at most once.
type jsonScanner struct {
	maxDim int

	// Of the current row:
	line []byte
	pos  int
	dim  int // values the vector must have; 0 = any number up to maxDim
	row  *Row
	seen struct{ key, vector, metadata bool }
}

// parse reads line, a whole row, into row, whose memory is reused.
func (s *jsonScanner) parse(line []byte, dim int, row *Row) error {
	*s = jsonScanner{maxDim: s.maxDim, line: line, dim: dim, row: row}
	row.grow(0)
	var err error
	switch s.peek() {
	case '[':
		err = s.vector()
	case '{':
		err = s.object(s.rowField)
	default:
		err = s.fault(s.pos, "an object or an array of numbers")
	}
	if err != nil {
		return err
	}
	if s.peek(); s.pos < len(line) {
		return s.fault(s.pos, "the end of the line after the row")
	}
	if !s.seen.vector {
		return &jsonFault{pos: 0, want: `a field "vector", "values" or "data"`, got: "none in this object"}
	}
	return nil
}

// fault makes the error for what stands at pos.
func (s *jsonScanner) fault(pos int, want string) error {
	got := "the end of the line"
	if pos < len(s.line) {
		got = fmt.Sprintf("%q", s.line[pos:min(pos+16, len(s.line))])
	}
	return &jsonFault{pos: pos, want: want, got: got}
}

// peek skips white space and returns the next byte, or 0 at the end of the line.
func (s *jsonScanner) peek() byte {
	for ; s.pos < len(s.line); s.pos++ {
		switch c := s.line[s.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take consumes c after white space.
func (s *jsonScanner) take(c byte) error {
	if s.peek() != c || s.pos == len(s.line) {
		return s.fault(s.pos, strconv.QuoteRune(rune(c)))
	}
	s.pos++
	return nil
}

// object reads an object and calls field, with the position at the value, for each
// name.
func (s *jsonScanner) object(field func(name []byte, at int) error) error {
	if err := s.take('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		s.peek()
		at := s.pos
		name, err := s.text()
		if err != nil {
			return err
		}
		if err := s.take(':'); err != nil {
			return err
		}
		s.peek()
		if err := field(name, at); err != nil {
			return err
		}
		if s.peek() != ',' {
			return s.take('}')
		}
		s.pos++
	}
}

// rowField reads one field of a row.
func (s *jsonScanner) rowField(name []byte, at int) error {
	switch string(name) {
	case "key", "id":
		if s.seen.key {
			return s.fault(at, `one field "key" or "id"`)
		}
		s.seen.key = true
		return s.key()
	case "vector", "values":
		return s.vector()
	case "data":
		return s.object(func(name []byte, _ int) error {
			if string(name) == "float32" {
				return s.vector()
			}
			_, err := s.skip()
			return err
		})
	case "metadata":
		if s.seen.metadata {
			return s.fault(at, `one field "metadata"`)
		}
		s.seen.metadata = true
		return s.metadata()
	}
	_, err := s.skip()
	return err
}

// key reads a text, or a whole number whose digits become the key.
func (s *jsonScanner) key() error {
	at := s.pos
	if s.peek() == '"' {
		b, err := s.text()
		s.row.Key, s.row.HasKey = string(b), true
		return err
	}
	raw, err := s.skip()
	if err != nil {
		return err
	}
	if _, err := strconv.ParseInt(string(raw), 10, 64); err != nil {
		return s.fault(at, "a text or a whole number as key")
	}
	s.row.Key, s.row.HasKey = string(raw), true
	return nil
}

// metadata keeps the text of an object; null counts as none.
func (s *jsonScanner) metadata() error {
	at := s.pos
	raw, err := s.skip()
	if err != nil {
		return err
	}
	if string(raw) == "null" {
		return nil
	}
	if raw[0] != '{' || !utf8.Valid(raw) {
		return s.fault(at, "an object in UTF-8 as metadata")
	}
	s.row.setMetadata(raw)
	return nil
}

// isJSONObject tells whether text is one JSON object in valid UTF-8.
func isJSONObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{' && utf8.Valid(text) && json.Valid(text)
}

// vector reads an array of numbers.
func (s *jsonScanner) vector() error {
	start := s.pos
	if s.seen.vector {
		return s.fault(start, "one vector in a row")
	}
	s.seen.vector = true
	if err := s.take('['); err != nil {
		return err
	}
	limit := s.maxDim
	if s.dim > 0 {
		limit = s.dim
	}
	v := s.row.Vector[:0]
	for s.peek() != ']' || len(v) > 0 {
		f, err := s.number()
		if err != nil {
			return err
		}
		if len(v) == limit {
			return s.dimFault(start, fmt.Sprintf("more than %d", limit))
		}
		v = append(v, f)
		if s.peek() != ',' {
			break
		}
		s.pos++
	}
	if err := s.take(']'); err != nil {
		return err
	}
	if len(v) == 0 || len(v) < s.dim {
		return s.dimFault(start, strconv.Itoa(len(v)))
	}
	s.row.Vector = v
	return nil
}

// dimFault is the error for a vector, starting at pos, of the wrong length.
func (s *jsonScanner) dimFault(pos int, got string) error {
	want := fmt.Sprintf("1 to %d values", s.maxDim)
	if s.dim > 0 {
		want = fmt.Sprintf("%d values as in the first row", s.dim)
	}
	return &jsonFault{pos: pos, want: want, got: got}
}

// text reads a string. The result is valid until the line is.
func (s *jsonScanner) text() ([]byte, error) {
	start := s.pos
	raw, err := s.skip()
	if err != nil {
		return nil, err
	}
	if raw[0] != '"' || !utf8.Valid(raw) {
		return nil, s.fault(start, "a string in UTF-8")
	}
	for _, c := range raw {
		if c == '\\' {
			var out string
			if err := json.Unmarshal(raw, &out); err != nil {
				return nil, s.fault(start, "a string")
			}
			return []byte(out), nil
		}
	}
	return raw[1 : len(raw)-1], nil
}

// skip consumes any one value and returns its text, which is valid JSON.
func (s *jsonScanner) skip() ([]byte, error) {
	start := s.pos
	depth := 0
scan:
	for s.pos < len(s.line) {
		switch c := s.line[s.pos]; c {
		case '"':
			s.skipString()
			if depth == 0 {
				break scan
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth == 0 {
					s.pos++
				}
				break scan
			}
		case ',', ':', ' ', '\t', '\r':
			if depth == 0 {
				break scan
			}
		}
		s.pos++
	}
	raw := s.line[start:s.pos]
	if json.Valid(raw) {
		return raw, nil
	}
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(raw, new(json.RawMessage)), &syntax) && syntax.Offset > 0 {
		start += int(syntax.Offset) - 1
	}
	return nil, s.fault(start, "a JSON value")
}

// skipString moves behind the closing quote of the string that starts here, or to
// the end of the line when there is none.
func (s *jsonScanner) skipString() {
	for s.pos++; s.pos < len(s.line); s.pos++ {
		switch s.line[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return
		}
	}
	s.pos = len(s.line)
}
