package filter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// The limits of a filter.
const (
	// MaxDepth is how deep $and and $or may stand in one another.
	MaxDepth = 64
	// MaxConditions is how many operators a filter may have, $and and $or not
	// counted.
	MaxConditions = 100
	// MaxOperands is how many values a list of $in or $nin may have.
	MaxOperands = 10_000
)

// Options say how Parse reads a filter.
type Options struct {
	// Strict refuses what S3 Vectors refuses: an object of several entries, which
	// otherwise must all hold, and an empty one, which otherwise matches all.
	Strict bool
}

// Filter is a compiled filter. A nil *Filter is no filter: it matches everything.
type Filter struct {
	root   Node
	fields []fieldTests
	leaves []test
}

// Root is the filter as a tree of conditions.
func (f *Filter) Root() *Node { return &f.root }

// Fields returns the names of the fields that the filter asks for, sorted.
func (f *Filter) Fields() []string {
	names := make([]string, len(f.fields))
	for i := range f.fields {
		names[i] = f.fields[i].name
	}
	return names
}

// CheckFilterable refuses, with a *FilterError, a filter that asks for one of the
// fields that are not filterable.
func (f *Filter) CheckFilterable(nonFilterable func(field string) bool) error {
	for i := range f.fields {
		if name := f.fields[i].name; nonFilterable(name) {
			return &FilterError{Message: NonFilterable, Path: name, Reason: "the index keeps the field as not filterable"}
		}
	}
	return nil
}

// Parse compiles a filter from JSON. A text of null is no filter: nil and no error.
// Errors are ErrSyntax or a *FilterError.
func Parse(text []byte, opts Options) (*Filter, error) {
	p := parser{lexer: lexer{text: text}, strict: opts.Strict}
	if p.peek() == 'n' {
		if p.literal("null") && p.end() {
			return nil, nil
		}
		return nil, p.syntax()
	}
	// The whole text first, so that what is malformed is not called invalid.
	if whole := p.lexer; !whole.skip(0) || !whole.end() {
		return nil, p.syntax()
	}
	if p.peek() != '{' {
		return nil, p.refuse("want an object, got %s", p.kind())
	}
	root, err := p.filter(0)
	if err != nil {
		return nil, err
	}
	f := &Filter{root: root}
	f.compile()
	return f, nil
}

// parser reads a text whose syntax is known to be good; only strings are still to
// be checked.
type parser struct {
	lexer
	strict     bool
	conditions int
	path       []string
}

func (p *parser) syntax() error { return fmt.Errorf("filter: %w", ErrSyntax) }

func (p *parser) refuse(format string, args ...any) error {
	path := strings.ReplaceAll(strings.Join(p.path, "."), ".[", "[")
	return &FilterError{Message: InvalidFilter, Path: path, Reason: fmt.Sprintf(format, args...)}
}

// in runs f with a name added to the path of errors.
func (p *parser) in(name string, f func() error) error {
	p.path = append(p.path, name)
	err := f()
	p.path = p.path[:len(p.path)-1]
	return err
}

