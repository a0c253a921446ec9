package lire

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spratdb/sprat/rq/simd"
)

const (
	// bisectPasses is the most passes of one bisection, and refinePasses those over
	// all centroids that follow.
	bisectPasses = 10
	refinePasses = 2
	// minShare is the least share of a bisection that a side gets.
	minShare = 0.3
)

// placer places centroids over vectors. It belongs to one goroutine.
type placer struct {
	ctx     context.Context
	d       int
	vectors []float32 // [n][d]
	rng     *rand.Rand

	side   []float32 // of each row of a bisection: below 0 on the left
	isLeft []bool
	sum    []float64
}

func (p *placer) row(i int32) []float32 { return p.vectors[int(i)*p.d:][:p.d] }

// place returns at most k centroids [k][d] over the rows, which it reorders:
// bisection, then a few passes of plain k-means, because a mean that balance has
// moved away from its rows is no good centroid. Rows that are all equal give one,
// no rows none.
func (p *placer) place(rows []int32, k int) ([]float32, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	cents, err := p.bisect(nil, rows, min(k, len(rows)))
	for range refinePasses {
		if err == nil && len(cents) > p.d {
			cents, err = p.refine(rows, cents)
		}
	}
	return cents, err
}

// bisect appends the centroids of up to k cells of the rows, which it reorders.
// Both sides get cells in proportion to their rows.
func (p *placer) bisect(dst []float32, rows []int32, k int) ([]float32, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	left := 0
	if k > 1 {
		left = p.halve(rows)
	}
	if left == 0 {
		return p.appendMean(dst, rows), nil
	}
	kLeft := int(math.Round(float64(k) * float64(left) / float64(len(rows))))
	kLeft = max(1, min(k-1, kLeft))
	dst, err := p.bisect(dst, rows[:left], kLeft)
	if err != nil {
		return nil, err
	}
	return p.bisect(dst, rows[left:], k-kLeft)
}

// halve divides the rows by 2-means in which each side keeps minShare of them: in
// a pass, a row is on the side of the nearer mean, but where that leaves too few on
// a side, it gets those of the others that are nearest to the border. It reorders
// the rows and returns how many are on the left, 0 when all are equal.
func (p *placer) halve(rows []int32) (left int) {
	a, b, ok := p.seeds(rows)
	if !ok {
		return 0
	}
	n := len(rows)
	p.side, p.isLeft = resize(p.side, n), resize(p.isLeft, n)
	clear(p.isLeft)
	total, sum := make([]float64, p.d), make([]float64, p.d)
	for _, i := range rows {
		accumulate(total, p.row(i), 1)
	}
	normal := make([]float32, p.d)
	for range bisectPasses {
		// ||x-a||² < ||x-b||² is <x,b-a> < <(a+b)/2, b-a>.
		simd.SubScale(normal, b, a, 1)
		border := (simd.DotF32(a, normal) + simd.DotF32(b, normal)) / 2
		for at, i := range rows {
			p.side[at] = simd.DotF32(p.row(i), normal) - border
		}
		p.balance(n)
		changed := false
		for at, i := range rows {
			isLeft := p.side[at] < 0
			if isLeft == p.isLeft[at] {
				continue
			}
			changed, p.isLeft[at] = true, isLeft
			sign := 1.0
			if !isLeft {
				sign = -1
			}
			left += int(sign)
			accumulate(sum, p.row(i), sign)
		}
		if !changed {
			break
		}
		for j := range normal {
			a[j] = float32(sum[j] / float64(left))
			b[j] = float32((total[j] - sum[j]) / float64(n-left))
		}
	}
	return p.partition(rows)
}

// balance moves the border so that at least minShare of the n sides, and one, lie
// on either hand: afterwards a side is below 0 exactly when it is the left one.
func (p *placer) balance(n int) {
	left := 0
	for _, s := range p.side[:n] {
		if s < 0 {
			left++
		}
	}
	least := max(1, int(minShare*float64(n)))
	want := max(least, min(n-least, left))
	if want == left {
		return
	}
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(p.side[i], p.side[j]), cmp.Compare(i, j))
	})
	for rank, i := range order {
		p.side[i] = float32(rank-want) + 0.5
	}
}

// partition puts the left rows first, both sides in their order, and returns how
// many there are.
func (p *placer) partition(rows []int32) (left int) {
	var right []int32
	for at, i := range rows {
		if p.isLeft[at] {
			rows[left] = i
			left++
		} else {
			right = append(right, i)
		}
	}
	copy(rows[left:], right)
	return left
}

// seeds returns copies of two different rows: one at random, and one with a chance
// in proportion to its squared distance from the first (k-means++). ok is false
// when all rows are equal, or too long for their distances.
func (p *placer) seeds(rows []int32) (a, b []float32, ok bool) {
	if len(rows) < 2 {
		return nil, nil, false
	}
	a = slices.Clone(p.row(rows[p.rng.IntN(len(rows))]))
	p.side = resize(p.side, len(rows))
	total := 0.0
	for at, i := range rows {
		p.side[at] = simd.L2F32(p.row(i), a)
		total += float64(p.side[at])
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return nil, nil, false
	}
	pick := p.rng.Float64() * total
	for at, i := range rows {
		if p.side[at] > 0 {
			b = p.row(i) // the last such row, should rounding pass the end
			if pick -= float64(p.side[at]); pick < 0 {
				break
			}
		}
	}
	return a, slices.Clone(b), true
}

// refine gives each row to its nearest centroid and returns the means, without
// those of no rows.
func (p *placer) refine(rows []int32, cents []float32) ([]float32, error) {
	k := len(cents) / p.d
	cells := make([][]int32, k)
	for at, i := range rows {
		if at%1024 == 0 && p.ctx.Err() != nil {
			return nil, p.ctx.Err()
		}
		c, _ := nearest(p.row(i), cents)
		cells[c] = append(cells[c], i)
	}
	means := make([]float32, 0, len(cents))
	for _, cell := range cells {
		if len(cell) > 0 {
			means = p.appendMean(means, cell)
		}
	}
	return means, nil
}

// appendMean appends the mean of the rows, at least one.
func (p *placer) appendMean(dst []float32, rows []int32) []float32 {
	p.sum = resize(p.sum, p.d)
	clear(p.sum)
	for _, i := range rows {
		accumulate(p.sum, p.row(i), 1)
	}
	for _, x := range p.sum {
		dst = append(dst, float32(x/float64(len(rows))))
	}
	return dst
}

// nearest returns the first of the centroids [k][len(v)] that is nearest to v, and
// its squared distance; without centroids, +Inf.
func nearest(v, cents []float32) (at int, distSq float32) {
	distSq = float32(math.Inf(1))
	for i := 0; len(cents) > 0; i++ {
		if d := simd.L2F32(v, cents[:len(v)]); d < distSq {
			at, distSq = i, d
		}
		cents = cents[len(v):]
	}
	return at, distSq
}

// accumulate adds sign·v to sum, for sign 1 or -1.
func accumulate(sum []float64, v []float32, sign float64) {
	v = v[:len(sum)]
	for j, x := range v {
		sum[j] += float64(sign * float64(x))
	}
}

// resize returns s with length n, its contents undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
