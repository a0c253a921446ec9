package centroids

import (
	"fmt"
	"slices"
)

// flatBelow is the size under which a grouped set becomes flat again; well below
// exactRows, so that a set does not go back and forth.
const flatBelow = exactRows / 2

// With returns a set without the ids of remove and with the centroids of add
// (which may be nil and stays as it is). An id may be removed and added again. The
// receiver does not change; the new set shares all blocks that hold no changed
// row, so a change costs the copy of a few of them and one look at all ids.
//
// In a flat set (up to 20,000 rows) an added centroid takes the row of a removed
// one, or a new last row; a row left free is filled with the last row. In a
// grouped set an added centroid joins the group of its nearest centre; a group of
// more than 128 rows is cut into groups of about 32 with centres of their own, one
// without rows is dropped, and all other centres stay where they are. A set
// becomes grouped above 20,000 rows and flat again below 10,000, by a full copy.
//
// Errors: ErrUnknownID for an id of remove that is not there, ErrDuplicateID for
// one of add that is there and not removed or that occurs twice, ErrShape for an
// add of other dimensions or bits.
func (s *Set) With(add *Builder, remove ...uint32) (*Set, error) {
	if add == nil {
		add = newBuilder(s.coder)
	}
	if add.coder != s.coder {
		return nil, fmt.Errorf("add %d dimensions of %d bits to %v: %w", add.coder.D(), add.coder.Bits(), s, ErrShape)
	}
	holes, err := s.locate(add, remove)
	if err != nil {
		return nil, err
	}
	size := s.Len() - len(holes) + add.Len()
	switch {
	case s.supers == nil && size <= exactRows:
		return s.editFlat(add, holes), nil
	case s.supers == nil:
		return group(s.editFlat(add, holes))
	case size < flatBelow:
		return s.flattened().editFlat(add, holes), nil
	default:
		return s.editGroups(add, holes)
	}
}

// locate returns the rows of the ids to remove, ascending, after checking them and
// the ids to add.
func (s *Set) locate(add *Builder, remove []uint32) ([]int32, error) {
	if err := uniqueIDs(add.blocks, add.Len()); err != nil {
		return nil, err
	}
	found := make(map[uint32]bool, len(remove))
	for _, id := range remove {
		found[id] = false
	}
	var wanted idFilter
	for _, id := range remove {
		wanted.add(id)
	}
	added := make(map[uint32]bool, add.Len())
	for _, b := range add.blocks {
		for _, id := range b.ids {
			added[id] = true
			wanted.add(id)
		}
	}
	holes := make([]int32, 0, len(found))
	for at, b := range s.blocks {
		for i, id := range b.ids {
			if !wanted.has(id) {
				continue
			}
			if _, ok := found[id]; ok {
				found[id] = true
				holes = append(holes, s.start[at]+int32(i))
			} else if added[id] {
				return nil, fmt.Errorf("add centroid %d: %w", id, ErrDuplicateID)
			}
		}
	}
	for id, ok := range found {
		if !ok {
			return nil, fmt.Errorf("remove centroid %d: %w", id, ErrUnknownID)
		}
	}
	return holes, nil
}

// idFilter tells quickly that an id is not one of a few.
type idFilter [16]uint64

func (f *idFilter) add(id uint32)      { f[id>>6&15] |= 1 << (id & 63) }
func (f *idFilter) has(id uint32) bool { return f[id>>6&15]>>(id&63)&1 != 0 }

