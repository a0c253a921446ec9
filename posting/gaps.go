package posting

// gap is n free blocks from block off on; n is 0 for none.
type gap struct{ off, n uint32 }

// end is the first block behind the gap.
func (g gap) end() int64 { return int64(g.off) + int64(g.n) }

// gapTree is a set of gaps that do not overlap. It is a treap in the order of
// offsets: a binary tree in which a parent's rank exceeds those of its children.
// Ranks are a hash of the offset, so equal sets have equal trees and the height is
// about 2·ln(gaps) on average, whatever the order of changes.
//
// Every node knows the longest gap below it, which finds the lowest gap of a
// length without looking at shorter ones.
type gapTree struct{ root *gapNode }

type gapNode struct {
	gap
	longest     uint32 // of this and all below
	left, right *gapNode
}

// rank mixes the bits of the offset (the finalizer of MurmurHash3).
func (g gap) rank() uint32 {
	h := g.off
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// update recomputes what a node knows of its children, and returns it.
func (t *gapNode) update() *gapNode {
	t.longest = t.n
	for _, child := range [2]*gapNode{t.left, t.right} {
		if child != nil {
			t.longest = max(t.longest, child.longest)
		}
	}
	return t
}

// split parts a tree into the gaps below off and the others.
func (t *gapNode) split(off uint32) (below, others *gapNode) {
	switch {
	case t == nil:
		return nil, nil
	case t.off < off:
		t.right, others = t.right.split(off)
		return t.update(), others
	default:
		below, t.left = t.left.split(off)
		return below, t.update()
	}
}

// join is the inverse of split: all of a lie below all of b.
func join(a, b *gapNode) *gapNode {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.rank() > b.rank():
		a.right = join(a.right, b)
		return a.update()
	default:
		b.left = join(a, b.left)
		return b.update()
	}
}

// insert adds a gap that overlaps none.
func (t *gapTree) insert(off, n uint32) {
	below, others := t.root.split(off)
	t.root = join(join(below, &gapNode{gap: gap{off, n}, longest: n}), others)
}

// remove takes out the gap that begins at off.
func (t *gapTree) remove(off uint32) {
	below, others := t.root.split(off)
	_, above := others.split(off + 1)
	t.root = join(below, above)
}

// lowest finds the first gap of at least n blocks.
func (t *gapTree) lowest(n uint32) (off, size uint32, ok bool) {
	at := t.root
	if at == nil || at.longest < n {
		return 0, 0, false
	}
	for {
		switch {
		case at.left != nil && at.left.longest >= n:
			at = at.left
		case at.n >= n:
			return at.off, at.n, true
		default:
			at = at.right
		}
	}
}

// around returns the last gap that begins at or below off and the first that
// begins above.
func (t *gapTree) around(off uint32) (before, after gap) {
	for at := t.root; at != nil; {
		if at.off <= off {
			before, at = at.gap, at.right
		} else {
			after, at = at.gap, at.left
		}
	}
	return before, after
}

// walk calls f for every gap in the order of offsets.
func (t *gapTree) walk(f func(gap)) {
	var visit func(*gapNode)
	visit = func(at *gapNode) {
		if at != nil {
			visit(at.left)
			f(at.gap)
			visit(at.right)
		}
	}
	visit(t.root)
}
