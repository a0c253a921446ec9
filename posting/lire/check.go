package lire

import "github.com/spratdb/sprat/rq/simd"

// A centroid must be nearer by this much before a vector moves to it: by a part of
// the squared distance and, for vectors that are all but at their centroid, by a
// part of their squared norm. Both are well above what the rounding of float32 does
// to the difference of two distances, so equal centroids move nothing and no vector
// goes to and fro.
const (
	margin     = 1e-4
	normMargin = 1e-9
)

// Check returns the members, by index and ascending, whose primary copy is in the
// wrong posting after a cut. part holds the child of each member; children [k][D]
// are the decoded centroids of the parts, neighbours [m][D] those of the nearest
// other postings (32 to 64 of them). It reports
//
//   - a primary of which another child or a neighbour is nearer than its own child,
//   - a copy to which a child is nearer than every neighbour: its primary, which is
//     in one of them, belongs in that child (without neighbours nothing is known),
//
// each by a margin of 1e-4 of the squared distance, and at least 1e-9 of the
// vector's squared norm. This is necessary, not
// sufficient, for a move: who re-places the member searches all centroids.
func Check(m Members, part []int, children, neighbours []float32) []int {
	var wrong []int
	for i, child := range part {
		v := m.Vectors[i*m.D:][:m.D]
		_, inside := nearest(v, children)
		_, outside := nearest(v, neighbours)
		have, best := outside, inside
		switch {
		case m.Primary[i]:
			have, best = simd.L2F32(v, children[child*m.D:][:m.D]), min(inside, outside)
		case len(neighbours) == 0:
			continue
		}
		if nearer(best, have, v) {
			wrong = append(wrong, i)
		}
	}
	return wrong
}

// nearer tells whether best is less than have by the margins for v.
func nearer(best, have float32, v []float32) bool {
	b, h := float64(best), float64(have)
	return b < h*(1-margin) && h-b > normMargin*simd.SumSqF64(v)
}
