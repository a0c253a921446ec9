package rq

import (
	"math"
	"math/rand/v2"
	"testing"
)

// vectors is a set of vectors around a center, all rotated.
type vectors struct {
	center []float32
	rows   [][]float32
}

// gaussianPosting returns n vectors whose residuals to the center are Gaussian, of
// squared norm about ½; the center has squared norm about ½ too.
func gaussianPosting(d, n int, seed uint64) vectors {
	r := rand.New(rand.NewPCG(seed, uint64(d)))
	sigma := math.Sqrt(0.5 / float64(d))
	p := vectors{center: make([]float32, d), rows: make([][]float32, n)}
	for j := range p.center {
		p.center[j] = float32(r.NormFloat64() * sigma)
	}
	for i := range p.rows {
		p.rows[i] = make([]float32, d)
		for j := range p.rows[i] {
			p.rows[i][j] = p.center[j] + float32(r.NormFloat64()*sigma)
		}
	}
	return p
}

// posting is a set of vectors with their codes.
type posting struct {
	vectors
	coder        Coder
	codes        []byte
	add, rescale []float32
	sigma        []float32 // Factors.Error
}

func newPosting(t testing.TB, v vectors, bits int) *posting {
	t.Helper()
	coder, err := NewCoder(len(v.rows[0]), bits)
	if err != nil {
		t.Fatal(err)
	}
	n, size := len(v.rows), coder.CodeSize()
	p := &posting{vectors: v, coder: coder, codes: make([]byte, n*size),
		add: make([]float32, n), rescale: make([]float32, n), sigma: make([]float32, n)}
	var ws Workspace
	for i, row := range v.rows {
		f := coder.Encode(p.codes[i*size:(i+1)*size], row, v.center, &ws)
		p.add[i], p.rescale[i], p.sigma[i] = f.Add, f.Rescale, f.Error
	}
	return p
}

// estimates returns the estimated and the true squared distances of v to all rows,
// and ||v-center||².
func (p *posting) estimates(v []float32) (est []float32, exact []float64, qc2 float64) {
	var q Query
	var ws Workspace
	q.Reset(v)
	est, exact = make([]float32, len(p.rows)), make([]float64, len(p.rows))
	qc2 = distance(v, p.center)
	p.coder.Estimate(est, &q, float32(qc2), p.codes, p.add, p.rescale, &ws)
	for i, row := range p.rows {
		exact[i] = distance(v, row)
	}
	return est, exact, qc2
}

// distance is the squared distance in float64; a nil b is the origin.
func distance(a, b []float32) float64 {
	var s float64
	for i, x := range a {
		d := float64(x)
		if b != nil {
			d -= float64(b[i])
		}
		s += d * d
	}
	return s
}
