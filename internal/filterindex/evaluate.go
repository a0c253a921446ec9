package filterindex

import (
	"fmt"

	"github.com/spratdb/sprat/internal/filter"
)

// Rows are the rows of an index as one moment had them.
type Rows interface {
	// Scan calls f with the rows whose keys are at least from and below to, in
	// order, until it returns false or an error. What f gets is valid during the call.
	Scan(from, to []byte, f func(key, value []byte) (bool, error)) error
}

// MaxScan is how many rows one condition may read before it is given up for the
// set of all slots that have its field.
const MaxScan = 1 << 16

// Evaluator turns filters into sets. RowsRead counts the rows that it has read.
type Evaluator struct {
	Rows     Rows
	RowsRead int
}

// Evaluate returns the slots whose documents match the filter below n, and perhaps
// others: irregular ones, and what the rows do not tell apart.
func (e *Evaluator) Evaluate(n *filter.Node) (Set, error) {
	s, err := e.node(n)
	if err != nil {
		return s, err
	}
	var odd union
	if _, err := e.scan(&odd, []byte(Irregular), after([]byte(Irregular)), MaxScan); err != nil {
		return s, err
	}
	if irregular := odd.bitmap(); !irregular.IsEmpty() {
		s.Include(irregular)
		s.Exact = false
	}
	return s, nil
}

func (e *Evaluator) node(n *filter.Node) (Set, error) {
	switch n.Op {
	case filter.And:
		return e.all(n.Nodes)
	case filter.Or:
		return e.any(n.Nodes)
	}
	prefix := fieldTerm(nil, n.Field)
	switch n.Op {
	case filter.Eq, filter.In, filter.Ne, filter.Nin:
		s, err := e.values(prefix, n.Values)
		s.Neg = n.Op.Negative()
		return s, err
	case filter.Exists:
		s, err := e.term(append(prefix, typeExists))
		s.Neg = !n.Values[0].Bool
		return s, err
	case filter.StartsWith:
		return e.startsWith(prefix, n.Values[0].String)
	case filter.Gt, filter.Gte, filter.Lt, filter.Lte:
		return e.compare(prefix, n.Op, ordered(n.Values[0].Number))
	}
	return everything(), nil
}

func (e *Evaluator) all(nodes []filter.Node) (Set, error) {
	s := everything()
	s.Exact = true
	for i := range nodes {
		o, err := e.node(&nodes[i])
		if err != nil {
			return s, err
		}
		if s.and(o); s.Empty() {
			break
		}
	}
	return s, nil
}

func (e *Evaluator) any(nodes []filter.Node) (Set, error) {
	s := everything()
	s.Neg, s.Exact = false, true
	for i := range nodes {
		o, err := e.node(&nodes[i])
		if err != nil {
			return s, err
		}
		s.or(o)
	}
	return s, nil
}

// values is the set of documents that have one of the values.
func (e *Evaluator) values(prefix []byte, values []filter.Value) (Set, error) {
	var u union
	var err error
	for _, v := range values {
		switch v.Kind {
		case filter.Bool:
			err = e.collect(&u, boolTerm(prefix, v.Bool))
		case filter.String:
			err = e.collect(&u, stringTerm(prefix, v.String))
		case filter.Number:
			x := ordered(v.Number)
			if err = e.collect(&u, levelTerm(prefix, typeNumber, levelOf(x), x)); err == nil {
				err = e.collect(&u, elementTerm(prefix, v.Number))
			}
		}
		if err != nil {
			return Set{}, err
		}
	}
	return Set{Bits: u.bitmap(), Exact: true}, nil
}

// term is the set of the documents that have a term.
func (e *Evaluator) term(term []byte) (Set, error) {
	var u union
	err := e.collect(&u, term)
	return Set{Bits: u.bitmap(), Exact: true}, err
}

func (e *Evaluator) collect(u *union, term []byte) error {
	_, err := e.scan(u, term, after(term), 1<<32)
	return err
}

