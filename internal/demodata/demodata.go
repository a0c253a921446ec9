package demodata

import (
	_ "embed" // the data files
	"fmt"
	"strings"
	"sync"

	"github.com/spratdb/sprat/internal/vecbin"
)

var (
	//go:embed data/words.txt
	wordsText string
	//go:embed data/words.f16bin.gz
	wordsFile []byte
	//go:embed data/queries.txt
	queriesText string
	//go:embed data/queries.f16bin.gz
	queriesFile []byte
)

var (
	words          = sync.OnceValue(func() []string { return strings.Fields(wordsText) })
	wordVectors    = sync.OnceValue(func() vecbin.Matrix { return decode("words", wordsFile) })
	queryWords     = sync.OnceValue(func() []string { return strings.Fields(queriesText) })
	queriesVectors = sync.OnceValue(func() vecbin.Matrix { return decode("queries", queriesFile) })
)

// decode returns the matrix in an embedded file. The files are part of the
// program and covered by a test, so damage means a broken build: it panics.
func decode(name string, file []byte) vecbin.Matrix {
	m, err := vecbin.Decode(file, vecbin.HalfFloat)
	if err != nil {
		panic(fmt.Errorf("demodata: embedded %s: %w", name, err))
	}
	return m
}

// Words returns the 20,000 words of the base, the most frequent first. They are
// distinct and suit as keys. The slice is shared by all callers: do not change it.
func Words() []string {
	return words()
}

// Vectors returns the dimension, 100, and the vectors of Words as rows[len(Words())][dim],
// row i belonging to word i. They are not normalised. The slice is shared by all
// callers: do not change it. The first call decodes it, which takes some tens of
// milliseconds.
func Vectors() (dim int, rows []float32) {
	m := wordVectors()
	return m.Dim, m.Data
}

// Queries returns 200 words that are not in the base, and their vectors as
// vectors[len(words)][dim] with the dim of Vectors. Both slices are shared by all
// callers: do not change them.
func Queries() (words []string, vectors []float32) {
	return queryWords(), queriesVectors().Data
}
