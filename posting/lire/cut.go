package lire

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rq"
)

// Members are the live entries of a posting with their vectors.
type Members struct {
	D       int       // dimensions after rotation
	Vectors []float32 // [n][D], rotated
	Primary []bool    // [n]: the entry is the vector's primary copy
}

// Part is a child of a cut posting.
type Part struct {
	Centroid posting.Centroid
	Decoded  []float32 // the centroid, as its code says it; len D
	Members  []int     // by index, ascending; never empty
}

// Children returns what Check takes of the parts of a cut of n members: the part of
// each member, and the decoded centroids [len(parts)][D].
func Children(parts []Part, n int) (part []int, centroids []float32) {
	part = make([]int, n)
	for at, p := range parts {
		for _, i := range p.Members {
			part[i] = at
		}
		centroids = append(centroids, p.Decoded...)
	}
	return part, centroids
}

const (
	// maxRounds bounds the work on data that cannot be divided well.
	maxRounds = 8
	// A part that keeps more than this share of all members is no division.
	maxShare = 0.9
)

// Cut divides the members of a posting. The parts are those of a balanced k-means
// with k = ceil(n/l.Target), at least 2, placed over the primaries (over all
// members where there are fewer than 2k primaries). Every member is in exactly one
// part, that of its nearest decoded centroid, which is encoded with centroidBits
// bits a dimension, 4 or 8. No part has more than l.Split members.
//
// The number of parts differs from k where that serves the limits: a part above
// l.Split or with more than 9/10 of all members is divided again, and one below
// l.Merge is dissolved, its members no longer having a say in where centroids
// stand. Where no place for two centroids is
// found, as with equal vectors, members are divided by count instead, into parts
// that all have the same centroid: then all of these are nearest.
//
// The result depends only on the arguments. No members give no parts, one gives
// one. The error is ErrShape, rq.ErrDimension, rq.ErrBits, or that of an ended ctx.
func Cut(ctx context.Context, m Members, centroidBits int, l Limits, seed uint64) ([]Part, error) {
	coder, err := rq.NewCentroidCoder(m.D, centroidBits)
	if err != nil {
		return nil, fmt.Errorf("cut: %w", err)
	}
	n := len(m.Primary)
	if len(m.Vectors) != n*m.D || l.Target < 1 || l.Split < l.Target {
		return nil, fmt.Errorf("cut: %d floats for %d members of %d dimensions, target %d, split %d: %w",
			len(m.Vectors), n, m.D, l.Target, l.Split, ErrShape)
	}
	if n == 0 {
		return nil, nil
	}
	c := &cutter{
		placer: placer{ctx: ctx, d: m.D, vectors: m.Vectors, rng: rand.New(rand.NewPCG(seed, 0))},
		m:      m, coder: coder, limits: l, teaches: make([]bool, n),
	}
	for i := range c.teaches {
		c.teaches[i] = true
	}
	parts, err := c.cut()
	if err != nil {
		return nil, fmt.Errorf("cut: %w", err)
	}
	return parts, nil
}

// cutter is one run of Cut.
type cutter struct {
	placer
	m       Members
	coder   rq.CentroidCoder
	limits  Limits
	teaches []bool // the member has a say in where centroids stand
}

// cut divides all members, then whatever parts are still too large, round by round
// until all are within the limits or can be divided by count only.
func (c *cutter) cut() ([]Part, error) {
	all := make([]int, len(c.m.Primary))
	for i := range all {
		all[i] = i
	}
	parts, err := c.divide(nil, []Part{{Members: all}}, 1)
	for round := 1; err == nil && round < maxRounds; round++ {
		var large, others []Part
		for _, p := range parts {
			if c.large(p) {
				large = append(large, p)
			} else {
				others = append(others, p)
			}
		}
		if len(large) == 0 {
			break
		}
		next, more := c.divide(others, large, 2)
		if more != nil || next == nil {
			err = more
			break
		}
		parts = next
	}
	if err != nil {
		return nil, err
	}
	return c.byCount(parts), nil
}