// kind names the next value, for errors.
func (p *parser) kind() string {
	switch p.peek() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// entries reads an object and calls each for every entry, with the lexer at its
// value, which each has to read.
func (p *parser) entries(each func(name string) error) (n int, err error) {
	p.take('{')
	if p.take('}') {
		return 0, nil
	}
	seen := map[string]bool{}
	for more := true; more; more, _ = p.more('}') {
		name, err := p.text()
		if err != nil {
			return n, err
		}
		p.take(':')
		err = p.in(name, func() error {
			if seen[name] {
				return p.refuse("comes twice")
			}
			return each(name)
		})
		if err != nil {
			return n, err
		}
		seen[name] = true
		n++
	}
	return n, nil
}

// text reads a string and checks that it is well-formed.
func (p *parser) text() (string, error) {
	raw, _ := p.str()
	s, ok := raw.decode()
	if !ok {
		return "", p.syntax()
	}
	return s, nil
}

// filter reads an object of entries that must all hold.
func (p *parser) filter(depth int) (Node, error) {
	all := Node{Op: And}
	if depth > MaxDepth {
		return all, p.refuse("want at most %d levels", MaxDepth)
	}
	n, err := p.entries(func(name string) error {
		nodes, err := p.entry(name, depth)
		all.Nodes = append(all.Nodes, nodes...)
		return err
	})
	switch {
	case err != nil:
		return all, err
	case p.strict && n != 1:
		return all, p.refuse("want one entry, got %d", n)
	case len(all.Nodes) == 1:
		return all.Nodes[0], nil
	}
	return all, nil
}

// entry reads what stands for a name: one node, or one for each operator.
func (p *parser) entry(name string, depth int) ([]Node, error) {
	switch {
	case name == "$and" || name == "$or":
		n, err := p.branches(name, depth)
		return []Node{n}, err
	case strings.HasPrefix(name, "$"):
		return nil, p.refuse("want $and, $or or a field")
	case p.peek() == '{':
		return p.operators(name)
	}
	v, err := p.scalar()
	if err != nil {
		return nil, err
	}
	n, err := p.condition(name, Eq, []Value{v})
	return []Node{n}, err
}

func (p *parser) branches(name string, depth int) (Node, error) {
	n := Node{Op: And}
	if name == "$or" {
		n.Op = Or
	}
	if p.peek() != '[' {
		return n, p.refuse("want a list of filters, got %s", p.kind())
	}
	p.take('[')
	if p.take(']') {
		return n, p.refuse("want at least one filter")
	}
	for i, more := 0, true; more; i++ {
		err := p.in("["+strconv.Itoa(i)+"]", func() error {
			if p.peek() != '{' {
				return p.refuse("want a filter, got %s", p.kind())
			}
			branch, err := p.filter(depth + 1)
			n.Nodes = append(n.Nodes, branch)
			return err
		})
		if err != nil {
			return n, err
		}
		more, _ = p.more(']')
	}
	return n, nil
}

func (p *parser) operators(field string) (nodes []Node, err error) {
	n, err := p.entries(func(name string) error {
		for op := Eq; op <= StartsWith; op++ {
			if op.String() != name {
				continue
			}
			values, err := p.operand(op)
			if err != nil {
				return err
			}
			node, err := p.condition(field, op, values)
			nodes = append(nodes, node)
			return err
		}
		return p.refuse("want an operator of a field")
	})
	if err == nil && n == 0 {
		return nil, p.refuse("want at least one operator")
	}
	return nodes, err
}

func (p *parser) condition(field string, op Op, values []Value) (Node, error) {
	if p.conditions++; p.conditions > MaxConditions {
		return Node{}, p.refuse("want at most %d conditions", MaxConditions)
	}
	return Node{Op: op, Field: field, Values: values, leaf: p.conditions - 1}, nil
}

// operand reads what an operator takes.
func (p *parser) operand(op Op) (values []Value, err error) {
	if op == In || op == Nin {
		return p.list()
	}
	kind := p.kind()
	v, err := p.scalar()
	if err != nil {
		return nil, err
	}
	want, ok := "", true
	switch op {
	case Gt, Gte, Lt, Lte:
		want, ok = "a number", v.Kind == Number
	case Exists:
		want, ok = "true or false", v.Kind == Bool
	case StartsWith:
		want, ok = "a string", v.Kind == String
	}
	if !ok {
		return nil, p.refuse("want %s, got %s", want, kind)
	}
	return []Value{v}, nil
}

func (p *parser) list() (values []Value, err error) {
	if p.peek() != '[' {
		return nil, p.refuse("want a list, got %s", p.kind())
	}
	p.take('[')
	if p.take(']') {
		return nil, p.refuse("want at least one value")
	}
	for more := true; more; more, _ = p.more(']') {
		if len(values) == MaxOperands {
			return nil, p.refuse("want at most %d values", MaxOperands)
		}
		v, err := p.scalar()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// scalar reads a string, a number or a boolean.
func (p *parser) scalar() (v Value, err error) {
	switch c := p.peek(); c {
	case '"':
		v.Kind = String
		v.String, err = p.text()
		return v, err
	case 't', 'f':
		v.Kind, v.Bool = Bool, c == 't'
		p.skip(0)
		return v, nil
	case '{', '[', 'n':
		return v, p.refuse("want a string, a number or a boolean, got %s", p.kind())
	}
	text, _ := p.number()
	v.Kind, v.Number = Number, parseNumber(text)
	if math.IsInf(v.Number, 0) {
		return v, p.refuse("want a finite number, got %.40s", text)
	}
	return v, nil
}

// parseNumber is the float64 nearest to a JSON number, infinite beyond its range.
func parseNumber(text []byte) float64 {
	// Whole numbers of up to 15 digits are exact, and by far the most frequent.
	digits, negative := text, false
	if len(text) > 0 && text[0] == '-' {
		digits, negative = text[1:], true
	}
	if len(digits) <= 15 {
		var whole int64
		exact := true
		for _, c := range digits {
			exact = exact && '0' <= c && c <= '9'
			whole = whole*10 + int64(c-'0')
		}
		if exact && !(negative && whole == 0) {
			if negative {
				whole = -whole
			}
			return float64(whole)
		}
	}
	// The string lives no longer than the call, and the text does not change meanwhile.
	v, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return v
}
