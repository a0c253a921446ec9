package realdata

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spratdb/sprat/internal/demodata"
	"github.com/spratdb/sprat/internal/vecbin"
)

//go:embed data
var files embed.FS

// gloveRows is how many words Glove takes: few enough for a brute-force truth in
// a test, many enough for a few dozen postings.
const gloveRows = 5000

// Set is a set of real vectors with queries. Its slices are shared by all
// callers: do not change them.
type Set struct {
	Name    string    // "text", "fashion", "glove"
	Metric  string    // "cosine" or "euclidean", as the engine names them
	Dim     int       // elements of a vector
	Rows    []float32 // [n][Dim]
	Queries []float32 // [q][Dim]
	Keys    []string  // one a row, distinct, 1..1,024 bytes of UTF-8
	Labels  []string  // one a row, for filters; nil where the source has none

	QueryKeys []string // one a query; distinct from Keys
}

// Len returns the number of rows.
func (s Set) Len() int { return len(s.Rows) / s.Dim }

// QueryLen returns the number of queries.
func (s Set) QueryLen() int { return len(s.Queries) / s.Dim }

// Row returns row i, 0 <= i < Len(), as a view that must not be changed.
func (s Set) Row(i int) []float32 { return row(s.Rows, i, s.Dim) }

// Query returns query i, 0 <= i < QueryLen(), as a view that must not be changed.
func (s Set) Query(i int) []float32 { return row(s.Queries, i, s.Dim) }

func row(data []float32, i, dim int) []float32 {
	return data[i*dim : (i+1)*dim : (i+1)*dim]
}

var (
	text    = sync.OnceValue(func() Set { return load("text", "cosine", vecbin.HalfFloat, "f16bin") })
	fashion = sync.OnceValue(func() Set { return load("fashion", "euclidean", vecbin.Byte, "u8bin") })
	glove   = sync.OnceValue(loadGlove)
)

// Text returns 3,000 vectors of short texts, 384-dimensional and of unit length,
// and 100 queries. Keys are like "wordnet:00006269n" and "debian:libqt6charts6";
// a label is the text's subject ("noun.plant") or its archive section ("python").
// A few queries are at distance zero of a row: texts with the same words.
func Text() Set { return text() }

// Fashion returns 2,000 pictures of clothing as 784 grey levels 0..255, and 50
// queries. Keys are "image-" and the number in the source subset; a label is the
// kind of clothing, "0" to "9".
func Fashion() Set { return fashion() }

// Glove returns the 5,000 most frequent words of internal/demodata as
// 100-dimensional vectors that are not normalised, and 200 queries. A key is the
// word; there are no labels.
func Glove() Set { return glove() }

// All returns the sets above, for tests that run over each.
func All() []Set { return []Set{Text(), Fashion(), Glove()} }

func loadGlove() Set {
	dim, rows := demodata.Vectors()
	words, queries := demodata.Queries()
	return Set{
		Name:      "glove",
		Metric:    "cosine",
		Dim:       dim,
		Rows:      rows[:gloveRows*dim],
		Keys:      demodata.Words()[:gloveRows],
		Queries:   queries,
		QueryKeys: words,
	}
}

// load reads the files of one set. They are part of the program and covered by a
// test, so damage means a broken build: it panics.
func load(name, metric string, element vecbin.Element, suffix string) Set {
	matrix := func(part string) vecbin.Matrix {
		path := "data/" + name + "." + part + "." + suffix + ".gz"
		m, err := vecbin.Decode(read(path), element)
		if err != nil {
			panic(fmt.Errorf("realdata: embedded %s: %w", path, err))
		}
		return m
	}
	base, queries := matrix("base"), matrix("query")
	return Set{
		Name:      name,
		Metric:    metric,
		Dim:       base.Dim,
		Rows:      base.Data,
		Queries:   queries.Data,
		Keys:      lines("data/" + name + ".keys.txt.gz"),
		Labels:    lines("data/" + name + ".labels.txt.gz"),
		QueryKeys: lines("data/" + name + ".querykeys.txt.gz"),
	}
}

// read returns an embedded file.
func read(path string) []byte {
	content, err := files.ReadFile(path)
	if err != nil {
		panic(fmt.Errorf("realdata: %w", err))
	}
	return content
}

// lines returns the lines of an embedded gzip file.
func lines(path string) []string {
	zr, err := gzip.NewReader(bytes.NewReader(read(path)))
	if err != nil {
		panic(fmt.Errorf("realdata: embedded %s: %w", path, err))
	}
	content, err := io.ReadAll(zr)
	if err != nil {
		panic(fmt.Errorf("realdata: embedded %s: %w", path, err))
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}
