package centroids

import (
	"encoding/binary"
	"math"
)

// cells is a partition of the used rows with one centroid a cell.
type cells struct {
	cents []float32 // [k][dim]
	of    []int32   // cell of a row
	order []int32   // rows sorted by cell, ascending within a cell
	start []int32   // members of cell c are order[start[c]:start[c+1]]
}

// len returns the number of cells.
func (c *cells) len() int { return len(c.start) - 1 }

// count returns the number of members of cell i.
func (c *cells) count(i int) int { return int(c.start[i+1] - c.start[i]) }

// members returns the rows of cell i.
func (c *cells) members(i int) []int32 { return c.order[c.start[i]:c.start[i+1]] }

// sort rebuilds order and start for k cells from c.of.
func (c *cells) sort(k int) {
	c.start = make([]int32, k+1)
	for _, cell := range c.of {
		c.start[cell+1]++
	}
	for i := range k {
		c.start[i+1] += c.start[i]
	}
	at := append([]int32(nil), c.start...)
	for row, cell := range c.of {
		c.order[at[cell]] = int32(row)
		at[cell]++
	}
}

// means moves every centroid to the mean of its members. An empty cell keeps its
// centroid.
func (t *trainer) means(c *cells) error {
	sums := make([][]float64, t.workers)
	return t.each(c.len(), func(worker, cell int) {
		if c.count(cell) == 0 {
			return
		}
		if sums[worker] == nil {
			sums[worker] = make([]float64, t.dim)
		}
		sum := sums[worker]
		clear(sum)
		for _, row := range c.members(cell) {
			addTo(sum, t.vec(row))
		}
		scale := 1 / float64(c.count(cell))
		for j, cent := 0, c.cents[cell*t.dim:][:t.dim]; j < len(cent); j++ {
			cent[j] = float32(sum[j] * scale)
		}
	})
}

// distinct returns the centroids of the cells that have members, each value once.
func distinct(c *cells, dim int) []float32 {
	seen := make(map[string]bool, c.len())
	kept := make([]float32, 0, len(c.cents))
	key := make([]byte, 0, 4*dim)
	for cell := range c.len() {
		if c.count(cell) == 0 {
			continue
		}
		cent := c.cents[cell*dim:][:dim]
		key = key[:0]
		for _, x := range cent {
			key = binary.LittleEndian.AppendUint32(key, math.Float32bits(x+0)) // +0 folds -0 into 0
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			kept = append(kept, cent...)
		}
	}
	return kept
}
