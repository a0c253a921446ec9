package sprat

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/spratdb/sprat/centroids"
)

// train fixes the space (origin, length for dot) and the geometry of codes, and
// trains the centroids on the sample.
func (b *build) train(ctx context.Context) error {
	b.opts.Progress("train", 0, 0)
	b.row.Scale = powerScale(b.staged.maxNorm)
	b.row.MaxNormSq = b.staged.maxNorm * b.row.Scale * b.row.Scale
	if b.row.MaxNormSq == 0 {
		b.row.MaxNormSq = 1
	}
	if err := b.fixSpace(); err != nil {
		return err
	}
	b.row.RefineTier = b.cfg.Bits < 8 && b.cfg.Dimension > refineDimension
	b.row.CentroidBits = 8
	if b.space.d() >= fineCentroidDimension {
		b.row.CentroidBits = 4
	}
	var err error
	if b.ix, err = newIndex(b.store, b.row); err != nil {
		return err
	}
	sb, err := centroids.NewBuilder(b.space.d(), b.row.CentroidBits)
	if err != nil {
		return err
	}
	switch sample, k := b.rotatedSample(), b.centroidCount(); {
	case b.stats.Vectors == 0: // an empty index has no centroids
	case len(sample) >= b.space.d()*min(trainPerCentroid*k, int(b.stats.Vectors)):
		err = b.trainLeaves(ctx, sb, sample, k)
	default:
		err = b.trainInParts(ctx, sb, sample, k)
	}
	if err != nil {
		return err
	}
	b.set, err = sb.Set()
	return err
}

const (
	// trainPerCentroid is the least number of sample vectors a centroid is
	// trained on.
	trainPerCentroid = 32
	// partSlack is how many times more parts are trained than would fit: parts
	// differ in size, and a part is held twice while it is decoded.
	partSlack = 4
)

// trainLeaves trains k centroids on vectors [n][d] and adds them to sb.
func (b *build) trainLeaves(ctx context.Context, sb *centroids.Builder, vectors []float32, k int) error {
	d := b.space.d()
	trained, err := centroids.Train(ctx, vectors, centroids.TrainConfig{
		Dim: d, K: k, Seed: b.cfg.Seed, Workers: b.opts.Workers,
		Progress: func(done, total int) { b.opts.Progress("train", int64(done), int64(total)) },
	})
	if err != nil {
		return err
	}
	for i := 0; i < len(trained); i += d {
		if err := sb.Add(uint32(sb.Len()), trained[i:i+d]); err != nil {
			return err
		}
	}
	return nil
}

// trainInParts is for samples too small for the number of centroids, which is
// what a small memory limit makes of a large input: the sample trains a few
// coarse cells, the rows are scattered to them, and each cell trains its own
// leaves on its own rows. Cells come in tree order, and so do the leaves.
func (b *build) trainInParts(ctx context.Context, sb *centroids.Builder, sample []float32, k int) error {
	d := b.space.d()
	parts := max(2, partSlack*trainPerCentroid*k*d/len(sample))
	coarse, err := centroids.Train(ctx, sample, centroids.TrainConfig{Dim: d, K: parts, Seed: b.cfg.Seed, Workers: b.opts.Workers})
	if err != nil {
		return err
	}
	cells, err := newSet(d, coarse)
	if err != nil {
		return err
	}
	sp := newSpill(b.tmp, cells.Len(), b.memory/8)
	counts, err := b.scatterSample(ctx, cells, sp, k)
	for c := range cells.Len() {
		var vectors []float32
		if err == nil {
			vectors, err = loadVectors(sp, c, d)
		}
		if err == nil && len(vectors) > 0 {
			share := float64(counts[c].Load()) / float64(b.stats.Vectors)
			err = b.trainLeaves(ctx, sb, vectors, max(1, int(math.Round(share*float64(k)))))
		}
	}
	return errors.Join(err, sp.close())
}

