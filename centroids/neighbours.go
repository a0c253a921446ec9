package centroids

import (
	"slices"

	"github.com/spratdb/sprat/rq"
)

// neighbourhood holds for every cell the cells around it, itself included.
type neighbourhood struct {
	size  int
	cells []int32 // [k][size]
}

func (n neighbourhood) of(cell int) []int32 { return n.cells[cell*n.size:][:n.size] }

// searcher is the scratch memory of one goroutine that searches a set.
type searcher struct {
	q    rq.Query
	ws   Workspace
	near []Neighbor
	v    []float32
}

// nearest searches the neighbours of v. They are valid until the next call.
func (s *searcher) nearest(set *Set, v []float32, n int) []Neighbor {
	s.q.Reset(v)
	s.near = set.Nearest(s.near, &s.q, n, &s.ws)
	return s.near
}

// neighbours finds the cells around every cell, with the search that the index
// itself uses: up to 20,000 cells exact but for the rounding of the 8-bit codes.
func (t *trainer) neighbours(c *cells, width int) (neighbourhood, error) {
	k := c.len()
	size := min(width, k)
	around := neighbourhood{size, make([]int32, k*size)}
	b, err := encodeAll(c.cents, t.dim)
	if err != nil {
		return around, err
	}
	set, err := b.Set()
	if err != nil {
		return around, err
	}
	searchers := make([]searcher, t.workers)
	err = t.each(k, func(worker, cell int) {
		list := around.of(cell)
		for i, n := range searchers[worker].nearest(set, c.cents[cell*t.dim:][:t.dim], size) {
			list[i] = int32(n.ID)
		}
		if !slices.Contains(list, int32(cell)) { // possible among equal centroids
			list[size-1] = int32(cell)
		}
	})
	return around, err
}
