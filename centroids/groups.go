package centroids

import (
	"context"
	"math/rand/v2"
	"runtime"

	"github.com/spratdb/sprat/rq"
)

const (
	// groupRows is the mean number of rows of a new group. Small groups are worth
	// their centres: for 0.99 of the 256 nearest of 100,000 centroids of sift128,
	// groups of 96 need 12,000 rows scanned, groups of 32 only 8,000.
	groupRows = 32
	// groupLimit is the size above which With cuts a group.
	groupLimit = 4 * groupRows
	// groupSample is the number of rows a group of which groups are trained, as
	// long as that is no more than groupSampleFloats in all.
	groupSample       = 32
	groupSampleFloats = 16 << 20
	// groupSeed makes the groups of equal sets equal.
	groupSeed = 0x67726f757073
)

// grouper puts a grouped set together.
type grouper struct {
	coder  rq.CentroidCoder
	blocks []*block
	supers *Builder
}

func newGrouper(coder rq.CentroidCoder) (*grouper, error) {
	supers, err := NewBuilder(coder.D(), 8)
	return &grouper{coder: coder, supers: supers}, err
}

// keep adds a group and its centre, row at of supers, unless the group is empty.
func (g *grouper) keep(rows *block, supers *Set, at int) {
	if len(rows.ids) == 0 {
		return
	}
	code, scale, normSq := supers.Code(int32(at))
	g.supers.push(uint32(len(g.blocks)), code, scale, normSq)
	g.blocks = append(g.blocks, rows)
}

// set returns the groups as a set, a flat and empty one when there are none.
func (g *grouper) set() *Set {
	s := newSet(g.coder, g.blocks)
	if len(g.blocks) > 0 {
		s.supers = g.supers.flat()
	}
	return s
}

// group returns the rows of s, at least one, grouped by nearness for a search in
// two levels: centres are trained on a sample of the decoded rows, and every row
// joins the group of its nearest centre.
func group(s *Set) (*Set, error) {
	supers, err := trainSupers(s, (s.Len()+groupRows-1)/groupRows)
	if err != nil {
		return nil, err
	}
	home := make([]int32, s.Len())
	all := crew{context.Background(), runtime.GOMAXPROCS(0)}
	searchers := make([]searcher, all.workers)
	err = all.each(len(s.blocks), func(worker, at int) {
		find := &searchers[worker]
		find.v = resize(find.v, s.Dim())
		for row := s.start[at]; row < s.start[at+1]; row++ {
			s.Decode(row, find.v)
			home[row] = find.nearest(supers, find.v, 1)[0].Row
		}
	})
	if err != nil {
		return nil, err
	}
	g, err := newGrouper(s.coder)
	if err != nil {
		return nil, err
	}
	for at, rows := range s.scatter(home, supers.Len()) {
		g.keep(rows, supers, at)
	}
	return g.set(), nil
}

// scatter copies the rows of s into n blocks; row i goes to block home[i].
func (s *Set) scatter(home []int32, n int) []*block {
	counts := make([]int, n)
	for _, at := range home {
		counts[at]++
	}
	size := s.coder.CodeSize()
	blocks := make([]*block, n)
	for at := range blocks {
		blocks[at] = newBlock(counts[at], size)
	}
	row := 0
	for _, b := range s.blocks {
		for i := range b.ids {
			blocks[home[row]].pushRow(b, i, size)
			row++
		}
	}
	return blocks
}

// trainSupers returns a flat set of at most k centres of the rows of s, ids being
// rows.
func trainSupers(s *Set, k int) (*Set, error) {
	m := min(s.Len(), k*groupSample, max(k, groupSampleFloats/s.Dim()))
	rng := rand.New(rand.NewPCG(groupSeed, 0))
	sample := make([]float32, m*s.Dim())
	for i := range m {
		s.Decode(int32(stratum(i, m, s.Len(), rng)), sample[i*s.Dim():][:s.Dim()])
	}
	cents, err := Train(context.Background(), sample, TrainConfig{Dim: s.Dim(), K: k, Seed: groupSeed})
	if err != nil {
		// All are too long to be squared, so every distance is the same: any one
		// centre will do.
		cents = sample[:s.Dim()]
	}
	b, err := encodeAll(cents, s.Dim())
	if err != nil {
		return nil, err
	}
	return b.flat(), nil
}

// encodeAll returns a Builder with the vectors [k][dim] in 8 bits, ids being rows.
func encodeAll(vectors []float32, dim int) (*Builder, error) {
	b, err := NewBuilder(dim, 8)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(vectors)/dim; i++ {
		if err := b.Add(uint32(i), vectors[i*dim:][:dim]); err != nil {
			return nil, err
		}
	}
	return b, nil
}
