package centroids

import (
	"math"
	"slices"
	"testing"

	"github.com/spratdb/sprat/rq/simd"
	"pgregory.net/rapid"
)

// slowRoute is the SOAR rule in plain float64. It returns the scores of each step
// along with the choice that took is told to make.
func slowScores(residuals [][]float64, chosen []int, lambda float64) []float64 {
	scores := make([]float64, len(residuals))
	for i, r := range residuals {
		scores[i] = dot64(r, r)
		for _, c := range chosen {
			if length := dot64(residuals[c], residuals[c]); length > 0 {
				along := dot64(r, residuals[c])
				scores[i] += lambda * along * along / length
			}
		}
	}
	return scores
}

func dot64(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestRouteFollowsTheRule(t *testing.T) {
	const dim = 16
	rapid.Check(t, func(t *rapid.T) {
		vectors := drawVectors(t, 40, dim)
		n := len(vectors) / dim
		b, err := NewBuilder(dim, rapid.SampledFrom([]int{4, 8}).Draw(t, "bits"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := b.Add(uint32(1000-i), vectors[i*dim:][:dim]); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Set()
		if err != nil {
			t.Fatal(err)
		}
		v := drawVectors(t, 1, dim)
		if rapid.Bool().Draw(t, "on a centroid") {
			s.Decode(int32(rapid.IntRange(0, n-1).Draw(t, "row")), v)
		}
		ws := new(Workspace)
		cands := s.Nearest(nil, query(v), rapid.IntRange(1, 32).Draw(t, "cands"), ws)
		copies := rapid.IntRange(-1, 8).Draw(t, "copies")
		lambda := rapid.SampledFrom([]float32{0, 1, 4}).Draw(t, "lambda")
		got := s.Route(nil, v, cands, copies, lambda, ws)

		if want := min(max(copies, 1), len(cands)); len(got) != want {
			t.Fatalf("%d choices, want %d", len(got), want)
		}
		checkRoute(t, s, v, cands, got, float64(lambda))
	})
}

func checkRoute(t *rapid.T, s *Set, v []float32, cands, got []Neighbor, lambda float64) {
	residuals, decoded := make([][]float64, len(cands)), make([]float32, len(v))
	for i, c := range cands {
		s.Decode(c.Row, decoded)
		residuals[i] = make([]float64, len(v))
		for j := range v {
			residuals[i][j] = float64(v[j]) - float64(decoded[j])
		}
	}
	var chosen []int
	for step, g := range got {
		at := slices.IndexFunc(cands, func(c Neighbor) bool { return c.Row == g.Row })
		if at < 0 || cands[at].ID != g.ID || slices.Contains(chosen, at) {
			t.Fatalf("choice %d, %v, is no candidate or chosen before", step, g)
		}
		s.Decode(g.Row, decoded)
		if want := simd.L2F32(v, decoded); g.DistSq != want {
			t.Fatalf("choice %d at %v, want exactly %v", step, g.DistSq, want)
		}
		scores := slowScores(residuals, chosen, lambda)
		for i, score := range scores {
			slack := 1e-5 * (1 + math.Abs(scores[at]))
			if !slices.Contains(chosen, i) && score < scores[at]-slack {
				t.Fatalf("choice %d has score %v, candidate %d has %v", step, scores[at], i, score)
			}
		}
		if step == 0 {
			for i, c := range cands {
				s.Decode(c.Row, decoded)
				if d := simd.L2F32(v, decoded); d < g.DistSq || (d == g.DistSq && c.ID < g.ID) {
					t.Fatalf("primary %v, but candidate %d, %v, is at %v", g, i, c, d)
				}
			}
		}
		chosen = append(chosen, at)
	}
}

func TestRouteAvoidsParallelResiduals(t *testing.T) {
	// Centroids left, further left and above of the vector: the second copy goes
	// above, where the nearest two would both be on the left.
	at := func(x, y float32) []float32 { return []float32{x, y, 0, 0, 0, 0, 0, 0} }
	s := build(t, slices.Concat(at(-1, 0), at(-1.1, 0), at(0, 1.2)), 8, 8, 0)
	v, ws := make([]float32, 8), new(Workspace)
	cands := s.Nearest(nil, query(v), 3, ws)
	ids := func(lambda float32) (ids []uint32) {
		for _, c := range s.Route(nil, v, cands, 3, lambda, ws) {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if got := ids(RouteLambda); !slices.Equal(got, []uint32{0, 2, 1}) {
		t.Errorf("choices %v, want 0 2 1", got)
	}
	if got := ids(0); !slices.Equal(got, []uint32{0, 1, 2}) {
		t.Errorf("choices without SOAR %v, want 0 1 2", got)
	}
}

func TestRouteOfNothing(t *testing.T) {
	s := build(t, nil, 8, 8, 0)
	if got := s.Route(make([]Neighbor, 2), make([]float32, 8), nil, 4, 1, new(Workspace)); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestRouteTiesGoToTheLowerID(t *testing.T) {
	b, err := NewBuilder(8, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []uint32{9, 4, 7} {
		if err := b.Add(id, []float32{1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	v, ws := make([]float32, 8), new(Workspace)
	for _, v := range [][]float32{v, {1, 2, 3, 4, 5, 6, 7, 8}} {
		cands := s.Nearest(nil, query(v), 3, ws)
		slices.Reverse(cands)
		got := s.Route(nil, v, cands, 3, 1, ws)
		if got[0].ID != 4 || got[1].ID != 7 || got[2].ID != 9 {
			t.Errorf("choices %v", got)
		}
	}
}
