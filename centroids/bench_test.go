package centroids

import (
	"fmt"
	"testing"
)

// benchShape is a set of the size that some index has.
type benchShape struct{ rows, dim, bits int }

var benchShapes = []benchShape{
	{1800, 384, 8},    // 180,000 vectors
	{4000, 768, 4},    // 400,000
	{10_000, 128, 8},  // 1,000,000
	{100_000, 128, 8}, // 10,000,000, in groups
}

func (b benchShape) String() string { return fmt.Sprintf("%dx%dx%dbit", b.rows, b.dim, b.bits) }

// run runs body for each shape, with a set and vectors that it was not made of.
// Short mode leaves out the large one, whose making takes seconds.
func run(b *testing.B, body func(b *testing.B, s *Set, vectors []float32)) {
	for _, shape := range benchShapes {
		if testing.Short() && shape.rows > exactRows {
			continue
		}
		b.Run(shape.String(), func(b *testing.B) {
			all := gaussians(shape.rows+100, shape.dim, 1)
			s := build(b, all[100*shape.dim:], shape.dim, shape.bits, 0)
			b.ReportAllocs()
			body(b, s, all[:100*shape.dim])
		})
	}
}

func BenchmarkNearest(b *testing.B) {
	run(b, func(b *testing.B, s *Set, vectors []float32) {
		for _, n := range []int{1, RouteCandidates, 256} {
			b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
				ws, q := new(Workspace), query(vectors[:s.Dim()])
				near := make([]Neighbor, 0, n)
				for b.Loop() {
					near = s.Nearest(near, q, n, ws)
				}
			})
		}
	})
}

// BenchmarkRoute measures all that a bulk build does to place one vector.
func BenchmarkRoute(b *testing.B) {
	run(b, func(b *testing.B, s *Set, vectors []float32) {
		var find searcher
		var chosen []Neighbor
		for i := 0; b.Loop(); i++ {
			v := vectors[i%100*s.Dim():][:s.Dim()]
			near := find.nearest(s, v, RouteCandidates)
			chosen = s.Route(chosen, v, near, 4, RouteLambda, &find.ws)
		}
	})
}

func BenchmarkWith(b *testing.B) {
	run(b, func(b *testing.B, s *Set, vectors []float32) {
		halves := builder(b, vectors[:2*s.Dim()], s.Dim(), s.Bits(), 1<<30)
		for b.Loop() {
			if _, err := s.With(halves, uint32(s.Len()/2)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	run(b, func(b *testing.B, s *Set, _ []float32) {
		data := encode(b, s)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTrain(b *testing.B) {
	for _, c := range []struct{ vectors, dim, k int }{{20_000, 384, 200}, {50_000, 128, 1000}} {
		b.Run(fmt.Sprintf("%dx%d", c.vectors, c.dim), func(b *testing.B) {
			sample := gaussians(c.vectors, c.dim, 1)
			for b.Loop() {
				train(b, sample, TrainConfig{Dim: c.dim, K: c.k})
			}
		})
	}
}
