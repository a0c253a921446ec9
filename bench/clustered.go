package bench

import (
	"io"
	"math"
)

// Dimensions of the clustered model.
const (
	// ClusteredDim is the dimension of every [Clustered] vector.
	ClusteredDim = 768
	// ClusteredSeed is the seed of the set on which published figures were
	// measured.
	ClusteredSeed = 20261130

	clusteredLatent  = 64
	clusteredCentres = 2000
)

// Row i of the base has the random stream baseStream+i, query i queryStream+i.
const (
	modelStream = 1
	baseStream  = 0x1000
	queryStream = 0x4000000000
)

// Clustered is a synthetic set of unit vectors in clusters of different sizes and
// spreads, on a 64-dimensional subspace plus noise:
//
//	centres    c_k = s * N(0,1)^64, of weight exp(N(0,1)) and spread t_k = exp(0.35 N(0,1))
//	latent     z = c_k + 0.6 t_k s * N(0,1)^64, with s_j = (j+1)^-0.35
//	vector     x = A z/|s| + 0.25 N(0,1)^768, scaled to length 1; A is Gaussian, 64 x 768
//
// Row i depends on the seed and i alone, so a smaller set is a prefix of a larger
// one. Synthetic data flatters every index; it is meant for runs beside figures
// measured on the same data. It is immutable and safe for concurrent use.
type Clustered struct {
	seed     uint64
	scale    [clusteredLatent]float32                   // s
	mix      [clusteredLatent][ClusteredDim]float32     // A/|s|
	centre   [clusteredCentres][clusteredLatent]float32 // c
	spread   [clusteredCentres]float32                  // t
	cumShare [clusteredCentres]float64                  // cumulative weights, the last is 1
}

// NewClustered draws the model: the clusters and the subspace. It takes about 700
// KiB.
func NewClustered(seed uint64) *Clustered {
	c := &Clustered{seed: seed}
	r := newStream(seed, modelStream)
	norm2 := 0.0
	for j := range c.scale {
		c.scale[j] = float32(math.Pow(float64(j+1), float64(float32(-0.35))))
		norm2 += float64(c.scale[j] * c.scale[j])
	}
	inv := float32(1 / math.Sqrt(norm2))
	for i := range c.mix {
		for j := range c.mix[i] {
			c.mix[i][j] = r.gauss() * inv
		}
	}
	weight := 0.0
	for k := range c.centre {
		for j := range c.centre[k] {
			c.centre[k][j] = c.scale[j] * r.gauss()
		}
		c.spread[k] = float32(math.Exp(float64(float32(0.35) * r.gauss())))
		weight += math.Exp(float64(r.gauss()))
		c.cumShare[k] = weight
	}
	for k := range c.cumShare {
		c.cumShare[k] /= weight
	}
	return c
}

// Base returns a reader of the first rows vectors of the base set.
func (c *Clustered) Base(rows int64) Reader {
	return &clusteredReader{c: c, stream: baseStream, rows: rows}
}

// Queries returns a reader of the first rows vectors of the query set.
func (c *Clustered) Queries(rows int64) Reader {
	return &clusteredReader{c: c, stream: queryStream, rows: rows}
}

// vector computes the vector of a stream into x, of ClusteredDim values.
func (c *Clustered) vector(x []float32, stream uint64) {
	r := newStream(c.seed, stream)
	k := c.pick(r.uniform())
	var z [clusteredLatent]float32
	for j := range z {
		// Conversions keep products and sums apart, so that no machine fuses them
		// and all compute the same vectors.
		z[j] = c.centre[k][j] + float32(float32(float32(0.6)*c.spread[k]*c.scale[j])*r.gauss())
	}
	for j := range x {
		x[j] = 0.25 * r.gauss()
	}
	for i, zi := range z {
		for j, a := range c.mix[i][:len(x)] {
			x[j] += float32(zi * a)
		}
	}
	n := 0.0
	for _, v := range x {
		n += float64(float64(v) * float64(v))
	}
	q := float32(1 / math.Sqrt(n))
	for j := range x {
		x[j] *= q
	}
}

// pick returns the first cluster whose cumulative share is at least u.
func (c *Clustered) pick(u float64) int {
	lo, hi := 0, clusteredCentres-1
	for lo < hi {
		m := (lo + hi) / 2
		if c.cumShare[m] < u {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// clusteredReader is a [Reader] over consecutive streams.
type clusteredReader struct {
	c      *Clustered
	stream uint64 // of row 0
	rows   int64
	done   int64
}

func (r *clusteredReader) Dim() int     { return ClusteredDim }
func (r *clusteredReader) Rows() int64  { return r.rows }
func (r *clusteredReader) Close() error { return nil }

func (r *clusteredReader) Next(row *Row) error {
	if r.done >= r.rows {
		return io.EOF
	}
	row.grow(ClusteredDim)
	r.c.vector(row.Vector, r.stream+uint64(r.done))
	r.done++
	return nil
}

// stream is a SplitMix64 generator with Gaussian output.
type stream struct {
	state uint64
	have  bool
	spare float64
}

const golden = 0x9e3779b97f4a7c15

func newStream(seed, id uint64) stream {
	return stream{state: mix64(seed*golden + mix64(id+0x1234567))}
}

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform returns a value strictly between 0 and 1.
func (s *stream) uniform() float64 {
	s.state += golden
	return (float64(mix64(s.state)>>11) + 0.5) * (1.0 / (1 << 53))
}

// gauss returns a normal value by the Box-Muller transform, which makes two at a
// time.
func (s *stream) gauss() float32 {
	if s.have {
		s.have = false
		return float32(s.spare)
	}
	u, v := s.uniform(), s.uniform()
	m := math.Sqrt(-2 * math.Log(u))
	sin, cos := math.Sincos(6.283185307179586 * v)
	s.spare, s.have = m*sin, true
	return float32(m * cos)
}
