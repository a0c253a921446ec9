package centroids

import "github.com/spratdb/sprat/rq/simd"

const (
	// RouteCandidates is the number of nearest centroids among which Route is
	// meant to choose.
	RouteCandidates = 32
	// RouteLambda is the usual weight of the SOAR term; 0.5 to 4 make no difference
	// that could be measured.
	RouteLambda = 1
)

// routeScratch is what Route needs for the candidates of one vector.
type routeScratch struct {
	residuals []float32 // [m][D]: v - c
	distSq    []float32 // squared lengths of the residuals
	score     []float32 // squared length plus the SOAR terms so far
	dots      []float32
	chosen    []bool
}

// Route chooses the centroids whose postings shall hold a copy of the rotated
// vector v (len D), among cands (no row twice), normally the RouteCandidates
// nearest that Nearest found. Distances to the decoded centroids are computed anew
// in float32 and returned with each choice. The result takes the memory of dst
// when that suffices.
//
// The first choice is the nearest candidate, ties going to the lower id: the
// primary. Each further one, until there are copies (at least 1, at most
// len(cands)), follows the SOAR rule: with r' = v - c' for a candidate, it has the
// smallest
//
//	||r'||² + lambda · Σ <r', r>² / ||r||²     summed over the residuals r chosen before
//
// so a copy goes where a query that misses the earlier choices, because its own
// offset points along their residuals, does not err in the same direction. A zero
// residual has no direction and adds nothing.
func (s *Set) Route(dst []Neighbor, v []float32, cands []Neighbor, copies int, lambda float32, ws *Workspace) []Neighbor {
	dst = dst[:0]
	if len(cands) == 0 {
		return dst
	}
	r := &ws.route
	r.measure(s, v, cands)
	for range min(max(copies, 1), len(cands)) {
		at := r.best(cands)
		r.chosen[at] = true
		dst = append(dst, Neighbor{cands[at].Row, cands[at].ID, r.distSq[at]})
		if len(dst) < copies {
			r.penalise(at, len(v), lambda)
		}
	}
	return dst
}

// measure computes the residuals of all candidates.
func (r *routeScratch) measure(s *Set, v []float32, cands []Neighbor) {
	m, dim := len(cands), s.Dim()
	r.residuals = resize(r.residuals, m*dim)
	r.distSq, r.score = resize(r.distSq, m), resize(r.score, m)
	r.dots, r.chosen = resize(r.dots, m), resize(r.chosen, m)
	clear(r.chosen)
	for i, c := range cands {
		residual := r.residuals[i*dim:][:dim]
		s.Decode(c.Row, residual)
		sub(residual, v, residual)
		r.distSq[i] = simd.DotF32(residual, residual)
	}
	copy(r.score, r.distSq)
}

// best returns the candidate of the lowest score that is not chosen yet.
func (r *routeScratch) best(cands []Neighbor) int {
	at := -1
	for i, score := range r.score {
		switch {
		case r.chosen[i]:
		case at < 0, score < r.score[at], score == r.score[at] && cands[i].ID < cands[at].ID:
			at = i
		}
	}
	return at
}

// penalise adds the SOAR term of the chosen residual to all scores.
func (r *routeScratch) penalise(chosen, dim int, lambda float32) {
	length := r.distSq[chosen]
	if length == 0 {
		return
	}
	simd.DotRowsF32(r.dots, r.residuals[chosen*dim:][:dim], r.residuals)
	for i, dot := range r.dots {
		r.score[i] += float32(lambda * dot * (dot / length))
	}
}
