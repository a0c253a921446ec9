package realdata

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		set                Set
		rows, queries, dim int
	}{
		{Text(), 3000, 100, 384},
		{Fashion(), 2000, 50, 784},
		{Glove(), 5000, 200, 100},
	} {
		s := c.set
		if s.Len() != c.rows || s.QueryLen() != c.queries || s.Dim != c.dim {
			t.Errorf("%s: %d rows, %d queries, dimension %d", s.Name, s.Len(), s.QueryLen(), s.Dim)
		}
		if len(s.Rows) != c.rows*c.dim || len(s.Queries) != c.queries*c.dim {
			t.Errorf("%s: %d and %d numbers", s.Name, len(s.Rows), len(s.Queries))
		}
		if len(s.Keys) != c.rows || len(s.QueryKeys) != c.queries {
			t.Errorf("%s: %d keys, %d query keys", s.Name, len(s.Keys), len(s.QueryKeys))
		}
		if s.Labels != nil && len(s.Labels) != c.rows {
			t.Errorf("%s: %d labels", s.Name, len(s.Labels))
		}
		if got := s.Row(1)[0]; got != s.Rows[s.Dim] {
			t.Errorf("%s: row 1 starts with %v", s.Name, got)
		}
		if got := s.Query(s.QueryLen() - 1)[s.Dim-1]; got != s.Queries[len(s.Queries)-1] {
			t.Errorf("%s: the last query ends with %v", s.Name, got)
		}
	}
}

func TestKeysAreDistinct(t *testing.T) {
	for _, s := range All() {
		seen := map[string]bool{}
		for _, key := range slices.Concat(s.Keys, s.QueryKeys) {
			if len(key) < 1 || len(key) > 1024 || !utf8.ValidString(key) {
				t.Errorf("%s: %q is not a key", s.Name, key)
			}
			if seen[key] {
				t.Errorf("%s: key %q is there twice", s.Name, key)
			}
			seen[key] = true
		}
	}
}

func TestValues(t *testing.T) {
	for i := range Text().Len() {
		if norm := squaredNorm(Text().Row(i)); math.Abs(norm-1) > 1e-3 {
			t.Errorf("text row %d has squared norm %v, want 1", i, norm)
		}
	}
	for i, x := range Fashion().Rows {
		if x < 0 || x > 255 || x != float32(math.Trunc(float64(x))) {
			t.Fatalf("fashion number %d is %v, not a byte", i, x)
		}
	}
	// Words stand for vectors that are not normalised: dot product tests need that.
	low, high := math.Inf(1), 0.0
	for i := range Glove().Len() {
		norm := squaredNorm(Glove().Row(i))
		low, high = min(low, norm), max(high, norm)
	}
	if high < 2*low {
		t.Errorf("squared norms of glove are within %v..%v, too alike", low, high)
	}
}

func squaredNorm(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// The sums are of the content, not of the compressed files. A change of them
// changes every figure that was taken on the set.
func TestContentIsPinned(t *testing.T) {
	want := map[string]string{
		"text":    "a764162d11171ba319d9ca3c41692b0c38398cd794639b49d44233accbcb88c3",
		"fashion": "daee3a2a5b5ea5bbd8d92ddcab85f5fbebe445ab9f87595c50fac36835b6edeb",
		"glove":   "052551f78c02913c3944862b9eaea46226ab70a9596c15c10342ff24058bc6c5",
	}
	for _, s := range All() {
		hash := sha256.New()
		if err := binary.Write(hash, binary.LittleEndian, slices.Concat(s.Rows, s.Queries)); err != nil {
			t.Fatal(err)
		}
		hash.Write([]byte(strings.Join(slices.Concat(s.Keys, s.QueryKeys, s.Labels), "\n")))
		if got := hex.EncodeToString(hash.Sum(nil)); got != want[s.Name] {
			t.Errorf("%s has sum %s, want %s", s.Name, got, want[s.Name])
		}
	}
}

// Labels must belong to their rows: a row and its nearest other row share a
// label far more often than two rows picked blindly do.
func TestLabelsBelongToRows(t *testing.T) {
	const sample = 40
	for _, c := range []struct {
		set   Set
		least float64 // share that must agree; blindly it is below 0.11
	}{
		{Text(), 0.4},
		{Fashion(), 0.7},
	} {
		agree := 0
		for i := range sample {
			row := i * c.set.Len() / sample
			if c.set.Labels[row] == c.set.Labels[nearestOther(c.set, row)] {
				agree++
			}
		}
		if share := float64(agree) / sample; share < c.least {
			t.Errorf("%s: %v of the nearest rows share the label, want at least %v", c.set.Name, share, c.least)
		}
	}
}

// nearestOther returns the row nearest to row i, not i itself.
func nearestOther(s Set, i int) int {
	best, bestDistance := -1, math.Inf(1)
	for r := range s.Len() {
		distance := 0.0
		for j, x := range s.Row(r) {
			d := float64(x - s.Row(i)[j])
			distance += d * d
		}
		if r != i && distance < bestDistance {
			best, bestDistance = r, distance
		}
	}
	return best
}