// editFlat applies a change to a flat set: added rows fill the holes (ascending)
// and go on at the end; holes left over are filled from the end.
func (s *Set) editFlat(add *Builder, holes []int32) *Set {
	size := s.coder.CodeSize()
	blocks, owned := slices.Clone(s.blocks), make([]bool, len(s.blocks))
	own := func(at int) *block {
		if !owned[at] {
			blocks[at], owned[at] = blocks[at].clone(0, size), true
		}
		return blocks[at]
	}
	for _, b := range add.blocks {
		for i := range b.ids {
			if len(holes) > 0 {
				own(int(holes[0])/blockRows).set(int(holes[0])%blockRows, b, i, size)
				holes = holes[1:]
				continue
			}
			if last := len(blocks) - 1; last < 0 || len(blocks[last].ids) == blockRows {
				blocks, owned = append(blocks, newBlock(1, size)), append(owned, true)
			}
			own(len(blocks)-1).pushRow(b, i, size)
		}
	}
	for _, hole := range slices.Backward(holes) { // no hole lies behind it any more
		tail := own(len(blocks) - 1)
		last := len(tail.ids) - 1
		own(int(hole)/blockRows).set(int(hole)%blockRows, tail, last, size)
		tail.truncate(last, size)
		if last == 0 {
			blocks = blocks[:len(blocks)-1]
		}
	}
	for at := range blocks {
		blocks[at] = blocks[at].fitted(size)
	}
	return newSet(s.coder, blocks)
}

// flattened returns the rows of s, in their order, as a flat set.
func (s *Set) flattened() *Set {
	b := newBuilder(s.coder)
	size := s.coder.CodeSize()
	for _, blk := range s.blocks {
		for i := range blk.ids {
			b.push(blk.ids[i], blk.codes[i*size:(i+1)*size], blk.scale[i], blk.normSq[i])
		}
	}
	return b.flat()
}

// editGroups applies a change to a grouped set.
func (s *Set) editGroups(add *Builder, holes []int32) (*Set, error) {
	size := s.coder.CodeSize()
	blocks := slices.Clone(s.blocks)
	for at := range blocks { // the holes of a group are next to each other
		n := 0
		for n < len(holes) && holes[n] < s.start[at+1] {
			n++
		}
		if n > 0 {
			blocks[at] = without(blocks[at], holes[:n], s.start[at], size)
			holes = holes[n:]
		}
	}
	joining := make(map[int]*block) // new rows by group
	find := searcher{v: make([]float32, s.Dim())}
	for _, b := range add.blocks {
		for i := range b.ids {
			s.coder.DecodeParts(find.v, b.codes[i*size:(i+1)*size], b.scale[i])
			at := int(find.nearest(s.supers, find.v, 1)[0].Row)
			if joining[at] == nil {
				joining[at] = &block{}
			}
			joining[at].pushRow(b, i, size)
		}
	}
	reshaped := false
	for at, b := range blocks {
		if extra := joining[at]; extra != nil {
			grown := b.clone(len(b.ids)+len(extra.ids), size)
			for i := range extra.ids {
				grown.pushRow(extra, i, size)
			}
			blocks[at] = grown
		}
		n := len(blocks[at].ids)
		reshaped = reshaped || n == 0 || n > groupLimit
	}
	if !reshaped {
		changed := newSet(s.coder, blocks)
		changed.supers = s.supers
		return changed, nil
	}
	return s.reshape(blocks)
}

// without returns b, whose first row is first, without the given rows (ascending).
func without(b *block, rows []int32, first int32, size int) *block {
	kept := newBlock(len(b.ids)-len(rows), size)
	for i := range b.ids {
		if len(rows) > 0 && rows[0] == first+int32(i) {
			rows = rows[1:]
			continue
		}
		kept.pushRow(b, i, size)
	}
	return kept
}

// reshape returns a grouped set of the blocks, which stand at the centres of s,
// dropping empty groups and cutting those above groupLimit.
func (s *Set) reshape(blocks []*block) (*Set, error) {
	g, err := newGrouper(s.coder)
	if err != nil {
		return nil, err
	}
	for at, b := range blocks {
		if len(b.ids) <= groupLimit {
			g.keep(b, s.supers, at)
			continue
		}
		cut, err := group(newSet(s.coder, []*block{b}).flattened())
		if err != nil {
			return nil, err
		}
		for i, part := range cut.blocks {
			g.keep(part, cut.supers, i)
		}
	}
	return g.set(), nil
}
