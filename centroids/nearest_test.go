package centroids

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/spratdb/sprat/rq/simd"
	"pgregory.net/rapid"
)

// drawVectors draws 1 to max vectors of dim components, with equal and zero ones
// among them.
func drawVectors(t *rapid.T, max, dim int) []float32 {
	n := rapid.IntRange(1, max).Draw(t, "n")
	seed := rapid.Uint64().Draw(t, "seed")
	v := gaussians(n, dim, seed)
	for i := range n {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			copy(v[i*dim:][:dim], v[:dim])
		case 1:
			clear(v[i*dim:][:dim])
		}
	}
	return v
}

func TestNearestAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 24
		bits := rapid.SampledFrom([]int{4, 8}).Draw(t, "bits")
		vectors := drawVectors(t, 60, dim)
		b, err := NewBuilder(dim, bits)
		if err != nil {
			t.Fatal(err)
		}
		n := len(vectors) / dim
		for i := range n {
			if err := b.Add(uint32(5*(n-i)), vectors[i*dim:][:dim]); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Set()
		if err != nil {
			t.Fatal(err)
		}
		v := drawVectors(t, 1, dim)
		got := s.Nearest(nil, query(v), rapid.IntRange(1, n+3).Draw(t, "want"), new(Workspace))

		truth, slack, decoded := make([]float64, n), make([]float64, n), make([]float32, dim)
		step := map[int]float64{4: 1.0 / 254, 8: 1.0 / 127 / 508}[bits] * float64(simd.AbsMaxDiff(v, nil))
		for row := range int32(n) {
			s.Decode(row, decoded)
			truth[row] = simd.L2F64(v, decoded)
			// A component of the query is off by at most step, so the inner product by
			// step times the sum of |c|; float32 adds noise.
			norms := simd.SumSqF64(v) + simd.SumSqF64(decoded)
			slack[row] = 2*step*math.Sqrt(dim*simd.SumSqF64(decoded)) + 1e-5*norms
		}
		for i, c := range got {
			if d := truth[c.Row]; math.Abs(float64(c.DistSq)-d) > slack[c.Row] {
				t.Fatalf("row %d at %v, in truth at %v", c.Row, c.DistSq, d)
			}
			if c.ID != s.ID(c.Row) {
				t.Fatalf("row %d has id %d, not %d", c.Row, s.ID(c.Row), c.ID)
			}
			if i > 0 && byDistance(got[i-1], c) >= 0 {
				t.Fatalf("%v before %v", got[i-1], c)
			}
		}
		slices.Sort(truth)
		for i, c := range got {
			if math.Abs(float64(c.DistSq)-truth[i]) > slices.Max(slack) {
				t.Fatalf("place %d at %v, should be %v", i, c.DistSq, truth[i])
			}
		}
	})
}

func TestNearestCounts(t *testing.T) {
	s := build(t, gaussians(1500, 8, 1), 8, 8, 0)
	g := grouped(t, s)
	empty := build(t, nil, 8, 8, 0)
	v := make([]float32, 8)
	for _, c := range []struct {
		set     *Set
		n, want int
	}{{s, -1, 0}, {s, 0, 0}, {s, 1, 1}, {s, 1500, 1500}, {s, 9999, 1500}, {g, 7, 7}, {g, 9999, 1500}, {empty, 5, 0}} {
		if got := c.set.Nearest(make([]Neighbor, 3), query(v), c.n, new(Workspace)); len(got) != c.want {
			t.Errorf("%v: %d of %d, want %d", c.set, len(got), c.n, c.want)
		}
	}
}

func TestNearestIsAPrefix(t *testing.T) {
	sample, dim := words(t)
	s, ws := build(t, sample, dim, 8, 0), new(Workspace)
	q := query(sample[:dim])
	all := s.Nearest(nil, q, s.Len(), ws)
	for _, n := range []int{1, 2, 31, 32, 33, 100, 500, 1000, 1999} {
		if got := s.Nearest(nil, q, n, ws); !slices.Equal(got, all[:n]) {
			t.Errorf("the %d nearest are not the first of all", n)
		}
	}
}

