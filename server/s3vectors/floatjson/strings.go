package floatjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// rawString reads a string and returns what stands between the quotes. Its escapes
// are checked.
func (s *Scanner) rawString() (raw []byte, escaped bool, err error) {
	if !s.take('"') {
		return nil, false, s.fail("no string")
	}
	at := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[at : s.pos-1 : s.pos-1], escaped, nil
		case c < ' ':
			return nil, false, s.fail("control character in a string")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		default:
			s.pos++
		}
	}
	return nil, false, s.fail("no end of a string")
}

// escape steps over one escape, over both of a surrogate pair.
func (s *Scanner) escape() error {
	if s.pos+1 == len(s.data) {
		return s.fail("no end of a string")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
	default:
		return s.fail("unknown escape")
	}
	r, ok := hex4(s.data[s.pos+2:])
	if !ok {
		return s.fail("bad \\u escape")
	}
	if !utf16.IsSurrogate(r) {
		s.pos += 6
		return nil
	}
	if rest := s.data[s.pos+6:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if low, ok := hex4(rest[2:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			s.pos += 12
			return nil
		}
	}
	return s.fail("half of a surrogate pair")
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (v rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
}

// plainEscapes are what the escapes of one letter stand for.
var plainEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnescaped appends what a string that rawString has checked stands for.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' {
			dst = append(dst, plainEscapes[raw[i+1]])
			i += 2
			continue
		}
		r, _ := hex4(raw[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			low, _ := hex4(raw[i+2:])
			r = utf16.DecodeRune(r, low)
			i += 6
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// String reads a string. The result is a copy.
func (s *Scanner) String() (string, error) {
	raw, escaped, err := s.rawString()
	if err != nil || !escaped {
		return string(raw), err
	}
	return string(appendUnescaped(make([]byte, 0, len(raw)), raw)), nil
}

// AppendCompact reads a value of any kind and appends it to dst in the fewest bytes:
// without white space, with no character escaped that need not be. Numbers keep
// their text, members their order.
func (s *Scanner) AppendCompact(dst []byte) ([]byte, error) {
	switch s.Peek() {
	case String:
		return s.compactString(dst)
	case Array:
		dst = append(dst, '[')
		err := s.Array(func(i int) (err error) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, err = s.AppendCompact(dst)
			return err
		})
		return append(dst, ']'), err
	case Object:
		dst = append(dst, '{')
		first := true
		err := s.Object(func(key []byte) (err error) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(AppendString(dst, string(key)), ':')
			dst, err = s.AppendCompact(dst)
			return err
		})
		return append(dst, '}'), err
	}
	raw, err := s.Raw()
	return append(dst, raw...), err
}

func (s *Scanner) compactString(dst []byte) ([]byte, error) {
	raw, escaped, err := s.rawString()
	if err != nil {
		return dst, err
	}
	if escaped {
		return AppendString(dst, string(appendUnescaped(nil, raw))), nil
	}
	return append(append(append(dst, '"'), raw...), '"'), nil
}

const hexDigits = "0123456789abcdef"

// AppendString appends a string as JSON. Text that is not UTF-8 has U+FFFD in its
// place.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	plain := 0 // start of what is copied as it is
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = appendEscaped(append(dst, text[plain:i]...), c)
		i += size
		plain = i
	}
	return append(append(dst, text[plain:]...), '"')
}

// appendEscaped appends a byte that cannot stand in a string as it is.
func appendEscaped(dst []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\b':
		return append(dst, '\\', 'b')
	case c == '\f':
		return append(dst, '\\', 'f')
	case c == '\n':
		return append(dst, '\\', 'n')
	case c == '\r':
		return append(dst, '\\', 'r')
	case c == '\t':
		return append(dst, '\\', 't')
	case c >= utf8.RuneSelf:
		return append(dst, "\uFFFD"...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
