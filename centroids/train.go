package centroids

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

const (
	// samplePerCell bounds the work: of a larger sample only this many vectors a
	// cell are used. (Means over 64 vectors cost 0.01 of recall against means over
	// 100.)
	samplePerCell = 128
	// refinePasses is the number of flat Lloyd passes after the tree. The first
	// controlPasses of them are each followed by size control. (Three passes fewer
	// cost 0.01 of recall, four more bring 0.002.)
	refinePasses  = 8
	controlPasses = 4
	// In a pass a vector looks for the nearest among so many cells around its own:
	// more in the first pass, because the tree leaves many vectors far from the
	// right cell. Looking at all K would take K/128 times the work.
	firstWidth = 256
	width      = 128
	// maxSquare bounds the squared norm of a vector, so that no squared distance
	// overflows.
	maxSquare = 1 << 120
)

// TrainConfig says what Train makes of a sample.
type TrainConfig struct {
	// Dim is D, the length of one vector: a multiple of 8. Required.
	Dim int
	// K is the number of centroids wanted. 0 means ceil(vectors / Target).
	K int
	// Target is the number of sample vectors wanted in a cell; used when K is 0.
	Target int
	// Seed chooses the random numbers. Equal samples and configurations but for
	// Workers and Progress give equal centroids.
	Seed uint64
	// Workers is the number of goroutines. 0 means GOMAXPROCS.
	Workers int
	// Progress, if set, is called between phases by the goroutine that called
	// Train, with done rising to total.
	Progress func(done, total int)
}

// Train places centroids over sample, vectors [n][Dim] that it only reads, and
// returns them as [k][Dim] in tree order: near centroids stand near each other.
//
// k is at most K, and less where the sample has fewer distinct vectors; no two
// centroids are equal. An empty sample gives none. Vectors that hold a NaN or are
// longer than 2^60 are left out; when that leaves nothing of a sample the error is
// ErrNotFinite. A bad configuration is ErrShape, a bad dimension rq.ErrDimension,
// an ended ctx its own error.
//
// How: balanced hierarchical k-means gives every branch leaves in proportion to
// its vectors. Then flat Lloyd passes over all cells follow, in which a vector
// goes to the nearest of the cells around its own; between them cells with more
// than twice the mean count are split and those below a quarter dissolved. Of a
// sample larger than 128 K an even, seeded share of 128 K vectors is used.
func Train(ctx context.Context, sample []float32, cfg TrainConfig) ([]float32, error) {
	if _, err := rq.NewCentroidCoder(cfg.Dim, 8); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if len(sample)%cfg.Dim != 0 || cfg.K < 0 || (cfg.K == 0 && cfg.Target < 1) {
		return nil, fmt.Errorf("train: %d floats, dim %d, k %d, target %d: %w",
			len(sample), cfg.Dim, cfg.K, cfg.Target, ErrShape)
	}
	n := len(sample) / cfg.Dim
	if n == 0 {
		return nil, nil
	}
	if cfg.K == 0 {
		cfg.K = (n + cfg.Target - 1) / cfg.Target
	}
	if cfg.Workers < 1 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	t := newTrainer(ctx, sample, cfg)
	if err := t.choose(n, cfg.K); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("train: none of %d vectors is usable: %w", n, ErrNotFinite)
	}
	cents, err := t.train(cfg.Progress)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return cents, nil
}

// trainer is one run of Train.
type trainer struct {
	crew
	dim    int
	sample []float32
	seed   uint64

	rows   []int32 // sample rows in use, ascending
	k      int     // centroids wanted, at most len(rows)
	target float64 // rows per cell

	fitters []fitter // one a worker
}

func newTrainer(ctx context.Context, sample []float32, cfg TrainConfig) *trainer {
	t := &trainer{
		crew: crew{ctx, cfg.Workers}, dim: cfg.Dim, sample: sample, seed: cfg.Seed,
		fitters: make([]fitter, cfg.Workers),
	}
	for i := range t.fitters {
		t.fitters[i].t = t
	}
	return t
}

// vec returns the vector of used row i.
func (t *trainer) vec(i int32) []float32 {
	at := int(t.rows[i]) * t.dim
	return t.sample[at : at+t.dim]
}

// Steps that draw random numbers.
const (
	stepChoose  = 0
	stepTree    = 1   // + level
	stepControl = 100 // + pass
)

// rng returns the random numbers of one part of a step: the same for any number
// of workers.
func (t *trainer) rng(step, part int) *rand.Rand {
	return rand.New(rand.NewPCG(t.seed, uint64(step)<<32|uint64(part)))
}

// choose picks the rows to work on: one at random of every n/m rows in a line,
// so that a sample in natural order is covered evenly.
func (t *trainer) choose(n, k int) error {
	m := n
	if k < n/samplePerCell {
		m = k * samplePerCell
	}
	rows, usable := make([]int32, m), make([]bool, m)
	rng := t.rng(stepChoose, 0)
	for i := range rows {
		rows[i] = int32(stratum(i, m, n, rng))
	}
	const chunk = 4096
	err := t.each((m+chunk-1)/chunk, func(_, task int) {
		for i := task * chunk; i < min(m, (task+1)*chunk); i++ {
			v := t.sample[int(rows[i])*t.dim:][:t.dim]
			usable[i] = simd.DotF32(v, v) <= maxSquare // false for NaN
		}
	})
	for i, row := range rows {
		if usable[i] {
			t.rows = append(t.rows, row)
		}
	}
	t.k = min(k, len(t.rows))
	t.target = float64(len(t.rows)) / float64(max(t.k, 1))
	return err
}

// train runs the phases.
func (t *trainer) train(progress func(done, total int)) ([]float32, error) {
	const total = 1 + refinePasses
	report := func(done int) {
		if progress != nil {
			progress(done, total)
		}
	}
	report(0)
	c, err := t.grow()
	if err == nil {
		err = t.means(c)
	}
	if err != nil {
		return nil, err
	}
	for pass := range refinePasses {
		report(1 + pass)
		around := width
		if pass == 0 {
			around = firstWidth
		}
		if err := t.assign(c, around); err != nil {
			return nil, err
		}
		if pass < controlPasses {
			if err := t.control(c, pass); err != nil {
				return nil, err
			}
		}
		if err := t.means(c); err != nil {
			return nil, err
		}
	}
	cents := treeOrder(distinct(c, t.dim), t.dim)
	report(total)
	return cents, nil
}