// divide places centroids over each of the large parts, in the place of its own,
// and gives every member to the nearest of these and the others. A part for which
// fewer than least are found stays; when all do, the result is nil.
func (c *cutter) divide(others, large []Part, least int) ([]Part, error) {
	var cents []float32
	for _, p := range large {
		placed, err := c.place(c.teachers(p.Members))
		if err != nil {
			return nil, err
		}
		if len(placed) < least*c.d {
			others = append(others, p)
			continue
		}
		cents = append(cents, placed...)
	}
	if len(cents) == 0 {
		return nil, nil
	}
	parts := c.encode(others, cents)
	if err := c.assign(parts); err != nil {
		return nil, err
	}
	return c.dissolve(parts)
}

// large tells whether a part shall be divided.
func (c *cutter) large(p Part) bool {
	n := len(p.Members)
	return n > 1 && (n > c.limits.Split || float64(n) > maxShare*float64(len(c.m.Primary)))
}

// pieces is into how many parts so many members shall be divided.
func (c *cutter) pieces(n int) int {
	return max(2, (n+c.limits.Target-1)/c.limits.Target)
}

// teachers returns the members that place the centroids of a part, and the number
// of centroids.
func (c *cutter) teachers(members []int) (rows []int32, k int) {
	k = c.pieces(len(members))
	var primaries []int32
	for _, i := range members {
		if c.teaches[i] {
			rows = append(rows, int32(i))
			if c.m.Primary[i] {
				primaries = append(primaries, int32(i))
			}
		}
	}
	if len(primaries) >= 2*k {
		rows = primaries
	}
	return rows, k
}

// encode returns the parts that stay and an empty one for each of the centroids
// [k][D]. Of equal centroids the first gets all members, and the others dissolve.
func (c *cutter) encode(parts []Part, cents []float32) []Part {
	for ; len(cents) > 0; cents = cents[c.d:] {
		p := Part{Decoded: make([]float32, c.d)}
		p.Centroid.Code = make([]byte, c.coder.CodeSize())
		p.Centroid.Scale, p.Centroid.NormSq = c.coder.EncodeParts(p.Centroid.Code, cents[:c.d])
		c.coder.DecodeParts(p.Decoded, p.Centroid.Code, p.Centroid.Scale)
		parts = append(parts, p)
	}
	return parts
}

// assign gives every member to the part of the nearest centroid, the first of
// equals.
func (c *cutter) assign(parts []Part) error {
	cents := make([]float32, 0, len(parts)*c.d)
	for i := range parts {
		parts[i].Members = nil
		cents = append(cents, parts[i].Decoded...)
	}
	for i := range c.m.Primary {
		if i%1024 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		at, _ := nearest(c.row(int32(i)), cents)
		parts[at].Members = append(parts[at].Members, i)
	}
	return nil
}

// dissolve removes the parts that would soon be given up, as long as one remains,
// and gives their members to the others. Of few members a part may have few.
func (c *cutter) dissolve(parts []Part) ([]Part, error) {
	n := len(c.m.Primary)
	least := max(1, min(c.limits.Merge, n/(4*c.pieces(n))))
	most := 0
	for i, p := range parts {
		if len(p.Members) > len(parts[most].Members) {
			most = i
		}
	}
	kept := make([]Part, 0, len(parts))
	for i, p := range parts {
		if i == most || len(p.Members) >= least {
			kept = append(kept, p)
			continue
		}
		for _, member := range p.Members {
			c.teaches[member] = false
		}
	}
	if len(kept) == len(parts) {
		return parts, nil
	}
	return kept, c.assign(kept)
}

// byCount divides the parts that are still too large into runs of even length that
// share the centroid.
func (c *cutter) byCount(parts []Part) []Part {
	var cut []Part
	for _, p := range parts {
		if !c.large(p) {
			cut = append(cut, p)
			continue
		}
		n := len(p.Members)
		k := min(n, c.pieces(n))
		for i := range k {
			piece := p
			piece.Members = p.Members[i*n/k : (i+1)*n/k : (i+1)*n/k]
			cut = append(cut, piece)
		}
	}
	return cut
}
