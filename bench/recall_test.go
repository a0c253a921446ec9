package bench

import (
	"math"
	"testing"
)

func TestRecallRow(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, c := range map[string]struct {
		got       []float64
		truth     []float32
		k         int
		right, of int
	}{
		"all":               {[]float64{1, 2, 3}, []float32{1, 2, 3}, 3, 3, 3},
		"two":               {[]float64{1, 3, 4}, []float32{1, 2, 3}, 3, 2, 3},
		"within tolerance":  {[]float64{1, 2.00001}, []float32{1, 2}, 2, 2, 2},
		"beyond tolerance":  {[]float64{1, 2.00003}, []float32{1, 2}, 2, 1, 2},
		"negative":          {[]float64{-3, -1.99999}, []float32{-3, -2}, 2, 2, 2},
		"negative, beyond":  {[]float64{-3, -1.9999}, []float32{-3, -2}, 2, 1, 2},
		"duplicates at 0":   {[]float64{1e-7, 1e-7}, []float32{0, 0}, 2, 2, 2},
		"above 0":           {[]float64{3e-7}, []float32{0}, 1, 0, 1},
		"fewer answers":     {[]float64{1}, []float32{1, 2}, 2, 1, 2},
		"more answers":      {[]float64{1, 1, 1}, []float32{1, 2}, 2, 2, 2},
		"k below the truth": {[]float64{2, 2}, []float32{1, 2, 9}, 2, 2, 2},
		"short truth":       {[]float64{1, 5, 6}, []float32{1, inf, inf}, 3, 1, 1},
		"empty truth":       {[]float64{1}, []float32{inf}, 1, 0, 0},
		"NaN":               {[]float64{math.NaN()}, []float32{1}, 1, 0, 1},
	} {
		if right, of := RecallRow(c.got, c.truth, c.k); right != c.right || of != c.of {
			t.Errorf("%s: %d of %d, want %d of %d", name, right, of, c.right, c.of)
		}
	}
}

func TestRecall(t *testing.T) {
	inf := float32(math.Inf(1))
	truth := &Matrix{Rows: 3, Cols: 2, Values: []float32{1, 2, 1, 2, inf, inf}}
	got := [][]float64{{1, 2}, {1, 5}, {7}}
	if r, err := Recall(got, truth, 2); err != nil || r != 0.75 {
		t.Errorf("recall %v, %v, want 0.75 of the two queries that have neighbours", r, err)
	}
	for name, f := range map[string]func() (float64, error){
		"queries": func() (float64, error) { return Recall(got[:2], truth, 2) },
		"k":       func() (float64, error) { return Recall(got, truth, 3) },
		"zero k":  func() (float64, error) { return Recall(got, truth, 0) },
		"nothing": func() (float64, error) { return Recall(got[:1], &Matrix{Rows: 1, Cols: 1, Values: []float32{inf}}, 1) },
		"ids":     func() (float64, error) { return RecallIDs(nil, &Neighbors{Rows: 1, K: 1, IDs: []int32{1}}, 1) },
	} {
		if r, err := f(); err == nil {
			t.Errorf("%s: recall %v, want an error", name, r)
		}
	}
}

func TestRecallIDs(t *testing.T) {
	truth := &Neighbors{Rows: 4, K: 3, IDs: []int32{1, 2, 3, 1, 2, 3, 5, -1, -1, -1, -1, -1}}
	got := [][]int32{{3, 9, 1}, {1, 1, 1}, {5}, {1}}
	// 2/3, 1/3 (a repeated id counts once), 1/1, and a query without neighbours.
	if r, err := RecallIDs(got, truth, 3); err != nil || math.Abs(r-2.0/3) > 1e-12 {
		t.Errorf("recall %v, %v, want 2/3", r, err)
	}
	if r, err := RecallIDs(got, truth, 1); err != nil || math.Abs(r-2.0/3) > 1e-12 {
		t.Errorf("recall@1 %v, %v, want 2/3", r, err)
	}
}

func TestTruthDistance(t *testing.T) {
	for _, c := range []struct {
		metric   string
		in, want float64
	}{
		{Cosine, 0.25, 0.25}, {Euclidean, 9, 3}, {Euclidean, -1e-9, 0}, {Dot, 5, -5}, {Dot, -5, 5},
	} {
		if got := TruthDistance(c.metric, c.in); got != c.want {
			t.Errorf("%s of %v is %v, want %v", c.metric, c.in, got, c.want)
		}
	}
	if got := TruthDistance("other", 1); !math.IsNaN(got) {
		t.Errorf("unknown metric gives %v, want NaN", got)
	}
}
