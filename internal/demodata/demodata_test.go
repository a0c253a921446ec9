package demodata

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spratdb/sprat/internal/vecbin"
)

func TestShape(t *testing.T) {
	dim, rows := Vectors()
	queries, vectors := Queries()
	if dim != 100 {
		t.Errorf("dimension %d, want 100", dim)
	}
	if len(Words()) != 20_000 || len(rows) != len(Words())*dim {
		t.Errorf("%d words with %d numbers", len(Words()), len(rows))
	}
	if len(queries) != 200 || len(vectors) != len(queries)*dim {
		t.Errorf("%d queries with %d numbers", len(queries), len(vectors))
	}
	for i, x := range slices.Concat(rows, vectors) {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			t.Fatalf("number %d is %v", i, x)
		}
	}
}

func TestWordsArePlainAndDistinct(t *testing.T) {
	plain := regexp.MustCompile(`^[a-z]{2,}$`)
	queries, _ := Queries()
	seen := map[string]bool{}
	for _, word := range slices.Concat(Words(), queries) {
		if !plain.MatchString(word) {
			t.Errorf("%q is not a plain word", word)
		}
		if seen[word] {
			t.Errorf("%q is there twice", word)
		}
		seen[word] = true
	}
}

// The sums are of the content, not of the compressed files, so that another
// compressor's output is as good. A change of them changes every figure that
// was taken on this set.
func TestContentIsPinned(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"words.txt", wordsText, "21945cc98a595c0e973993a6fff080e77f1fe1f733101ad000995ee686edeb55"},
		{"words.f16bin", halves(wordVectors()), "2e45a7f1d1ed43bd0f6ec24bb088882e5922bfef431a1e68b022380db19b4d5c"},
		{"queries.txt", queriesText, "537e42f2887ca24d14ad226b65290b5775f4e8a3c19b0a3240cb231f97a3fba3"},
		{"queries.f16bin", halves(queriesVectors()), "441f79f31c93aebe311e900782fb606eb9aed4037485e31094eb9db76209e7ae"},
	} {
		sum := sha256.Sum256([]byte(c.content))
		if got := hex.EncodeToString(sum[:]); got != c.want {
			t.Errorf("%s has sum %s, want %s", c.name, got, c.want)
		}
	}
}

// halves returns the numbers of m as stored, two bytes each, little endian.
func halves(m vecbin.Matrix) string {
	var b strings.Builder
	for _, f := range m.Data {
		h := vecbin.ToHalf(f)
		b.WriteByte(byte(h))
		b.WriteByte(byte(h >> 8))
	}
	return b.String()
}

// Rows must belong to their words: the nearest words of a few queries are known
// to mean something near.
func TestVectorsBelongToTheirWords(t *testing.T) {
	queries, vectors := Queries()
	dim, rows := Vectors()
	for query, want := range map[string]string{
		"strawberries": "apples",
		"ammonia":      "nitrogen",
		"argentinian":  "argentine",
	} {
		i := slices.Index(queries, query)
		if i < 0 {
			t.Fatalf("%q is no query", query)
		}
		best := nearest(rows, vectors[i*dim:(i+1)*dim])
		if got := Words()[best]; got != want {
			t.Errorf("nearest to %q is %q, want %q", query, got, want)
		}
	}
}

// nearest returns the row of the highest cosine with q.
func nearest(rows, q []float32) int {
	best, bestCosine := -1, math.Inf(-1)
	for r := range len(rows) / len(q) {
		var dot, norm float64
		for j, x := range rows[r*len(q) : (r+1)*len(q)] {
			dot += float64(x) * float64(q[j])
			norm += float64(x) * float64(x)
		}
		if cosine := dot / math.Sqrt(norm); cosine > bestCosine {
			best, bestCosine = r, cosine
		}
	}
	return best
}
