package centroids

import (
	"math/rand/v2"

	"github.com/spratdb/sprat/rq/simd"
)

const (
	// fitPerCentre bounds the rows that place the centres of one small k-means.
	fitPerCentre = 64
	// fitPasses is the most Lloyd passes it makes.
	fitPasses = 8
)

// fitter places a few centres over some rows. It belongs to one goroutine.
//
// Distances are taken from the differences, not from norms and dot products: one
// huge outlier would otherwise cancel the digits that tell all others apart.
type fitter struct {
	t       *trainer
	points  []float32 // [m][dim]
	centres []float32 // [b][dim]
	near    []float32 // squared distance of each point to its nearest seed
	label   []int32   // centre of each point, -1 before the first pass
	counts  []int32
	sums    []float64
}

// fit returns at most b distinct centres [b][dim] over rows, by k-means++ seeds
// and Lloyd passes on at most 64 rows a centre. They are valid until the next call.
func (f *fitter) fit(rows []int32, b int, rng *rand.Rand) []float32 {
	f.gather(rows, b, rng)
	f.seed(b, rng)
	for range fitPasses {
		if !f.assign() {
			break
		}
		f.means()
	}
	return f.centres
}

// gather copies an even share of the rows.
func (f *fitter) gather(rows []int32, b int, rng *rand.Rand) {
	m, dim := min(len(rows), b*fitPerCentre), f.t.dim
	f.points, f.label = resize(f.points, m*dim), resize(f.label, m)
	for i := range m {
		copy(f.points[i*dim:][:dim], f.t.vec(rows[stratum(i, m, len(rows), rng)]))
		f.label[i] = -1
	}
}

// stratum returns a random member of the i-th of m even parts of 0..n-1, m <= n.
func stratum(i, m, n int, rng *rand.Rand) int {
	lo, hi := i*n/m, (i+1)*n/m
	return lo + rng.IntN(hi-lo)
}

// seed chooses up to b centres among the points by k-means++: each next one with
// a chance in proportion to its squared distance to the nearest chosen. It stops
// when every point equals a centre.
func (f *fitter) seed(b int, rng *rand.Rand) {
	dim, m := f.t.dim, len(f.label)
	f.near, f.centres = resize(f.near, m), f.centres[:0]
	pick := rng.IntN(m)
	for n := 1; ; n++ {
		c := f.points[pick*dim:][:dim]
		f.centres = append(f.centres, c...)
		if n == b {
			return
		}
		total := 0.0
		for i := range m {
			d := simd.L2F32(f.points[i*dim:][:dim], c)
			if n == 1 || d < f.near[i] {
				f.near[i] = d
			}
			total += float64(f.near[i])
		}
		if total == 0 {
			return
		}
		pick = weighted(f.near, rng.Float64()*total)
	}
}

// weighted returns the first index at which the running sum of w passes at,
// and never an index of weight 0 (some weight must be positive).
func weighted(w []float32, at float64) int {
	last := 0
	for i, x := range w {
		if x <= 0 {
			continue
		}
		last = i
		if at -= float64(x); at < 0 {
			return i
		}
	}
	return last
}

// assign labels the points with their nearest centres and tells whether any
// label changed.
func (f *fitter) assign() bool {
	changed := false
	for i, old := range f.label {
		f.label[i] = nearestOf(f.points[i*f.t.dim:][:f.t.dim], f.centres)
		changed = changed || f.label[i] != old
	}
	return changed
}

// means moves the centres to the means of their points and drops those that
// have none; labels then no longer fit and are forgotten.
func (f *fitter) means() {
	dim, b := f.t.dim, len(f.centres)/f.t.dim
	f.counts, f.sums = resize(f.counts, b), resize(f.sums, b*dim)
	clear(f.counts)
	clear(f.sums)
	for i, label := range f.label {
		f.counts[label]++
		addTo(f.sums[int(label)*dim:][:dim], f.points[i*dim:])
	}
	f.centres = f.centres[:0]
	for c, n := range f.counts {
		if n == 0 {
			continue
		}
		for _, x := range f.sums[c*dim:][:dim] {
			f.centres = append(f.centres, float32(x/float64(n)))
		}
	}
	if len(f.centres) < b*dim {
		for i := range f.label {
			f.label[i] = -1
		}
	}
}

// nearestOf returns the index of the vector of rows [n][len(v)] nearest to v;
// ties go to the first.
func nearestOf(v, rows []float32) int32 {
	dim := len(v)
	best, at := simd.L2F32(v, rows[:dim]), 0
	for i := 1; (i+1)*dim <= len(rows); i++ {
		if d := simd.L2F32(v, rows[i*dim:][:dim]); d < best {
			best, at = d, i
		}
	}
	return int32(at)
}

// addTo adds v to sum.
func addTo(sum []float64, v []float32) {
	v = v[:len(sum)]
	for j, x := range v {
		sum[j] += float64(x)
	}
}

// resize returns s with length n, its contents undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
