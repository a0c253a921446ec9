package centroids

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spratdb/sprat/rq/simd"
)

func TestTreeOrderOfALineIsTheLine(t *testing.T) {
	values := make([]float32, 100)
	for i := range values {
		values[i] = float32(i)
	}
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	got := treeOrder(repeat(1, values...), 8)
	line := make([]float32, 0, 100)
	for i := 0; i < len(got); i += 8 {
		line = append(line, got[i])
	}
	if line[0] > line[1] {
		slices.Reverse(line)
	}
	if !slices.IsSorted(line) {
		t.Errorf("order %v", line)
	}
}

func TestTreeOrderPutsNearVectorsTogether(t *testing.T) {
	cents, dim := words(t)
	ordered := treeOrder(cents, dim)
	if a, b := step(cents, dim), step(ordered, dim); b > 0.8*a {
		t.Errorf("mean squared step %.3f, unordered %.3f", b, a)
	}
	if len(ordered) != len(cents) {
		t.Errorf("%d floats of %d", len(ordered), len(cents))
	}
}

// step returns the mean squared distance of consecutive vectors.
func step(v []float32, dim int) float64 {
	sum := 0.0
	for i := dim; i < len(v); i += dim {
		sum += float64(simd.L2F32(v[i-dim:i], v[i:i+dim]))
	}
	return sum / float64(len(v)/dim-1)
}

func TestBranches(t *testing.T) {
	for _, c := range []struct{ leaves, want int }{
		{2, 2}, {16, 16}, {17, 5}, {256, 16}, {257, 7}, {1800, 13}, {10_000, 10}, {65_536, 16},
	} {
		if got := branches(c.leaves); got != c.want {
			t.Errorf("branches(%d) = %d, want %d", c.leaves, got, c.want)
		}
		if height := math.Log(float64(c.leaves)) / math.Log(float64(branches(c.leaves))); height > math.Ceil(math.Log(float64(c.leaves))/math.Log(16))+1e-9 {
			t.Errorf("%d leaves need %.2f levels", c.leaves, height)
		}
	}
}

// cellsOf returns cells with the given counts.
func cellsOf(counts ...int) *cells {
	c := &cells{}
	for cell, n := range counts {
		c.of = append(c.of, slices.Repeat([]int32{int32(cell)}, n)...)
	}
	c.order = make([]int32, len(c.of))
	c.sort(len(counts))
	return c
}

func TestPlanSizes(t *testing.T) {
	for _, c := range []struct {
		name   string
		k      int
		counts []int
		want   []int
	}{
		{"even cells stay", 4, []int{90, 110, 100, 100}, []int{1, 1, 1, 1}},
		{"a small one makes room for half of a large one", 4, []int{250, 20, 80, 50}, []int{2, 0, 1, 1}},
		{"no room, nothing small", 4, []int{220, 60, 60, 60}, []int{1, 1, 1, 1}},
		{"below half makes room when needed", 4, []int{220, 40, 70, 70}, []int{2, 0, 1, 1}},
		{"below half stays when not needed", 4, []int{140, 40, 110, 110}, []int{1, 1, 1, 1}},
		{"very large ones are cut in several", 8, []int{530, 20, 10, 40, 60, 50, 50, 40}, []int{3, 0, 0, 1, 1, 1, 1, 1}},
		{"room left goes to the largest", 4, []int{150, 130, 120}, []int{2, 1, 1}},
		{"too many cells", 2, []int{300, 40, 60}, []int{1, 0, 1}},
		{"empty cells go", 2, []int{0, 100, 100}, []int{0, 1, 1}},
		{"the last cell stays", 1, []int{3}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells := cellsOf(c.counts...)
			trainer := &trainer{k: c.k, target: float64(len(cells.of)) / float64(c.k)}
			if got := trainer.planSizes(cells); !slices.Equal(got, c.want) {
				t.Errorf("target %v, counts %v: plan %v, want %v", trainer.target, c.counts, got, c.want)
			}
		})
	}
}

func TestCrewRunsEveryTaskOnce(t *testing.T) {
	ran := make([]int, 1000)
	err := crew{context.Background(), 4}.each(len(ran), func(worker, task int) {
		if worker < 0 || worker > 3 {
			t.Errorf("worker %d", worker)
		}
		ran[task]++
	})
	if err != nil || slices.ContainsFunc(ran, func(n int) bool { return n != 1 }) {
		t.Errorf("error %v, runs %v", err, ran)
	}
}
