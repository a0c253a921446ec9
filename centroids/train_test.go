package centroids

import (
	"context"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
	"pgregory.net/rapid"
)

func train(tb testing.TB, sample []float32, cfg TrainConfig) []float32 {
	tb.Helper()
	cents, err := Train(context.Background(), sample, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return cents
}

// repeat returns n copies of each of the given values, as vectors of 8 equal
// components.
func repeat(n int, values ...float32) []float32 {
	var out []float32
	for range n {
		for _, x := range values {
			out = append(out, slices.Repeat([]float32{x}, 8)...)
		}
	}
	return out
}

func TestTrainDegenerateSamples(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name   string
		sample []float32
		k      int
		want   []float32 // first component of each centroid, ascending
	}{
		{"nothing", nil, 5, nil},
		{"one vector", repeat(1, 3), 5, []float32{3}},
		{"one vector, one cell", repeat(1, 3), 1, []float32{3}},
		{"fewer vectors than cells", repeat(1, 1, 2, 9), 5, []float32{1, 2, 9}},
		{"as many vectors as cells", repeat(1, 1, 2, 4, 8, 16), 5, []float32{1, 2, 4, 8, 16}},
		{"zeros", repeat(1000, 0), 30, []float32{0}},
		{"equal vectors", repeat(20_000, 7), 500, []float32{7}},
		{"two values", repeat(5000, -1, 4), 100, []float32{-1, 4}},
		{"two values, one rare", append(repeat(5000, -1), repeat(2, 4)...), 100, []float32{-1, 4}},
		{"signed zeros", append(repeat(3, 0), repeat(3, float32(math.Copysign(0, -1)))...), 4, []float32{0}},
		{"NaN and overlong left out", append(repeat(3, 5, nan), repeat(3, 1e30)...), 4, []float32{5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cents := train(t, c.sample, TrainConfig{Dim: 8, K: c.k, Seed: 1})
			var got []float32
			for i := 0; i < len(cents); i += 8 {
				got = append(got, cents[i])
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("centroids %v, want %v", got, c.want)
			}
		})
	}
}

func TestTrainOutlierKeepsTheRestApart(t *testing.T) {
	sample := append(repeat(500, 1, 2, 3, 4, 5, 6, 7, 8), repeat(1, 1e15)...)
	cents := train(t, sample, TrainConfig{Dim: 8, K: 10, Seed: 1})
	for _, x := range []float32{1, 2, 3, 4, 5, 6, 7, 8} {
		v := repeat(1, x)
		near := cents[nearestOf(v, cents)*8:][:8]
		if d := simd.L2F32(v, near); d > 0.1 {
			t.Errorf("nearest centroid of %v is %v", x, near[0])
		}
	}
}

func TestTrainErrors(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	nan := []float32{float32(math.NaN()), 0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		name   string
		ctx    context.Context
		sample []float32
		cfg    TrainConfig
		want   error
	}{
		{"no dimension", context.Background(), nil, TrainConfig{K: 1}, rq.ErrDimension},
		{"odd dimension", context.Background(), nil, TrainConfig{Dim: 9, K: 1}, rq.ErrDimension},
		{"half a vector", context.Background(), make([]float32, 12), TrainConfig{Dim: 8, K: 1}, ErrShape},
		{"no count", context.Background(), make([]float32, 8), TrainConfig{Dim: 8}, ErrShape},
		{"negative count", context.Background(), make([]float32, 8), TrainConfig{Dim: 8, K: -1, Target: 1}, ErrShape},
		{"only NaN", context.Background(), nan, TrainConfig{Dim: 8, K: 1}, ErrNotFinite},
		{"cancelled", ended, repeat(9, 1, 2), TrainConfig{Dim: 8, K: 2}, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			if cents, err := Train(c.ctx, c.sample, c.cfg); !errors.Is(err, c.want) || cents != nil {
				t.Errorf("centroids %v, error %v, want %v", cents, err, c.want)
			}
		})
	}
}