// manyRows is a grouped set large enough for Nearest to leave groups out, its flat
// twin, and the vectors.
var manyRows = sync.OnceValue(func() (m struct {
	flat, grouped *Set
	vectors       []float32
	dim           int
	err           error
}) {
	m.dim = 16
	m.vectors = gaussians(exactRows+4000, m.dim, 5)
	b, err := NewBuilder(m.dim, 8)
	for i := 0; err == nil && i < len(m.vectors)/m.dim; i++ {
		err = b.Add(uint32(i), m.vectors[i*m.dim:][:m.dim])
	}
	if err != nil {
		m.err = err
		return m
	}
	if m.grouped, m.err = b.Set(); m.err == nil {
		m.flat = m.grouped.flattened()
	}
	return m
})

func TestNearestOfGroupsAgreesWithScan(t *testing.T) {
	m := manyRows()
	if m.err != nil || m.grouped.supers == nil {
		t.Fatalf("set %v, error %v", m.grouped, m.err)
	}
	ws := new(Workspace)
	for _, n := range []int{1, 32, 256} {
		found, total := 0, 0
		for i := range 100 {
			q := query(m.vectors[i*211*m.dim:][:m.dim])
			near := make(map[uint32]float32, n)
			for _, c := range m.grouped.Nearest(nil, q, n, ws) {
				near[c.ID] = c.DistSq
			}
			for _, c := range m.flat.Nearest(nil, q, n, ws) {
				total++
				if d, ok := near[c.ID]; ok && d == c.DistSq {
					found++
				}
			}
		}
		if recall := float64(found) / float64(total); recall < 0.99 {
			t.Errorf("n %d: recall %.4f of the exact scan", n, recall)
		}
		// The last search left traces of what it scanned.
		if scanned := seenRows(m.grouped, ws); scanned < n || scanned > m.grouped.Len()/2 {
			t.Errorf("n %d: %d rows of %d scanned", n, scanned, m.grouped.Len())
		}
	}
}

// seenRows returns how many rows the last search by groups looked at.
func seenRows(s *Set, ws *Workspace) int {
	rows := 0
	for at, b := range s.blocks {
		if ws.seen[at] {
			rows += len(b.ids)
		}
	}
	return rows
}

// TestNearestOfEquidistantGroups is the worst case for groups: all centroids are
// about equally far from the query, and the search must not stop early.
func TestNearestOfEquidistantGroups(t *testing.T) {
	m := manyRows()
	if m.err != nil {
		t.Fatal(m.err)
	}
	far := slices.Repeat([]float32{1e4}, m.dim)
	q, ws, found := query(far), new(Workspace), 0
	want, got := m.flat.Nearest(nil, q, 256, ws), m.grouped.Nearest(nil, q, 256, ws)
	in := make(map[uint32]bool)
	for _, c := range got {
		in[c.ID] = true
	}
	for _, c := range want {
		if in[c.ID] {
			found++
		}
	}
	if found < 250 {
		t.Errorf("%d of 256 found", found)
	}
}

func TestNearestOfGroupsFallsBackToScan(t *testing.T) {
	m := manyRows()
	if m.err != nil {
		t.Fatal(m.err)
	}
	n := m.flat.Len() / 2
	if plan := planScan(m.flat.Len(), n); plan.first < plan.limit {
		t.Fatalf("%+v leaves groups out", plan)
	}
	q, ws := query(m.vectors[:m.dim]), new(Workspace)
	want, got := m.flat.Nearest(nil, q, n, ws), m.grouped.Nearest(nil, q, n, ws)
	for i := range want {
		if want[i].ID != got[i].ID || want[i].DistSq != got[i].DistSq {
			t.Fatalf("place %d: %v, scan has %v", i, got[i], want[i])
		}
	}
}

func TestSearchAllocatesNothing(t *testing.T) {
	m := manyRows()
	if m.err != nil {
		t.Fatal(m.err)
	}
	ws, v := new(Workspace), m.vectors[:m.dim]
	q := query(v)
	var near, chosen []Neighbor
	for _, s := range []*Set{m.flat, m.grouped} {
		search := func() {
			near = s.Nearest(near, q, 100, ws)
			chosen = s.Route(chosen, v, near[:RouteCandidates], 4, RouteLambda, ws)
		}
		search()
		if allocs := testing.AllocsPerRun(10, search); allocs != 0 {
			t.Errorf("%v: %v allocations a search", s, allocs)
		}
	}
}
