package filter

import (
	"slices"
	"sort"
)

// fieldTests are the conditions on one field.
type fieldTests struct {
	name   string
	leaves []uint8 // their numbers
}

// test is a condition in the form in which values are tried. Negative operators
// are tried as what they negate.
type test struct {
	op      Op // Eq, Gt, Gte, Lt, Lte, In, Exists or StartsWith
	text    string
	number  float64
	strings []string  // of In, sorted
	numbers []float64 // of In, sorted
	yes, no bool      // Eq and In: true, false are among the operands
	is      Kind      // of Eq
}

// compile makes the tests of the tree's conditions.
func (f *Filter) compile() {
	byField := map[string][]uint8{}
	for n := range f.root.All() {
		if n.Op == And || n.Op == Or {
			continue
		}
		f.leaves = append(f.leaves, newTest(n))
		byField[n.Field] = append(byField[n.Field], uint8(n.leaf))
	}
	for name, leaves := range byField {
		f.fields = append(f.fields, fieldTests{name, leaves})
	}
	slices.SortFunc(f.fields, func(a, b fieldTests) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
}

func newTest(n *Node) test {
	t := test{op: n.Op, text: n.Values[0].String, number: n.Values[0].Number, is: n.Values[0].Kind}
	switch n.Op {
	case Ne:
		t.op = Eq
	case Nin:
		t.op = In
	}
	for _, v := range n.Values {
		switch v.Kind {
		case Number:
			t.numbers = append(t.numbers, v.Number)
		case Bool:
			t.yes, t.no = t.yes || v.Bool, t.no || !v.Bool
		case String:
			t.strings = append(t.strings, v.String)
		}
	}
	slices.Sort(t.strings)
	slices.Sort(t.numbers)
	return t
}

// bits is a set of conditions, by number.
type bits [(MaxConditions + 63) / 64]uint64

func (b *bits) set(i uint8)      { b[i/64] |= 1 << (i % 64) }
func (b *bits) clear(i uint8)    { b[i/64] &^= 1 << (i % 64) }
func (b *bits) has(i uint8) bool { return b[i/64]&(1<<(i%64)) != 0 }

// outcome is what is known of one document: for each condition whether its field is
// there, and whether a value of it passed the test.
type outcome struct{ there, passed bits }

// Match says whether the filter holds for a document, given as JSON text; no bytes
// are an empty document. What is not a JSON object matches no filter.
func (f *Filter) Match(doc []byte) bool {
	if f == nil {
		return true
	}
	var o outcome
	if len(doc) > 0 && !f.try(&o, doc) {
		return false
	}
	return f.root.holds(&o)
}

// try reads a document and tries its values.
func (f *Filter) try(o *outcome, doc []byte) bool {
	l := lexer{text: doc}
	if !l.take('{') {
		return false
	}
	if l.take('}') {
		return l.end()
	}
	for more := true; more; {
		key, ok := l.str()
		if !ok || !l.take(':') {
			return false
		}
		if i, found := f.field(key); found {
			ok = f.tryField(o, &f.fields[i], &l)
		} else {
			ok = l.skip(1)
		}
		if !ok {
			return false
		}
		if more, ok = l.more('}'); !ok {
			return false
		}
	}
	return l.end()
}

// field finds the conditions on a field.
func (f *Filter) field(key rawString) (int, bool) {
	if len(f.fields) <= 4 { // most filters
		for i := range f.fields {
			if key.equal(f.fields[i].name) {
				return i, true
			}
		}
		return 0, false
	}
	return sort.Find(len(f.fields), func(i int) int { return key.compare(f.fields[i].name) })
}

// tryField reads the value of a field and tries it, forgetting what an earlier
// value of the same field passed.
func (f *Filter) tryField(o *outcome, field *fieldTests, l *lexer) bool {
	for _, i := range field.leaves {
		o.there.set(i)
		o.passed.clear(i)
	}
	if l.peek() != '[' {
		return f.tryValue(o, field, l, false)
	}
	l.pos++
	if l.take(']') {
		return true
	}
	for more, ok := true, true; more; {
		if !f.tryValue(o, field, l, true) {
			return false
		}
		if more, ok = l.more(']'); !ok {
			return false
		}
	}
	return true
}

// tryValue reads a scalar, or skips what is none, and tries it.
func (f *Filter) tryValue(o *outcome, field *fieldTests, l *lexer, element bool) bool {
	switch c := l.peek(); c {
	case '"':
		s, ok := l.str()
		if !ok {
			return false
		}
		for _, i := range field.leaves {
			if f.leaves[i].passesString(s) {
				o.passed.set(i)
			}
		}
		return true
	case 't', 'f':
		for _, i := range field.leaves {
			if f.leaves[i].passesBool(c == 't') {
				o.passed.set(i)
			}
		}
		return l.skip(1)
	case '{', '[', 'n':
		if element {
			return l.skip(2)
		}
		return l.skip(1)
	}
	text, ok := l.number()
	if !ok {
		return false
	}
	v := parseNumber(text)
	for _, i := range field.leaves {
		if f.leaves[i].passesNumber(v, element) {
			o.passed.set(i)
		}
	}
	return true
}

func (t *test) passesString(s rawString) bool {
	switch t.op {
	case Eq:
		return t.is == String && s.equal(t.text)
	case StartsWith:
		return s.hasPrefix(t.text)
	case In:
		if len(t.strings) <= 4 {
			for _, want := range t.strings {
				if s.equal(want) {
					return true
				}
			}
			return false
		}
		_, found := sort.Find(len(t.strings), func(i int) int { return s.compare(t.strings[i]) })
		return found
	}
	return false
}

func (t *test) passesBool(v bool) bool {
	return (t.op == Eq || t.op == In) && (v && t.yes || !v && t.no)
}

// passesNumber tries a number; ranges are not tried on the elements of lists.
func (t *test) passesNumber(v float64, element bool) bool {
	switch t.op {
	case Eq:
		return t.is == Number && v == t.number
	case In:
		_, found := slices.BinarySearch(t.numbers, v)
		return found
	case Gt:
		return v > t.number && !element
	case Gte:
		return v >= t.number && !element
	case Lt:
		return v < t.number && !element
	case Lte:
		return v <= t.number && !element
	}
	return false
}

// holds decides a node from what is known of the document.
func (n *Node) holds(o *outcome) bool {
	switch n.Op {
	case And:
		for i := range n.Nodes {
			if !n.Nodes[i].holds(o) {
				return false
			}
		}
		return true
	case Or:
		for i := range n.Nodes {
			if n.Nodes[i].holds(o) {
				return true
			}
		}
		return false
	case Exists:
		return o.there.has(uint8(n.leaf)) == n.Values[0].Bool
	}
	if !o.there.has(uint8(n.leaf)) {
		return holdsWithout(n.Op)
	}
	return o.passed.has(uint8(n.leaf)) != n.Op.Negative()
}

// holdsWithout decides what a document without the field is to an operator: the
// positive ones do not hold, and $ne and $nin, their negations, do. AWS does not say
// which; people who filter out a value expect to keep what does not have it.
func holdsWithout(op Op) bool { return op.Negative() }
