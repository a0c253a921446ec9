package fio

// corrected improves the mean cost of a cell by that of another, the base, which
// more queries were measured for. The costs of queries scatter as much as they
// are large, so the mean of a hundred is off by a tenth; but a query that costs
// much in one cell costs much in all. So the base tells whether the queries of
// this cell were cheap ones, and by how much to correct (a regression estimator,
// with the base as the control variate). The time of processors changes with the
// reads.
func (r *loopResult) corrected(c Cost, base *loopResult) Cost {
	if base == nil || len(base.mu.works) <= len(r.mu.works) {
		return c
	}
	all := mean(base.mu.works, func(int64) bool { return true })
	both := func(n int64) bool { _, ok := r.mu.works[n]; return ok }
	part := mean(base.mu.works, both)
	before := c.Reads
	reads := func(c Cost) float64 { return c.Reads }
	bytes := func(c Cost) float64 { return c.Bytes }
	waves := func(c Cost) float64 { return c.Waves }
	c.Reads += slope(r.mu.works, base.mu.works, reads) * (all.Reads - part.Reads)
	c.Bytes += slope(r.mu.works, base.mu.works, bytes) * (all.Bytes - part.Bytes)
	c.Waves += slope(r.mu.works, base.mu.works, waves) * (all.Waves - part.Waves)
	if before > 0 && c.Reads > 0 {
		c.CPUTime *= c.Reads / before
	}
	return c.rounded()
}

// slope is that of the least-squares line of a cost over the base's cost of the
// same query, over the queries that both have; 0 when the base does not vary.
func slope(works, base map[int64]Cost, of func(Cost) float64) float64 {
	var n, x, y, xx, xy float64
	for number, w := range works {
		b, ok := base[number]
		if !ok {
			continue
		}
		bx, wy := of(b), of(w)
		n, x, y, xx, xy = n+1, x+bx, y+wy, xx+bx*bx, xy+bx*wy
	}
	if spread := n*xx - x*x; spread > 1e-9*n*xx {
		return (n*xy - x*y) / spread
	}
	return 0
}
