package filter

import (
	"unicode/utf16"
	"unicode/utf8"
)

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

// unescape decodes the escape at the start of b, of a string that the lexer has
// read: into a rune, and how many bytes it takes. Half a surrogate pair is
// utf8.RuneError.
func unescape(b []byte) (r rune, size int) {
	switch c := b[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(c), 2
	}
	r, _ = hex4(b[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		low, _ := hex4(b[8:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// compare orders the string that is written as s and the string t, byte by byte
// like strings.Compare, without decoding s as a whole.
func (s rawString) compare(t string) int {
	if !s.escaped {
		switch {
		case string(s.text) < t:
			return -1
		case string(s.text) > t:
			return 1
		}
		return 0
	}
	order, left := s.walk(t)
	if order == 0 && left > 0 {
		return -1 // s is all of t but its end
	}
	return order
}

func (s rawString) equal(t string) bool {
	if !s.escaped {
		return string(s.text) == t
	}
	return s.compare(t) == 0
}

func (s rawString) hasPrefix(t string) bool {
	if !s.escaped {
		return len(s.text) >= len(t) && string(s.text[:len(t)]) == t
	}
	if t == "" {
		return true
	}
	order, left := s.walk(t)
	return left == 0 && order >= 0
}

// walk compares s with t as far as both go. It returns how they differ first (1
// where s is longer) and how much of t was not reached, or not equal.
func (s rawString) walk(t string) (order, left int) {
	var buf [utf8.UTFMax]byte
	at := 0
	for i := 0; i < len(s.text); {
		n, size := 1, 1
		if buf[0] = s.text[i]; buf[0] == '\\' {
			var r rune
			r, size = unescape(s.text[i:])
			n = utf8.EncodeRune(buf[:], r)
		}
		for _, c := range buf[:n] {
			switch {
			case at == len(t):
				return 1, 0
			case c < t[at]:
				return -1, len(t) - at
			case c > t[at]:
				return 1, len(t) - at
			}
			at++
		}
		i += size
	}
	return 0, len(t) - at
}

// decode returns the string as compare sees it, and whether it is well-formed: valid
// UTF-8 in which no surrogate stands alone (those come out as utf8.RuneError).
func (s rawString) decode() (text string, wellFormed bool) {
	wellFormed = utf8.Valid(s.text)
	if !s.escaped {
		return string(s.text), wellFormed
	}
	out := make([]byte, 0, len(s.text))
	for i := 0; i < len(s.text); {
		if s.text[i] != '\\' {
			out = append(out, s.text[i])
			i++
			continue
		}
		r, size := unescape(s.text[i:])
		if r == utf8.RuneError && size == 6 {
			if v, _ := hex4(s.text[i+2:]); utf16.IsSurrogate(v) {
				wellFormed = false
			}
		}
		out = utf8.AppendRune(out, r)
		i += size
	}
	return string(out), wellFormed
}
