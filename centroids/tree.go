package centroids

import (
	"math"
	"slices"
)

// maxBranch is the most children of a node of the training tree.
const maxBranch = 16

// node is a branch of the tree: the rows order[lo:hi] to be cut into leaves.
type node struct {
	lo, hi int32
	leaves int
}

// grow cuts the rows into about t.k cells, level by level:
//
//  1. Each node with more than one leaf places up to 16 centres on a sample of
//     its rows.
//  2. Every row of the level goes to the nearest centre of its node. A centre with
//     too few rows for half a leaf is taken back, its rows go to the others.
//  3. The rows of a centre become a child, with leaves in proportion to its rows,
//     so that all cells end up with about the same count.
//
// A node whose rows are all equal is one leaf. The cells have no means yet.
func (t *trainer) grow() (*cells, error) {
	order := make([]int32, len(t.rows))
	for i := range order {
		order[i] = int32(i)
	}
	label := make([]int32, len(t.rows)) // by position in order
	nodes, grown := []node{{0, int32(len(order)), t.k}}, true
	for level := 0; grown; level++ {
		centres, err := t.place(nodes, order, level)
		if err == nil {
			err = t.labelRows(nodes, centres, order, label)
		}
		if err != nil {
			return nil, err
		}
		nodes, grown = t.children(nodes, centres, order, label)
	}
	return t.leaves(nodes, order), nil
}

// place places centres in every node with more than one leaf.
func (t *trainer) place(nodes []node, order []int32, level int) ([][]float32, error) {
	centres := make([][]float32, len(nodes))
	err := t.each(len(nodes), func(worker, i int) {
		if nd := nodes[i]; nd.leaves > 1 {
			c := t.fitters[worker].fit(order[nd.lo:nd.hi], branches(nd.leaves), t.rng(stepTree+level, i))
			centres[i] = slices.Clone(c)
		}
	})
	return centres, err
}

// branches returns the number of children for a node of that many leaves: the
// smallest that takes no more levels than maxBranch children would.
func branches(leaves int) int {
	b := min(leaves, maxBranch)
	for b > 2 && levels(leaves, b-1) == levels(leaves, maxBranch) {
		b--
	}
	return b
}

// levels returns the height of a tree of that many leaves with b children a node.
func levels(leaves, b int) int {
	height := 0
	for reach := 1; reach < leaves; reach *= b {
		height++
	}
	return height
}

// labelRows finds the nearest centre of its node for every row of the nodes that
// have at least two, then takes back the centres with too few rows.
func (t *trainer) labelRows(nodes []node, centres [][]float32, order, label []int32) error {
	var spans []span
	for i, nd := range nodes {
		if len(centres[i]) > t.dim {
			spans = appendSpans(spans, int32(i), nd.lo, nd.hi, 1024)
		}
	}
	err := t.each(len(spans), func(_, task int) {
		s := spans[task]
		for at := s.lo; at < s.hi; at++ {
			label[at] = nearestOf(t.vec(order[at]), centres[s.owner])
		}
	})
	if err != nil {
		return err
	}
	return t.each(len(nodes), func(_, i int) {
		if nd := nodes[i]; len(centres[i]) > t.dim {
			centres[i] = t.takeBack(centres[i], order[nd.lo:nd.hi], label[nd.lo:nd.hi])
		}
	})
}

// takeBack drops the centres that have less than half of the target and labels
// their rows anew. It returns the centres that stay.
func (t *trainer) takeBack(centres []float32, rows, label []int32) []float32 {
	counts := make([]int, len(centres)/t.dim)
	for _, c := range label {
		counts[c]++
	}
	renamed, kept := make([]int32, len(counts)), centres[:0]
	for c, n := range counts {
		renamed[c] = -1
		if 2*float64(n) >= t.target {
			renamed[c] = int32(len(kept) / t.dim)
			kept = append(kept, centres[c*t.dim:][:t.dim]...)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	for i, c := range label {
		if label[i] = renamed[c]; label[i] < 0 {
			label[i] = nearestOf(t.vec(rows[i]), kept)
		}
	}
	return kept
}

// children sorts the rows of each node by label and returns the next level, and
// whether any node of it can still be cut.
func (t *trainer) children(nodes []node, centres [][]float32, order, label []int32) ([]node, bool) {
	next, grown := make([]node, 0, len(nodes)), false
	var sorted []int32
	for i, nd := range nodes {
		b := len(centres[i]) / t.dim
		if b < 2 {
			next = append(next, node{nd.lo, nd.hi, 1})
			continue
		}
		at := nd.lo
		sorted = append(sorted[:0], order[nd.lo:nd.hi]...)
		for child := range int32(b) {
			lo := at
			for j, row := range sorted {
				if label[nd.lo+int32(j)] == child {
					order[at] = row
					at++
				}
			}
			if at == lo {
				continue
			}
			leaves := max(1, int(math.Round(float64(at-lo)/t.target)))
			if at-lo == nd.hi-nd.lo { // all rows in one child: cutting again changes nothing
				leaves = 1
			}
			grown = grown || leaves > 1
			next = append(next, node{lo, at, leaves})
		}
	}
	return next, grown
}

// leaves makes a cell of every node.
func (t *trainer) leaves(nodes []node, order []int32) *cells {
	c := &cells{
		cents: make([]float32, len(nodes)*t.dim),
		of:    make([]int32, len(order)),
		order: order,
		start: make([]int32, len(nodes)+1),
	}
	for i, nd := range nodes {
		c.start[i+1] = nd.hi
		for _, row := range order[nd.lo:nd.hi] {
			c.of[row] = int32(i)
		}
	}
	return c
}
