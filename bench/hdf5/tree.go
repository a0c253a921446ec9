package hdf5

// Node types of a version 1 B-tree, and the bytes of a key of each.
const (
	treeGroup  = 0
	treeChunks = 1

	groupKeyBytes = 8                  // offset of a name
	chunkKeyBytes = 4 + 4 + 3*8        // stored size, filter mask, position in 2 dimensions and the element
	treeHeadBytes = 4 + 1 + 1 + 2 + 16 // up to the first key
)

// tree walks a version 1 B-tree from left to right and calls leaf with each key at
// level 0 and the address that follows it.
//
//	"TREE" | node type u8 | level u8 | entries u16 | left sibling | right sibling
//	key 0 | child 0 | key 1 | ... | child n-1 | key n
func (f *File) tree(addr int64, kind int, leaf func(key []byte, child int64) error) error {
	return f.treeNode(addr, kind, -1, leaf)
}

// treeNode is tree from a node that must have the given level; -1 for the root.
// Levels fall with each step down, so the recursion is at most 256 deep.
func (f *File) treeNode(addr int64, kind, level int, leaf func(key []byte, child int64) error) error {
	b, err := f.block(addr, treeHeadBytes, "B-tree node")
	if err != nil {
		return err
	}
	b.sign("TREE")
	gotKind, gotLevel, n := b.u8(), b.u8(), b.u16()
	if b.err != nil {
		return b.err
	}
	if gotKind != kind || level >= 0 && gotLevel != level {
		return fault(addr, "a B-tree node of its parent's type, one level lower", "type ", gotKind, ", level ", gotLevel)
	}
	keyBytes := groupKeyBytes
	if kind == treeChunks {
		keyBytes = chunkKeyBytes
	}
	if b, err = f.block(addr+treeHeadBytes, int64(n*(keyBytes+8)), "B-tree node"); err != nil {
		return err
	}
	for range n {
		key, child := b.bytes(keyBytes), b.address()
		if b.err != nil {
			return b.err
		}
		if gotLevel == 0 {
			err = leaf(key, child)
		} else {
			err = f.treeNode(child, kind, gotLevel-1, leaf)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
