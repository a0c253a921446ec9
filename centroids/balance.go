package centroids

import (
	"math"
	"slices"
)

// control evens out the counts of the cells and keeps their number at t.k:
//
//  1. Cells below a quarter of the target are dissolved: their rows go to the
//     cell nearest to their centroid (the next pass sends each its own way). They
//     stay when equal vectors leave more than half of the t.k cells unmade.
//  2. Cells above twice the target are cut in just enough parts to come below it.
//     When the cells dissolved do not make room for all parts, those below half of
//     the target are dissolved too, smallest first.
//  3. Room left over goes to the largest remaining cells, cut in two.
//
// Parts take the place of their cell in the order. A cell of equal rows stays
// whole. Means must be taken anew afterwards.
func (t *trainer) control(c *cells, pass int) error {
	plan := t.planSizes(c)
	cuts, err := t.cut(c, plan, pass)
	if err != nil {
		return err
	}
	cents, first := make([]float32, 0, len(c.cents)), make([]int32, c.len())
	for cell, parts := range plan {
		first[cell] = int32(len(cents) / t.dim)
		switch {
		case parts == 1:
			cents = append(cents, c.cents[cell*t.dim:][:t.dim]...)
		case parts > 1:
			cents = append(cents, cuts[cell].centres...)
		}
	}
	home, err := t.homes(c, plan, cents)
	if err != nil {
		return err
	}
	for cell, parts := range plan {
		for i, row := range c.members(cell) {
			switch {
			case parts == 0:
				c.of[row] = home[cell]
			case parts == 1:
				c.of[row] = first[cell]
			default:
				c.of[row] = first[cell] + cuts[cell].label[i]
			}
		}
	}
	c.cents = cents
	c.sort(len(cents) / t.dim)
	return nil
}

// pieces is a cell cut up: the new centroids and which of them each member gets.
type pieces struct {
	centres []float32
	label   []int32
}

// cut cuts the cells that plan cuts, at most into that many parts.
func (t *trainer) cut(c *cells, plan []int, pass int) ([]pieces, error) {
	cuts := make([]pieces, c.len())
	err := t.each(c.len(), func(worker, cell int) {
		if plan[cell] < 2 {
			return
		}
		rows := c.members(cell)
		centres := t.fitters[worker].fit(rows, plan[cell], t.rng(stepControl+pass, cell))
		made := pieces{slices.Clone(centres), make([]int32, len(rows))}
		for i, row := range rows {
			made.label[i] = nearestOf(t.vec(row), made.centres)
		}
		cuts[cell] = made
	})
	return cuts, err
}

// homes returns for each cell that plan dissolves the nearest of cents.
func (t *trainer) homes(c *cells, plan []int, cents []float32) ([]int32, error) {
	home := make([]int32, c.len())
	err := t.each(c.len(), func(_, cell int) {
		if plan[cell] == 0 && c.count(cell) > 0 {
			home[cell] = nearestOf(c.cents[cell*t.dim:][:t.dim], cents)
		}
	})
	return home, err
}

// planSizes returns into how many parts each cell is to be cut: 0 dissolves it.
func (t *trainer) planSizes(c *cells) []int {
	plan := make([]int, c.len())
	bySize := make([]int, c.len()) // smallest first
	for i := range plan {
		plan[i], bySize[i] = 1, i
	}
	slices.SortStableFunc(bySize, func(a, b int) int { return c.count(a) - c.count(b) })

	wanted := 0 // parts to be added
	for i := range plan {
		if n := float64(c.count(i)); n > 2*t.target {
			plan[i] = min(maxBranch, int(math.Ceil(n/t.target/2)))
			wanted += plan[i] - 1
		}
	}
	room, least := t.k-c.len(), t.target/4
	if 2*c.len() <= t.k {
		least = 1
	}
	for _, i := range bySize[:len(bySize)-1] {
		n := float64(c.count(i))
		if room < 0 || n < least || (room < wanted && n < t.target/2) {
			plan[i] = 0
			room++
		}
	}
	for j := len(bySize) - 1; j >= 0; j-- {
		i := bySize[j]
		switch {
		case plan[i] > 1:
			plan[i] = min(plan[i], 1+max(room, 0))
			room -= plan[i] - 1
		case plan[i] == 1 && room > 0 && float64(c.count(i)) >= max(2, 1.25*t.target):
			plan[i] = 2
			room--
		}
	}
	return plan
}