func TestTrainStopsWhenCancelledMidway(t *testing.T) {
	sample, dim := words(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	last := 0
	_, err := Train(ctx, sample, TrainConfig{Dim: dim, K: 40, Progress: func(done, _ int) {
		last = done
		if done == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || last != 2 {
		t.Errorf("error %v after progress %d", err, last)
	}
}

func TestTrainIsDeterministic(t *testing.T) {
	sample, dim := words(t)
	want := train(t, sample, TrainConfig{Dim: dim, K: 60, Seed: 7, Workers: 1})
	for workers := 2; workers <= 4; workers++ {
		if got := train(t, sample, TrainConfig{Dim: dim, K: 60, Seed: 7, Workers: workers}); !slices.Equal(got, want) {
			t.Errorf("%d workers give other centroids than one", workers)
		}
	}
	if got := train(t, sample, TrainConfig{Dim: dim, K: 60, Seed: 8}); slices.Equal(got, want) {
		t.Error("the seed does not matter")
	}
}

// TestTrainGivesTheSameOnEveryMachine pins one result. Change the number together
// with the algorithm, never for a processor or a compiler.
func TestTrainGivesTheSameOnEveryMachine(t *testing.T) {
	sample, dim := words(t)
	cents := train(t, sample, TrainConfig{Dim: dim, K: 60, Seed: 7})
	if got, want := crc32.Checksum(appendFloats(nil, cents), castagnoli), uint32(0x62953f05); got != want {
		t.Errorf("checksum %#08x, want %#08x", got, want)
	}
}

func TestTrainTargetAndProgress(t *testing.T) {
	sample, dim := words(t)
	var steps []int
	cents := train(t, sample, TrainConfig{Dim: dim, Target: 49, Progress: func(done, total int) {
		steps = append(steps, done)
		if total != 1+refinePasses {
			t.Errorf("total %d", total)
		}
	}})
	if k := len(cents) / dim; k != 41 { // ceil(2000/49)
		t.Errorf("%d centroids", k)
	}
	if len(steps) != 2+refinePasses || !slices.IsSorted(steps) || steps[len(steps)-1] != 1+refinePasses {
		t.Errorf("progress %v", steps)
	}
}

// flatLloyd is the textbook algorithm that Train is measured against.
func flatLloyd(sample []float32, dim, k, passes int, seed uint64) []float32 {
	n := len(sample) / dim
	cents := make([]float32, 0, k*dim)
	for _, row := range rand.New(rand.NewPCG(seed, 0)).Perm(n)[:k] {
		cents = append(cents, sample[row*dim:][:dim]...)
	}
	for range passes {
		sums, counts := make([]float64, k*dim), make([]int, k)
		for i := range n {
			v := sample[i*dim:][:dim]
			c := int(nearestOf(v, cents))
			addTo(sums[c*dim:][:dim], v)
			counts[c]++
		}
		for i, sum := range sums {
			if c := counts[i/dim]; c > 0 {
				cents[i] = float32(sum / float64(c))
			}
		}
	}
	return cents
}

// fit returns the mean squared distance to the nearest centroid and the counts of
// the cells.
func fit(sample []float32, dim int, cents []float32) (meanSq float64, counts []int) {
	counts = make([]int, len(cents)/dim)
	for i := 0; i < len(sample); i += dim {
		v := sample[i : i+dim]
		c := nearestOf(v, cents)
		counts[c]++
		meanSq += float64(simd.L2F32(v, cents[int(c)*dim:][:dim]))
	}
	return meanSq / float64(len(sample)/dim), counts
}

func TestTrainIsAsGoodAsFlatLloydAndBetterBalanced(t *testing.T) {
	sample, dim := words(t)
	const k = 40
	flatSq, flatCounts := fit(sample, dim, flatLloyd(sample, dim, k, 10, 1))
	for seed := range uint64(3) {
		sq, counts := fit(sample, dim, train(t, sample, TrainConfig{Dim: dim, K: k, Seed: seed}))
		if len(counts) != k {
			t.Errorf("seed %d: %d cells", seed, len(counts))
		}
		if sq > 1.01*flatSq {
			t.Errorf("seed %d: mean squared distance %.4f, flat Lloyd has %.4f", seed, sq, flatSq)
		}
		if most := slices.Max(counts); most > slices.Max(flatCounts) || most > 3*2000/k {
			t.Errorf("seed %d: a cell of %d, mean 50, flat Lloyd has %d", seed, most, slices.Max(flatCounts))
		}
		if least := slices.Min(counts); least < 2000/k/5 {
			t.Errorf("seed %d: a cell of %d, mean 50", seed, least)
		}
	}
}

func TestTrainUsesAShareOfALargeSample(t *testing.T) {
	trainer := &trainer{crew: crew{context.Background(), 1}, dim: 8, sample: make([]float32, 8*10_000)}
	if err := trainer.choose(10_000, 3); err != nil {
		t.Fatal(err)
	}
	if len(trainer.rows) != 3*samplePerCell || !slices.IsSorted(trainer.rows) {
		t.Errorf("%d rows", len(trainer.rows))
	}
	for i, row := range trainer.rows { // one of every part, all parts alike
		if part := int(row) * len(trainer.rows) / 10_000; part < i-1 || part > i+1 {
			t.Errorf("row %d is %d", i, row)
		}
	}
}

func TestTrainProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		distinct := rapid.SliceOfN(rapid.Float32Range(-100, 100), 1, 12).Draw(t, "values")
		picks := rapid.SliceOfN(rapid.IntRange(0, len(distinct)-1), 1, 200).Draw(t, "picks")
		k := rapid.IntRange(1, 30).Draw(t, "k")
		sample := make([]float32, 0, 8*len(picks))
		seen := map[float32]bool{}
		for _, p := range picks {
			seen[distinct[p]+0] = true
			sample = append(sample, distinct[p], 1, 1, 1, 1, 1, 1, 1)
		}
		cents, err := Train(context.Background(), sample, TrainConfig{Dim: 8, K: k, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(cents) / 8; got < 1 || got > k || got > len(seen) {
			t.Fatalf("%d centroids of %d distinct vectors, wanted %d", got, len(seen), k)
		}
		lo, hi := slices.Min(distinct), slices.Max(distinct)
		found := map[float32]bool{}
		for i := 0; i < len(cents); i += 8 {
			if x := cents[i]; x < lo || x > hi || cents[i+7] != 1 || found[x] {
				t.Fatalf("centroid %v is out of bounds or there twice", cents[i:i+8])
			}
			found[cents[i]] = true
		}
	})
}
