package bench

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
)

// matches are results with these keys at distances 0, 1, 2, ...
func matches(keys ...string) []sprat.Match {
	m := make([]sprat.Match, len(keys))
	for i, k := range keys {
		m[i] = sprat.Match{Key: k, Distance: float64(i)}
	}
	return m
}

func TestScoreByDistance(t *testing.T) {
	truth := &Matrix{Rows: 2, Cols: 3, Values: []float32{1, 2, 3, 0.5, float32(math.Inf(1)), float32(math.Inf(1))}}
	score, err := ScoreByDistance(truth, Euclidean, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		row       int
		answers   []float64 // squared
		right, of int
	}{
		{0, []float64{1, 4}, 2, 2},
		{0, []float64{4, 4.0001}, 1, 2},
		{0, []float64{4 * (1 + 1e-5), 9}, 1, 2},
		{0, nil, 0, 2},
		{1, []float64{0.25, 0.36}, 1, 1}, // one neighbour exists
	} {
		var m []sprat.Match
		for _, d := range c.answers {
			m = append(m, sprat.Match{Distance: d})
		}
		if right, of, err := score(c.row, m); right != c.right || of != c.of || err != nil {
			t.Errorf("row %d, %v: %d of %d (%v), want %d of %d", c.row, c.answers, right, of, err, c.right, c.of)
		}
	}
}

func TestScoreByID(t *testing.T) {
	truth := &Neighbors{Rows: 2, K: 3, IDs: []int32{7, 8, 9, 4, -1, -1}}
	numbers, err := ScoreByID(truth, nil, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	names, err := ScoreByID(truth, KeyRows{"seven": 7, "four": 4}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		score     Scorer
		row       int
		keys      string
		right, of int
	}{
		{numbers, 0, "8 7", 2, 2},
		{numbers, 0, "8 9", 1, 2},
		{numbers, 0, "8 8", 1, 2}, // a row that is returned twice counts once
		{numbers, 1, "4 5", 1, 1},
		{names, 0, "seven other", 1, 2},
		{names, 1, "four", 1, 1},
	} {
		if right, of, err := c.score(c.row, matches(strings.Fields(c.keys)...)); right != c.right || of != c.of || err != nil {
			t.Errorf("row %d, %q: %d of %d (%v), want %d of %d", c.row, c.keys, right, of, err, c.right, c.of)
		}
	}
	for _, key := range []string{"seven", "07", "-1", "+7", "4294967303", ""} {
		if _, _, err := numbers(0, matches(key)); !errors.Is(err, ErrKeysUnknown) {
			t.Errorf("key %q: %v, want ErrKeysUnknown", key, err)
		}
	}
}

func TestScorersRefuseTruthsThatDoNotFit(t *testing.T) {
	truth := &Matrix{Rows: 2, Cols: 3, Values: make([]float32, 6)}
	ids := &Neighbors{Rows: 2, K: 3, IDs: make([]int32, 6)}
	for _, c := range []struct{ queries, k int }{{3, 3}, {1, 3}, {2, 4}, {2, 0}} {
		if _, err := ScoreByDistance(truth, Cosine, c.queries, c.k); err == nil {
			t.Errorf("distances of 2 queries with 3 neighbours for %d with %d: no error", c.queries, c.k)
		}
		if _, err := ScoreByID(ids, nil, c.queries, c.k); err == nil {
			t.Errorf("ids of 2 queries with 3 neighbours for %d with %d: no error", c.queries, c.k)
		}
	}
	if _, err := ScoreByDistance(truth, "l2", 2, 3); !errors.Is(err, ErrMetric) {
		t.Errorf("metric l2: %v, want ErrMetric", err)
	}
}

func TestReadKeyRows(t *testing.T) {
	truth := &Neighbors{Rows: 2, K: 2, IDs: []int32{3, 0, 3, -1}}
	rows, err := ReadKeyRows(put(t, "keys.txt", []byte("a\r\nb\nc\nd\nunread")), truth, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows["d"] != 3 {
		t.Errorf("got %v, want d in row 3 alone", rows)
	}
	// Of rows with equal keys the index keeps the last.
	same := &Neighbors{Rows: 1, K: 3, IDs: []int32{0, 1, 2}}
	if rows, err = ReadKeyRows(put(t, "keys.txt", []byte("a\nb\na\n")), same, 3); err != nil || rows["a"] != 2 || len(rows) != 2 {
		t.Errorf("got %v (%v), want a in row 2", rows, err)
	}
	var fault *FormatError
	if _, err := ReadKeyRows(put(t, "keys.txt", []byte("a\nb\n")), truth, 2); !errors.As(err, &fault) || fault.Got != "2 keys" {
		t.Errorf("too few keys: %v", err)
	}
	if _, err := ReadKeyRows(filepath.Join(t.TempDir(), "none"), truth, 2); err == nil {
		t.Error("a file that is not there: no error")
	}
}

func TestReadScorer(t *testing.T) {
	ids := put(t, "gt.ibin", le(uint32(1), uint32(2), int32(1), int32(0)))
	distances := put(t, "gt.fbin", le(uint32(1), uint32(2), float32(0), float32(2)))
	keys := put(t, "keys.txt", []byte("zero\none\n"))
	got := matches("one", "x") // at squared distances 0 and 1
	for _, c := range []struct {
		name                 string
		ids, distances, keys string
		by                   string
		right                int
	}{
		{"none", "", "", "", "", 0},
		{"ids", ids, "", keys, "id", 1},
		{"distances", "", distances, "", "distance", 2},
		{"distances judge", ids, distances, keys, "distance", 2},
	} {
		score, by, err := ReadScorer(c.ids, c.distances, c.keys, Euclidean, 1, 2)
		if err != nil || by != c.by {
			t.Errorf("%s: by %q (%v), want %q", c.name, by, err, c.by)
			continue
		}
		if score == nil {
			continue
		}
		if right, of, err := score(0, got); right != c.right || of != 2 || err != nil {
			t.Errorf("%s: %d of %d (%v), want %d of 2", c.name, right, of, err, c.right)
		}
	}
	for name, files := range map[string][3]string{
		"too few queries": {ids, "", ""}, "distances as ids": {distances, "", ""}, "no such file": {"", "none.fbin", ""},
		"no such keys": {ids, "", "none.txt"},
	} {
		if _, _, err := ReadScorer(files[0], files[1], files[2], Euclidean, 2, 2); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// An ann-benchmarks file given as the truth brings its distances along.
func TestReadScorerHDF5(t *testing.T) {
	path := seedPath("plain.hdf5")
	truth, err := ReadFloats(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, by, err := ReadScorer(path, "", "", Cosine, truth.Rows, 1); err != nil || by != "distance" {
		t.Errorf("by %q (%v), want distance", by, err)
	}
}