// scatterSample sends enough rows to the cell they are nearest to, and counts
// all of them.
func (b *build) scatterSample(ctx context.Context, cells *centroids.Set, sp *spill, k int) ([]atomic.Int64, error) {
	counts := make([]atomic.Int64, cells.Len())
	keep := uint32(math.MaxUint32)
	if share := float64(2*trainPerCentroid*k) / float64(b.stats.Vectors); share < 1 {
		keep = uint32(share * math.MaxUint32)
	}
	err := b.pass(ctx, "partition", func(w *worker, blk *block) error {
		return b.live(w, blk, func(_ int, row uint64) error {
			w.query.Reset(w.rotated)
			w.near = cells.Nearest(w.near, &w.query, 1, &w.route)
			c := w.near[0].Row
			counts[c].Add(1)
			if uint32(row*0x9e3779b97f4a7c15>>32) > keep {
				return nil
			}
			w.buf = grow(w.buf, 4*len(w.rotated))
			for i, x := range w.rotated {
				binary.LittleEndian.PutUint32(w.buf[4*i:], math.Float32bits(x))
			}
			return sp.add(int(c), w.buf)
		})
	})
	return counts, err
}

func loadVectors(sp *spill, part, d int) ([]float32, error) {
	items, err := sp.load(part)
	if err != nil {
		return nil, err
	}
	// Rows arrive in the order the workers found them; training must not.
	slices.SortFunc(items, bytes.Compare)
	vectors := make([]float32, 0, len(items)*d)
	for _, item := range items {
		for i := range d {
			vectors = append(vectors, math.Float32frombits(binary.LittleEndian.Uint32(item[4*i:])))
		}
	}
	return vectors, nil
}

// fineCentroidDimension is where centroids are kept in 4 bits a dimension
// instead of 8: half the memory, at a cost in recall that was not measurable.
const fineCentroidDimension = 512

// newSet makes a set of trained centroids [n][d], rows as ids.
func newSet(d int, trained []float32) (*centroids.Set, error) {
	sb, err := centroids.NewBuilder(d, 8)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(trained); i += d {
		if err := sb.Add(uint32(i/d), trained[i:i+d]); err != nil {
			return nil, err
		}
	}
	return sb.Set()
}

// centroidCount is the number of postings that gives them the target size.
func (b *build) centroidCount() int {
	entries := max(b.ix.layout.Capacity(b.cfg.PostingBytes), b.cfg.Copies)
	primaries := float64(entries) / float64(b.cfg.Copies)
	return max(1, int(math.Round(float64(b.stats.Vectors)/primaries)))
}

// fixSpace computes the origin, the mean of the sample.
func (b *build) fixSpace() (err error) {
	inner := innerDim(b.cfg.Metric, b.cfg.Dimension)
	plain, err := newSpace(b.cfg.Metric, b.cfg.Dimension, b.cfg.Seed, nil, b.row.Scale, b.row.MaxNormSq)
	if err != nil {
		return err
	}
	sum, v, dim := make([]float64, inner), make([]float32, inner), b.staged.dim
	for i := 0; i < len(b.staged.sample); i += dim {
		plain.innerData(v, b.staged.sample[i:i+dim])
		for j, x := range v {
			sum[j] += float64(x)
		}
	}
	if n := len(b.staged.sample) / dim; n > 0 {
		b.row.Origin = make([]float32, inner)
		for j, x := range sum {
			b.row.Origin[j] = float32(x / float64(n))
		}
	}
	b.space, err = newSpace(b.cfg.Metric, b.cfg.Dimension, b.cfg.Seed, b.row.Origin, b.row.Scale, b.row.MaxNormSq)
	return err
}

// rotatedSample maps the raw sample into the space and gives its memory back.
func (b *build) rotatedSample() []float32 {
	dim, d := b.staged.dim, b.space.d()
	n := len(b.staged.sample) / dim
	out, inner := make([]float32, n*d), b.space.inner()
	for i := range n {
		b.space.data(out[i*d:(i+1)*d], b.staged.sample[i*dim:(i+1)*dim], inner)
	}
	b.staged.sample = nil
	return out
}
