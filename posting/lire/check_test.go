package lire

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/rq/simd"
)

// TestCheckMeaning states Check by its meaning: after it, whoever is not named has
// its primary at the nearest centroid, but for the margin.
func TestCheckMeaning(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := 8
		n := rapid.IntRange(0, 60).Draw(rt, "n")
		k := rapid.IntRange(1, 4).Draw(rt, "children")
		seed := rapid.Uint64().Draw(rt, "seed")
		m := cloud(seed, n, d, 3)
		children := cloud(seed+1, k, d, 3).Vectors
		neighbours := cloud(seed+2, rapid.IntRange(1, 5).Draw(rt, "neighbours"), d, 3).Vectors
		part := make([]int, n)
		for i := range part {
			part[i] = rand.New(rand.NewPCG(seed, uint64(i))).IntN(k)
		}
		wrong := Check(m, part, children, neighbours)
		for i := range n {
			v := m.Vectors[i*d:][:d]
			_, in := nearest(v, children)
			_, out := nearest(v, neighbours)
			want := in < out
			best, have := in, out
			if m.Primary[i] {
				best, have = min(in, out), simd.L2F32(v, children[part[i]*d:][:d])
				want = best < have
			}
			if abs := max(best, have) - min(best, have); abs > 0 && abs < 1e-3*have {
				continue // near the margin, which another test is about
			}
			if slices.Contains(wrong, i) != want {
				rt.Fatalf("member %d: %v, want %v", i, !want, want)
			}
		}
	})
}

// TestCheckMargin: a centroid that is nearer by rounding alone moves nothing, near
// the origin and far from it.
func TestCheckMargin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, far := range []float32{0, 1, 1e3} {
		for _, spread := range []float32{0, 1e-6, 1e-3, 0.1, 1} {
			const n, d = 50, 64
			m := Members{D: d, Vectors: make([]float32, n*d), Primary: make([]bool, n)}
			centroid, twin := make([]float32, d), make([]float32, d)
			for j := range d {
				centroid[j] = (1 + rng.Float32()) * far
				twin[j] = centroid[j] * (1 + 1e-7)
			}
			for i := range m.Vectors {
				m.Vectors[i] = centroid[i%d] + float32(rng.NormFloat64())*spread*(far+1)
			}
			for i := range n {
				m.Primary[i] = i%2 == 0
			}
			if wrong := Check(m, make([]int, n), centroid, twin); wrong != nil {
				t.Errorf("%d of %d move by rounding at %v, spread %v", len(wrong), n, far, spread)
			}
			if wrong := Check(m, make([]int, n), twin, centroid); wrong != nil {
				t.Errorf("%d of %d move back by rounding at %v, spread %v", len(wrong), n, far, spread)
			}
		}
	}
}
