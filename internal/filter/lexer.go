package filter

// lexer reads JSON text forwards, in place. It accepts exactly what encoding/json
// calls valid: its methods return false at the first byte that cannot be.
type lexer struct {
	text []byte
	pos  int
}

// maxNesting is the depth of values that are read, the limit of encoding/json.
const maxNesting = 10_000

// peek skips white space and returns the next byte, 0 at the end.
func (l *lexer) peek() byte {
	for ; l.pos < len(l.text); l.pos++ {
		switch c := l.text[l.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and the byte c, if that is next.
func (l *lexer) take(c byte) bool {
	if l.peek() != c || c == 0 {
		return false
	}
	l.pos++
	return true
}

// end says that nothing but white space is left.
func (l *lexer) end() bool {
	l.peek()
	return l.pos >= len(l.text)
}

// literal reads a word like null.
func (l *lexer) literal(word string) bool {
	l.peek()
	if len(l.text)-l.pos < len(word) || string(l.text[l.pos:l.pos+len(word)]) != word {
		return false
	}
	l.pos += len(word)
	return true
}

// rawString is the inside of a JSON string as it is written.
type rawString struct {
	text    []byte
	escaped bool // it holds at least one backslash
}

// str reads a string.
func (l *lexer) str() (s rawString, ok bool) {
	if !l.take('"') {
		return s, false
	}
	start := l.pos
	for l.pos < len(l.text) {
		switch c := l.text[l.pos]; {
		case c == '"':
			s.text = l.text[start:l.pos]
			l.pos++
			return s, true
		case c < ' ':
			return s, false
		case c == '\\':
			s.escaped = true
			if !l.escape() {
				return s, false
			}
		default:
			l.pos++
		}
	}
	return s, false
}

// escape reads a backslash and what belongs to it.
func (l *lexer) escape() bool {
	if l.pos+1 >= len(l.text) {
		return false
	}
	switch l.text[l.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		l.pos += 2
		return true
	case 'u':
		if _, ok := hex4(l.text[l.pos+2:]); ok {
			l.pos += 6
			return true
		}
	}
	return false
}

// number reads a number and returns its text.
func (l *lexer) number() ([]byte, bool) {
	l.peek()
	start := l.pos
	l.next('-')
	if !l.next('0') && l.digits() == 0 {
		return nil, false
	}
	if l.next('.') && l.digits() == 0 {
		return nil, false
	}
	if l.next('e') || l.next('E') {
		_ = l.next('+') || l.next('-')
		if l.digits() == 0 {
			return nil, false
		}
	}
	return l.text[start:l.pos], true
}

// next reads the byte c if it is next, white space not skipped.
func (l *lexer) next(c byte) bool {
	if l.pos < len(l.text) && l.text[l.pos] == c {
		l.pos++
		return true
	}
	return false
}

func (l *lexer) digits() (n int) {
	for l.pos < len(l.text) && '0' <= l.text[l.pos] && l.text[l.pos] <= '9' {
		l.pos++
		n++
	}
	return n
}

// skip reads a value of any kind, at so many levels below the top.
func (l *lexer) skip(depth int) (ok bool) {
	switch l.peek() {
	case '"':
		_, ok = l.str()
	case 't':
		ok = l.literal("true")
	case 'f':
		ok = l.literal("false")
	case 'n':
		ok = l.literal("null")
	case '{':
		ok = depth < maxNesting && l.skipInside('}', depth)
	case '[':
		ok = depth < maxNesting && l.skipInside(']', depth)
	default:
		_, ok = l.number()
	}
	return ok
}

// skipInside reads an object or a list, from its first bracket to the last.
func (l *lexer) skipInside(last byte, depth int) bool {
	l.pos++
	if l.take(last) {
		return true
	}
	for {
		if last == '}' {
			if _, ok := l.str(); !ok || !l.take(':') {
				return false
			}
		}
		if !l.skip(depth + 1) {
			return false
		}
		if l.take(last) {
			return true
		}
		if !l.take(',') {
			return false
		}
	}
}

// more is called after an entry of an object or list: it reads the comma before
// the next entry, or the bracket that ends it all.
func (l *lexer) more(last byte) (more, ok bool) {
	if l.take(',') {
		return true, true
	}
	return false, l.take(last)
}
