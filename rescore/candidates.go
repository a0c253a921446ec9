package rescore

import (
	"math"
	"slices"
)

// Tier says how well a candidate's distance is known.
type Tier uint8

const (
	Estimated Tier = iota // from posting codes
	Refined               // from a refine record
	Exact                 // from the vector record
)

// Candidate is a vector that may be among the k nearest.
type Candidate struct {
	Slot  uint32
	Tier  Tier
	Dist  float32 // ||q-v||² as known at Tier
	Sigma float32 // one standard deviation of Dist; 0 when exact
}

// Lower is the candidate's lower bound at eps standard deviations.
func (c *Candidate) Lower(eps float32) float32 { return c.Dist - eps*c.Sigma }

// Candidates is the candidate set of one query: unique by slot, with the k-th
// best distance as the bound that new entries must beat. It is reused from
// query to query.
type Candidates struct {
	k     int
	list  []Candidate
	table []int32 // open addressing, index into list + 1; 0 is empty
	mask  uint32

	limit   float32 // k-th smallest distance when last computed
	grown   int     // additions since limit was computed
	scratch []float32
}

// Reset empties the set for a query of k results.
func (c *Candidates) Reset(k int) {
	c.k, c.list, c.grown = k, c.list[:0], 0
	c.limit = float32(math.Inf(1))
	if c.table == nil {
		c.table, c.mask = make([]int32, 1024), 1023
		return
	}
	clear(c.table)
}

// Len is the number of distinct slots in the set.
func (c *Candidates) Len() int { return len(c.list) }

// All returns the candidates; the slice is valid until the next Add or Reset,
// and its elements may be changed in place except for Slot.
func (c *Candidates) All() []Candidate { return c.list }

// Add puts an estimate into the set. A slot seen before, in another posting,
// keeps the mean of its estimates weighted by their precision: codes relative
// to different centroids err almost independently, which is what the SOAR rule
// chooses copies for (SOAR, NeurIPS 2023).
func (c *Candidates) Add(slot uint32, est, sigma float32) {
	if 4*(len(c.list)+1) > 3*len(c.table) {
		c.rehash(2 * len(c.table))
	}
	for i := slotHash(slot) & c.mask; ; i = (i + 1) & c.mask {
		at := c.table[i]
		if at == 0 {
			c.list = append(c.list, Candidate{Slot: slot, Dist: est, Sigma: sigma})
			c.table[i] = int32(len(c.list))
			c.grown++
			return
		}
		if e := &c.list[at-1]; e.Slot == slot {
			e.Dist, e.Sigma = combine(e.Dist, e.Sigma, est, sigma)
			c.grown++
			return
		}
	}
}

// combine is the precision-weighted mean of two estimates. Their errors are
// taken to correlate by half, so two equal ones shrink sigma by 13 %, not 29 %.
func combine(d1, s1, d2, s2 float32) (d, s float32) {
	if s1 == 0 {
		return d1, 0
	}
	if s2 == 0 {
		return d2, 0
	}
	// Sigmas are of squared distances: their squares need float64.
	a, b := float64(s1), float64(s2)
	f1 := b * b / (a*a + b*b)
	f2 := 1 - f1
	const correlation = 0.5
	v := f1*f1*a*a + f2*f2*b*b + 2*correlation*f1*f2*a*b
	return float32(f1*float64(d1) + f2*float64(d2)), min(float32(math.Sqrt(v)), s1, s2)
}

// Limit is the k-th smallest distance in the set, +Inf while it holds fewer
// than k. It may lag behind additions by a few percent of the set, which only
// lets more candidates in.
func (c *Candidates) Limit() float32 {
	if len(c.list) < c.k {
		return float32(math.Inf(1))
	}
	if c.grown > c.k/64 {
		c.limit = c.kth(c.k)
		c.grown = 0
	}
	return c.limit
}

// Settle recomputes the limit after the caller changed distances in place.
func (c *Candidates) Settle() float32 {
	c.grown = len(c.list) + c.k
	return c.Limit()
}

// Want changes the number of results that the limit is for, and keeps the
// candidates.
func (c *Candidates) Want(k int) { c.k, c.grown = k, len(c.list)+k }

// Keep drops the candidates that keep does not want.
func (c *Candidates) Keep(keep func(*Candidate) bool) {
	kept := c.list[:0]
	for i := range c.list {
		if keep(&c.list[i]) {
			kept = append(kept, c.list[i])
		}
	}
	c.list = kept
	c.grown = len(kept) + c.k
	c.rehash(len(c.table))
}

// Cut keeps the n candidates of smallest distance.
func (c *Candidates) Cut(n int) {
	if len(c.list) <= n {
		return
	}
	if len(c.list) > 2*n && n > 0 { // sorting all of many would cost more than finding the bound
		bound := c.kth(n)
		kept := c.list[:0]
		for _, e := range c.list {
			if e.Dist <= bound {
				kept = append(kept, e)
			}
		}
		c.list = kept
	}
	slices.SortFunc(c.list, compareDist)
	c.list = c.list[:n]
	c.rehash(len(c.table))
}

// Prune drops the candidates whose lower bound is above the limit.
func (c *Candidates) Prune(eps float32) {
	limit := c.Settle()
	kept := c.list[:0]
	for _, e := range c.list {
		if e.Lower(eps) <= limit {
			kept = append(kept, e)
		}
	}
	c.list = kept
	c.rehash(len(c.table))
}

// kth returns the k-th smallest distance; there are at least k candidates.
func (c *Candidates) kth(k int) float32 {
	c.scratch = c.scratch[:0]
	for i := range c.list {
		c.scratch = append(c.scratch, c.list[i].Dist)
	}
	return selectKth(c.scratch, k)
}

func (c *Candidates) rehash(size int) {
	if size != len(c.table) {
		c.table, c.mask = make([]int32, size), uint32(size-1)
	} else {
		clear(c.table)
	}
	for k := range c.list {
		i := slotHash(c.list[k].Slot) & c.mask
		for c.table[i] != 0 {
			i = (i + 1) & c.mask
		}
		c.table[i] = int32(k + 1)
	}
}

func slotHash(slot uint32) uint32 {
	h := slot * 0x9e3779b1
	return h ^ h>>15
}

func compareDist(a, b Candidate) int {
	switch {
	case a.Dist < b.Dist:
		return -1
	case a.Dist > b.Dist:
		return 1
	case a.Slot < b.Slot:
		return -1
	case a.Slot > b.Slot:
		return 1
	}
	return 0
}

// selectKth returns the k-th smallest of a (1-based), reordering it: Hoare's
// quickselect with the median of three as the pivot.
func selectKth(a []float32, k int) float32 {
	lo, hi, want := 0, len(a)-1, k-1
	for lo < hi {
		p := medianOfThree(a[lo], a[lo+(hi-lo)/2], a[hi])
		i, j := lo, hi
		for i <= j {
			for a[i] < p {
				i++
			}
			for a[j] > p {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i++
				j--
			}
		}
		switch {
		case want <= j:
			hi = j
		case want >= i:
			lo = i
		default:
			return a[want]
		}
	}
	return a[want]
}

func medianOfThree(a, b, c float32) float32 {
	return max(min(a, b), min(max(a, b), c))
}
