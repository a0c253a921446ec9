package bench

import (
	"fmt"
	"math"
	"sort"

	"github.com/spratdb/sprat/rq/simd"
)

const (
	batchBytes = 4 << 20   // base vectors that are read ahead at once
	tileBytes  = 128 << 10 // base vectors that should stay in the L2 cache
)

// batch is a run of base rows with what does not depend on the query.
type batch struct {
	dim     int
	tile    int   // rows that are scanned together
	first   int64 // id of the first row
	n       int
	rows    []float32 // [n][dim] of a fixed capacity
	normSq  []float64 // squared length of each row
	norm    []float64 // length of each row
	maxNorm float64
}

func newBatch(dim int) *batch {
	rows := max(batchBytes/(4*dim), 1)
	return &batch{
		dim: dim, tile: max(tileBytes/(4*dim), 1),
		rows: make([]float32, rows*dim), normSq: make([]float64, rows), norm: make([]float64, rows),
	}
}

func (b *batch) cap() int { return len(b.norm) }

func (b *batch) reset(first int64) { b.first, b.n, b.maxNorm = first, 0, 0 }

// add appends a row.
func (b *batch) add(v []float32, metric string) error {
	id := b.first + int64(b.n)
	if id > math.MaxInt32 {
		return fmt.Errorf("bench: truth: more than %d base rows", math.MaxInt32)
	}
	if len(v) != b.dim {
		return fmt.Errorf("bench: truth: base row %d has %d values, want %d", id, len(v), b.dim)
	}
	n2 := simd.SumSqF64(v)
	if n2 == 0 && metric == Cosine {
		return fmt.Errorf("bench: truth: base row %d: %w", id, ErrZeroVector)
	}
	copy(b.rows[b.n*b.dim:(b.n+1)*b.dim], v)
	b.normSq[b.n], b.norm[b.n] = n2, math.Sqrt(n2)
	b.maxNorm = max(b.maxNorm, b.norm[b.n])
	b.n++
	return nil
}

// hit is one candidate: its id and its key, the exact value that orders candidates.
type hit struct {
	key float64
	id  int32
}

// search is the state of one query. One goroutine at a time uses it, and it sees
// the base in ascending order of ids.
type search struct {
	metric string
	q      []float32
	normSq float64
	norm   float64
	gamma  float64 // |rounding error of a float32 dot product| <= gamma |q||x| + tiny
	tiny   float64
	k      int
	found  []hit // ascending by key, then id; at most k
}

// newSearches prepares the queries.
func newSearches(cfg TruthConfig, dim int) ([]search, error) {
	searches := make([]search, len(cfg.Queries))
	for i, q := range cfg.Queries {
		if len(q) != dim {
			return nil, fmt.Errorf("bench: truth: query %d has %d values, the base %d", i, len(q), dim)
		}
		n2 := simd.SumSqF64(q)
		if n2 == 0 && cfg.Metric == Cosine {
			return nil, fmt.Errorf("bench: truth: query %d: %w", i, ErrZeroVector)
		}
		// A sum of dim products, in any order, is off by at most dim u / (1 - dim
		// u) of the sum of their magnitudes (Higham, section 3.1), u = 2^-24, and
		// by half the smallest subnormal for each product that underflows. The 8 on
		// top covers the float64 arithmetic around it.
		nu := float64(dim+8) * 0x1p-24
		searches[i] = search{
			metric: cfg.Metric, q: q, normSq: n2, norm: math.Sqrt(n2), k: cfg.K,
			gamma: nu / (1 - nu), tiny: float64(dim) * 0x1p-149,
		}
	}
	return searches, nil
}

// worst is the key a new candidate must stay below.
func (s *search) worst() float64 {
	if len(s.found) < s.k {
		return math.Inf(1)
	}
	return s.found[s.k-1].key
}

// filter holds the coefficients of the test by which a row is dropped on its
// float32 dot product alone:
//
//	sq |x|² + lin |x| - dot <q,x>  >  limit
//
// For each metric this says that the lower bound of the row's key, which is the key
// at <q,x> + error, lies above the worst key kept.
type filter struct{ sq, lin, dot, limit float64 }

// filter derives the test from the worst key kept so far.
func (s *search) filter() filter {
	worst, g := s.worst(), s.gamma*s.norm
	switch s.metric {
	case Cosine: // 1 - (<q,x> + e)/(|q||x|) > worst
		return filter{0, (1-worst)*s.norm - g, 1, s.tiny}
	case Dot: // -(<q,x> + e) > worst
		return filter{0, -g, 1, worst + s.tiny}
	}
	// |q|² + |x|² - 2(<q,x> + e) > worst, where the float64 sums themselves may be
	// off by a little of the squares.
	const less, more = 1 - 1e-12, 1 + 1e-12
	return filter{less, -2 * g, 2, worst*more - s.normSq*less + 2*s.tiny}
}

// scan looks at the rows lo to hi of b. dots is scratch of at least hi-lo values.
func (s *search) scan(b *batch, lo, hi int, dots []float32) {
	if s.norm*b.maxNorm > math.MaxFloat32/2 {
		// Products may overflow float32, where the error bound ends.
		for i := lo; i < hi; i++ {
			s.offer(b, i)
		}
		return
	}
	dots = dots[:hi-lo]
	simd.DotRowsF32(dots, s.q, b.rows[lo*b.dim:hi*b.dim])
	normSq, norm := b.normSq[lo:hi], b.norm[lo:hi]
	f := s.filter()
	for i, d := range dots {
		if f.sq*normSq[i]+f.lin*norm[i]-f.dot*float64(d) > f.limit {
			continue
		}
		if s.offer(b, lo+i) {
			f = s.filter()
		}
	}
}

// offer scores row i of b exactly and keeps it if it is among the k nearest. It
// tells whether it did.
func (s *search) offer(b *batch, i int) bool {
	key := s.key(b, i)
	if !(key < s.worst()) {
		return false // a tie too: the ids kept are lower
	}
	at := sort.Search(len(s.found), func(j int) bool { return s.found[j].key > key })
	if len(s.found) < s.k {
		s.found = append(s.found, hit{})
	}
	copy(s.found[at+1:], s.found[at:])
	s.found[at] = hit{key: key, id: int32(b.first + int64(i))}
	return true
}

// key is the exact order of row i of b: squared distance, 1 - cos or -dot.
func (s *search) key(b *batch, i int) float64 {
	x := b.rows[i*b.dim : (i+1)*b.dim]
	switch s.metric {
	case Cosine:
		return 1 - simd.DotF64(s.q, x)/(s.norm*b.norm[i])
	case Dot:
		return -simd.DotF64(s.q, x)
	}
	return simd.L2F64(s.q, x)
}

// distance turns a key into the distance that is reported.
func (s *search) distance(key float64) float64 {
	if s.metric == Euclidean {
		return math.Sqrt(key)
	}
	return key
}
