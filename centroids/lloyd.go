package centroids

import "github.com/spratdb/sprat/rq/simd"

// assign moves every row to the nearest of the cells around its own (ties to the
// first cell) and sorts the rows anew. Means must be up to date.
func (t *trainer) assign(c *cells, width int) error {
	around, err := t.neighbours(c, width)
	if err != nil {
		return err
	}
	var spans []span
	for cell := range c.len() {
		spans = appendSpans(spans, int32(cell), c.start[cell], c.start[cell+1], 512)
	}
	gathered := make([][]float32, t.workers)
	err = t.each(len(spans), func(worker, task int) {
		s := spans[task]
		list := around.of(int(s.owner))
		rows := resize(gathered[worker], len(list)*t.dim)
		gathered[worker] = rows
		for i, cell := range list {
			copy(rows[i*t.dim:], c.cents[int(cell)*t.dim:][:t.dim])
		}
		for _, row := range c.order[s.lo:s.hi] {
			c.of[row] = nearestCell(t.vec(row), rows, list)
		}
	})
	if err != nil {
		return err
	}
	c.sort(c.len())
	return nil
}

// nearestCell returns the cell of list whose centroid, the row of rows at its
// place, is nearest to v; ties go to the lower cell.
func nearestCell(v, rows []float32, list []int32) int32 {
	best, at := simd.L2F32(v, rows[:len(v)]), list[0]
	for i := 1; i < len(list); i++ {
		d := simd.L2F32(v, rows[i*len(v):][:len(v)])
		if d < best || (d == best && list[i] < at) {
			best, at = d, list[i]
		}
	}
	return at
}