// startsWith is the set of the documents that have a string of a prefix.
func (e *Evaluator) startsWith(prefix []byte, text string) (Set, error) {
	from := append(append([]byte{}, prefix...), typeString)
	exact := len(text) <= MaxStringBytes
	if exact {
		from = escape(from, text)
	} else { // of longer strings the rows do not tell what comes next
		from = append(escape(from, text[:MaxStringBytes]), 0, afterCut)
	}
	var u union
	all, err := e.scan(&u, from, after(from), MaxScan)
	if err != nil || all {
		return Set{Bits: u.bitmap(), Exact: exact}, err
	}
	return e.having(prefix)
}

// having is the set of the documents that have the field: what a condition is
// given up for.
func (e *Evaluator) having(prefix []byte) (Set, error) {
	s, err := e.term(append(append([]byte{}, prefix...), typeExists))
	s.Exact = false
	return s, err
}

// compare is the set of the documents whose number compares to x as op says.
func (e *Evaluator) compare(prefix []byte, op filter.Op, x uint64) (Set, error) {
	lo, hi := uint64(0), uint64(1<<64-1)
	switch op {
	case filter.Gt:
		lo = x + 1 // no overflow: no number is the last integer
	case filter.Gte:
		lo = x
	case filter.Lt:
		hi = x - 1
	case filter.Lte:
		hi = x
	}
	r := numbers{e: e, prefix: prefix, left: MaxScan}
	if err := r.between(0, lo, hi); err != nil {
		return Set{}, err
	}
	if r.left <= 0 {
		return e.having(prefix)
	}
	return Set{Bits: r.u.bitmap(), Exact: true}, nil
}

// numbers collects the documents of a range of numbers.
type numbers struct {
	e      *Evaluator
	prefix []byte
	u      union
	left   int // rows that may still be read
}

// between takes in the numbers from lo to hi of which the intervals above level
// were not taken in whole.
func (r *numbers) between(level int, lo, hi uint64) error {
	if lo > hi || r.left <= 0 {
		return nil
	}
	if err := r.rows(typeNumber, level, lo, hi); err != nil || level == len(intervalBits) {
		return err
	}
	// Whole intervals: from that which begins at lo or next, to that which ends at hi.
	size := uint64(1) << intervalBits[level]
	first := lo / size
	if lo%size != 0 {
		first++
	}
	end := hi / size
	if hi%size == size-1 {
		end++
	}
	if first >= end {
		return r.between(level+1, lo, hi)
	}
	if err := r.rows(typeInterval, level, first*size, (end-1)*size); err != nil {
		return err
	}
	if lo < first*size {
		if err := r.between(level+1, lo, first*size-1); err != nil {
			return err
		}
	}
	if end*size-1 < hi { // end is below 2^16 at level 0 then
		return r.between(level+1, end*size, hi)
	}
	return nil
}

func (r *numbers) rows(kind byte, level int, lo, hi uint64) error {
	before := r.e.RowsRead
	_, err := r.e.scan(&r.u, levelTerm(r.prefix, kind, level, lo), after(levelTerm(r.prefix, kind, level, hi)), r.left)
	r.left -= r.e.RowsRead - before
	return err
}

// scan takes in the rows between two keys, at most so many; false when there are
// more.
func (e *Evaluator) scan(u *union, from, to []byte, most int) (all bool, err error) {
	all = true
	err = e.Rows.Scan(from, to, func(key, value []byte) (bool, error) {
		if most--; most < 0 {
			all = false
			return false, nil
		}
		e.RowsRead++
		_, first, err := SplitKey(key)
		if err == nil {
			err = u.add(first, value)
		}
		if err != nil {
			return false, fmt.Errorf("row %x: %w", key, err)
		}
		return true, nil
	})
	return all, err
}

// after is the smallest key above all that begin with the prefix; prefixes never
// are 0xff alone.
func after(prefix []byte) []byte {
	b := append([]byte{}, prefix...)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return b[:i+1]
		}
	}
	return nil
}
