package floatjson

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrSyntax says that a text is no JSON, or holds invalid UTF-8 or half of a
// surrogate pair, or that a value is not of the type that was expected.
var ErrSyntax = errors.New("malformed JSON")

// MaxDepth is how deeply arrays and objects may be nested.
const MaxDepth = 512

// Kind is the type of a JSON value.
type Kind byte

// The kinds of values. None is the end of the text, or no value at all.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Scanner reads one JSON text. After an error its position is undefined.
type Scanner struct {
	data  []byte
	pos   int
	depth int
}

// NewScanner returns a scanner at the start of a text, which must not change while
// it, or a slice that it returned, is in use. Error: ErrSyntax when the text is not
// UTF-8.
func NewScanner(text []byte) (*Scanner, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: invalid UTF-8", ErrSyntax)
	}
	return &Scanner{data: text}, nil
}

// fail is an error at the present position.
func (s *Scanner) fail(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrSyntax, what, s.pos)
}

func (s *Scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// Peek tells what comes next, by its first byte.
func (s *Scanner) Peek() Kind {
	s.space()
	if s.pos == len(s.data) {
		return None
	}
	switch c := s.data[s.pos]; {
	case c == '"':
		return String
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	case c == '-' || '0' <= c && c <= '9':
		return Number
	}
	return None
}

// take consumes a byte after white space when it is c.
func (s *Scanner) take(c byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// End fails unless nothing but white space is left.
func (s *Scanner) End() error {
	if s.space(); s.pos < len(s.data) {
		return s.fail("text after the value")
	}
	return nil
}

func (s *Scanner) word(w string) bool {
	s.space()
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return false
	}
	s.pos += len(w)
	return true
}

// TakeNull consumes a null, and tells whether there was one.
func (s *Scanner) TakeNull() bool { return s.word("null") }

// Bool reads true or false.
func (s *Scanner) Bool() (bool, error) {
	switch {
	case s.word("true"):
		return true, nil
	case s.word("false"):
		return false, nil
	}
	return false, s.fail("no boolean")
}

// enter consumes the bracket that opens an array or object.
func (s *Scanner) enter(open byte) error {
	switch {
	case !s.take(open):
		return s.fail("no " + string(open))
	case s.depth == MaxDepth:
		return s.fail("nested too deeply")
	}
	s.depth++
	return nil
}

// Object reads an object. For each member it calls f, which reads the value; one
// that f does not touch is skipped. key is valid until f returns.
func (s *Scanner) Object(f func(key []byte) error) error {
	if err := s.enter('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		if first && s.take('}') {
			break
		}
		key, err := s.memberKey()
		if err != nil {
			return err
		}
		s.space()
		at := s.pos
		if err := f(key); err != nil {
			return err
		}
		if s.pos == at {
			if err := s.Skip(); err != nil {
				return err
			}
		}
		if s.take(',') {
			continue
		}
		if s.take('}') {
			break
		}
		return s.fail("no comma and no }")
	}
	s.depth--
	return nil
}

// memberKey reads the key of a member and its colon.
func (s *Scanner) memberKey() ([]byte, error) {
	raw, escaped, err := s.rawString()
	if err != nil {
		return nil, err
	}
	if !s.take(':') {
		return nil, s.fail("no colon")
	}
	if escaped {
		raw = appendUnescaped(nil, raw)
	}
	return raw, nil
}

// Array reads an array. For each element it calls f, which reads it; one that f
// does not touch is skipped.
func (s *Scanner) Array(f func(i int) error) error {
	if err := s.enter('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if i == 0 && s.take(']') {
			break
		}
		s.space()
		at := s.pos
		if err := f(i); err != nil {
			return err
		}
		if s.pos == at {
			if err := s.Skip(); err != nil {
				return err
			}
		}
		if s.take(',') {
			continue
		}
		if s.take(']') {
			break
		}
		return s.fail("no comma and no ]")
	}
	s.depth--
	return nil
}

// Skip reads a value of any kind and forgets it.
func (s *Scanner) Skip() error {
	switch s.Peek() {
	case Null:
		if !s.TakeNull() {
			return s.fail("no value")
		}
		return nil
	case Bool:
		_, err := s.Bool()
		return err
	case Number:
		_, err := s.Number()
		return err
	case String:
		_, _, err := s.rawString()
		return err
	case Array:
		return s.Array(func(int) error { return nil })
	case Object:
		return s.Object(func([]byte) error { return nil })
	}
	return s.fail("no value")
}

// Raw reads a value of any kind and returns its text, a part of the scanned one.
func (s *Scanner) Raw() ([]byte, error) {
	s.space()
	at := s.pos
	if err := s.Skip(); err != nil {
		return nil, err
	}
	return s.data[at:s.pos:s.pos], nil
}

// Number reads a number and returns its text, a part of the scanned one.
func (s *Scanner) Number() ([]byte, error) {
	s.space()
	at := s.pos
	if _, ok := s.number(); !ok {
		return nil, s.fail("no number")
	}
	return s.data[at:s.pos:s.pos], nil
}
