package bench

import (
	"context"
	"math"
	"slices"
	"testing"
)

// Values of the original generator in C: components 0, 1, 383 and 767 of some rows
// and the sum of each row.
var clusteredGolden = []struct {
	seed  uint64
	query bool
	row   int64
	x     [4]float64
	sum   float64
}{
	{ClusteredSeed, false, 0, [4]float64{0.0176837072, -0.011484528, 0.0402978659, 0.0497930087}, 0.76024291},
	{ClusteredSeed, false, 1, [4]float64{0.046911642, 0.071543932, -0.00417328486, 0.00977795199}, 2.38630961},
	{ClusteredSeed, false, 49, [4]float64{0.0196690038, 0.00820092298, 0.0403322615, 0.0222403817}, 0.55435597},
	{ClusteredSeed, true, 0, [4]float64{-0.0220604669, -0.0334683359, -0.0180025306, 0.0164398644}, 1.35450159},
	{ClusteredSeed, true, 4, [4]float64{0.0295364577, 0.0290399119, -0.00964903273, 0.0540609509}, -1.95784527},
	{7, false, 0, [4]float64{0.00618103985, 0.0437784642, -0.0387394838, -0.00549096055}, -0.33601664},
	{7, false, 49, [4]float64{0.0194598082, 0.0319924541, 0.0414332598, 0.00522889337}, -0.2204995},
	{7, true, 4, [4]float64{-0.0437768362, -0.0209900159, 0.0239779074, 0.00065204245}, 0.48022731},
}

func TestClusteredGolden(t *testing.T) {
	models := make(map[uint64]*Clustered)
	for _, g := range clusteredGolden {
		if models[g.seed] == nil {
			models[g.seed] = NewClustered(g.seed)
		}
		r := models[g.seed].Base(g.row + 1)
		if g.query {
			r = models[g.seed].Queries(g.row + 1)
		}
		all := readAll(t, r).vectors
		x := all[g.row]
		sum, norm := 0.0, 0.0
		for _, v := range x {
			sum += float64(v)
			norm += float64(v) * float64(v)
		}
		if math.Abs(sum-g.sum) > 1e-4 || math.Abs(norm-1) > 1e-6 {
			t.Errorf("seed %d, query %v, row %d: sum %v, squared length %v, want %v and 1", g.seed, g.query, g.row, sum, norm, g.sum)
		}
		for i, at := range []int{0, 1, 383, 767} {
			if math.Abs(float64(x[at])-g.x[i]) > 1e-6 {
				t.Errorf("seed %d, query %v, row %d: value %d is %v, want %v", g.seed, g.query, g.row, at, x[at], g.x[i])
			}
		}
	}
}

// The original's truth of the first query among 50 rows.
func TestClusteredTruth(t *testing.T) {
	c := NewClustered(ClusteredSeed)
	q := readAll(t, c.Queries(1)).vectors
	ids, dist, err := Truth(context.Background(), TruthConfig{
		Base: func() (Reader, error) { return c.Base(50), nil }, Queries: q, Metric: Cosine, K: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int32{0, 42, 49, 6, 5, 41, 3, 14, 37, 10}; !slices.Equal(ids.IDs, want) {
		t.Errorf("ids %v, want %v", ids.IDs, want)
	}
	if d := dist.Values; math.Abs(float64(d[0])-0.67972374) > 1e-6 || math.Abs(float64(d[9])-0.83920217) > 1e-6 {
		t.Errorf("distances %v", d)
	}
}
