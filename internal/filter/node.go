package filter

import (
	"iter"
	"strconv"
)

// Op is what a Node says of the documents.
type Op uint8

// The operators. And and Or have Nodes, all others a Field and Values.
const (
	And        Op = iota // all of Nodes hold; true when there are none
	Or                   // at least one of Nodes holds
	Eq                   // Values[0]: any scalar
	Ne                   // Values[0]: any scalar
	Gt                   // Values[0]: a number, as for the next three
	Gte                  //
	Lt                   //
	Lte                  //
	In                   // Values: one or more scalars
	Nin                  // Values: one or more scalars
	Exists               // Values[0]: a boolean
	StartsWith           // Values[0]: a string
)

var opNames = [...]string{"$and", "$or", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$startsWith"}

// String is the operator as filters write it.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "Op(" + strconv.Itoa(int(o)) + ")"
}

// Negative says that the operator holds for documents without the field, being the
// negation of another one: Ne of Eq, Nin of In.
func (o Op) Negative() bool { return o == Ne || o == Nin }

// Node is one condition of a compiled filter, or several joined. It is to be read
// only.
type Node struct {
	Op     Op
	Nodes  []Node
	Field  string
	Values []Value // in the order of the filter

	leaf int // number of the condition in the matcher
}

// All yields the node and all below it, a node before its Nodes.
func (n *Node) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { n.each(yield) }
}

func (n *Node) each(yield func(*Node) bool) bool {
	if !yield(n) {
		return false
	}
	for i := range n.Nodes {
		if !n.Nodes[i].each(yield) {
			return false
		}
	}
	return true
}

// Kind is the type of a Value.
type Kind uint8

// The types of values.
const (
	String Kind = iota
	Number
	Bool
	Other // null or an object, which documents of ParseDocument do not hold
)

// Value is a scalar: an operand of a filter, or a value of a document. Only the
// field of its Kind is set, so that values can be compared with ==.
type Value struct {
	Kind   Kind
	String string
	Number float64
	Bool   bool
}
