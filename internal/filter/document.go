package filter

import (
	"fmt"
	"math"
)

// The limits of a metadata document. Sizes follow Document.Size.
const (
	MaxKeys            = 50
	MaxFilterableBytes = 2048
	MaxBytes           = 40_960
)

// Document is a checked metadata document.
type Document struct {
	Fields []Field // in the order of the text
}

// Field is one entry of a document.
type Field struct {
	Key    string
	Values []Value // one, or the elements of a list
	List   bool
}

// ParseDocument reads and checks a metadata document: a flat object of strings,
// numbers, booleans, and lists of strings or of numbers. No bytes are an empty
// document. nonFilterable, which may be nil for none, says which fields do not count
// towards MaxFilterableBytes. Errors are ErrSyntax or a *DocumentError.
func ParseDocument(text []byte, nonFilterable func(key string) bool) (*Document, error) {
	d := &Document{}
	if len(text) == 0 {
		return d, nil
	}
	l := &lexer{text: text}
	if whole := *l; !whole.skip(0) || !whole.end() {
		return nil, malformedDocument()
	}
	if !l.take('{') {
		return nil, &DocumentError{Message: NotAnObject}
	}
	if !l.take('}') {
		if err := d.read(l); err != nil {
			return nil, err
		}
	}
	return d, d.check(nonFilterable)
}

func malformedDocument() error { return fmt.Errorf("metadata: %w", ErrSyntax) }

// read reads the entries of an object whose syntax is good.
func (d *Document) read(l *lexer) error {
	seen := map[string]bool{}
	for more := true; more; more, _ = l.more('}') {
		raw, _ := l.str()
		key, ok := raw.decode()
		if !ok {
			return malformedDocument()
		}
		l.take(':')
		if seen[key] {
			return &DocumentError{Message: DuplicateKey, Key: key}
		}
		seen[key] = true
		f, err := readField(l, key)
		if err != nil {
			return err
		}
		d.Fields = append(d.Fields, f)
	}
	return nil
}

func readField(l *lexer, key string) (Field, error) {
	f := Field{Key: key}
	if l.peek() != '[' {
		v, err := readValue(l, key)
		if err == nil && v.Kind == Other {
			err = &DocumentError{Message: BadValue, Key: key}
		}
		f.Values = []Value{v}
		return f, err
	}
	f.List = true
	l.take('[')
	if l.take(']') {
		return f, &DocumentError{Message: EmptyArray, Key: key}
	}
	for more := true; more; more, _ = l.more(']') {
		v, err := readValue(l, key)
		if err != nil {
			return f, err
		}
		if v.Kind != String && v.Kind != Number || len(f.Values) > 0 && v.Kind != f.Values[0].Kind {
			return f, &DocumentError{Message: BadElement, Key: key}
		}
		f.Values = append(f.Values, v)
	}
	return f, nil
}

// readValue reads a scalar; a list, an object or null is Other.
func readValue(l *lexer, key string) (Value, error) {
	v, wellFormed := looseValue(l)
	switch {
	case !wellFormed:
		return v, malformedDocument()
	case v.Kind == Number && math.IsInf(v.Number, 0):
		return v, &DocumentError{Message: NumberOutOfRange, Key: key}
	}
	return v, nil
}

// looseValue reads a value of text whose syntax is good; strings may be ill-formed
// and numbers infinite.
func looseValue(l *lexer) (v Value, wellFormed bool) {
	switch c := l.peek(); c {
	case '"':
		raw, _ := l.str()
		v.Kind = String
		v.String, wellFormed = raw.decode()
		return v, wellFormed
	case 't', 'f':
		l.skip(0)
		return Value{Kind: Bool, Bool: c == 't'}, true
	case '{', '[', 'n':
		l.skip(0)
		return Value{Kind: Other}, true
	}
	number, _ := l.number()
	return Value{Kind: Number, Number: parseNumber(number)}, true
}

func (d *Document) check(nonFilterable func(string) bool) error {
	if n := len(d.Fields); n > MaxKeys {
		return &DocumentError{Message: TooManyKeys, Size: n}
	}
	if n := d.Size(nonFilterable); n > MaxFilterableBytes {
		return &DocumentError{Message: TooMuchFilter, Size: n}
	}
	if n := d.Size(nil); n > MaxBytes {
		return &DocumentError{Message: TooMuchMetadata, Size: n}
	}
	return nil
}

// Size is the size of the document as S3 Vectors counts it, which is not the length
// of its text, without the fields that except says. except may be nil.
//
//	4 + for each field: 8 + bytes of the key + value
//	value: bytes of a string, 4 for a number, 0 for a boolean,
//	       for a list 4 + value for each element
func (d *Document) Size(except func(key string) bool) int {
	total := 4
	for i := range d.Fields {
		f := &d.Fields[i]
		if except != nil && except(f.Key) {
			continue
		}
		total += 8 + len(f.Key)
		for _, v := range f.Values {
			if f.List {
				total += 4
			}
			switch v.Kind {
			case String:
				total += len(v.String)
			case Number:
				total += 4
			}
		}
	}
	return total
}

// Values returns, for each field of a document, the values that Match would try, so
// that an index of them answers as Match does. It takes any JSON object, like Match:
// null, objects and lists in lists are Other, a field that comes twice has its last
// value, numbers beyond float64 are infinite. It returns ErrSyntax for what is not a
// JSON object.
func Values(doc []byte) ([]Field, error) {
	if len(doc) == 0 {
		return nil, nil
	}
	l := &lexer{text: doc}
	if whole := *l; !whole.skip(0) || !whole.end() || !l.take('{') {
		return nil, malformedDocument()
	}
	if l.take('}') {
		return nil, nil
	}
	var fields []Field
	at := map[string]int{}
	for more := true; more; more, _ = l.more('}') {
		raw, _ := l.str()
		key, _ := raw.decode()
		l.take(':')
		f := looseField(l, key)
		if i, again := at[key]; again {
			fields[i] = f
			continue
		}
		at[key] = len(fields)
		fields = append(fields, f)
	}
	return fields, nil
}

func looseField(l *lexer, key string) Field {
	f := Field{Key: key, List: l.take('[')}
	if f.List && l.take(']') {
		return f
	}
	for more := true; more; more = f.List && l.take(',') {
		v, _ := looseValue(l)
		f.Values = append(f.Values, v)
	}
	if f.List {
		l.take(']')
	}
	return f
}
