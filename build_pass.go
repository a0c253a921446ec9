package sprat

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/rq"
)

// blockRows is how many staged rows travel together to a worker.
const blockRows = 256

// block is a run of staged rows, live and dead.
type block struct {
	first   uint64
	n       int
	vectors []float32 // [n][dim]
	keys    [][]byte
	metas   [][]byte
	text    []byte // backs keys and metas
}

// worker is the scratch memory of one goroutine of a pass.
type worker struct {
	inner    []float32
	rotated  []float32
	centroid []float32
	query    rq.Query
	near     []centroids.Neighbor
	route    centroids.Workspace
	coder    rq.Workspace
	chosen   []centroids.Neighbor
	observer observer // of the calibration's sample
	buf      []byte
}

// pass streams the staged rows past the workers, a block at a time; f runs in
// several goroutines. The goroutines end before pass returns.
func (b *build) pass(ctx context.Context, step string, f func(w *worker, blk *block) error) error {
	g, ctx := errgroup.WithContext(ctx)
	free := make(chan *block, b.opts.Workers+2)
	full := make(chan *block, b.opts.Workers+2)
	for range cap(free) {
		free <- &block{}
	}
	g.Go(func() error {
		defer close(full)
		return b.readStaged(ctx, step, free, full)
	})
	for range b.opts.Workers {
		g.Go(func() error {
			w := &worker{
				inner: b.space.inner(), rotated: make([]float32, b.space.d()), centroid: make([]float32, b.space.d()),
			}
			for blk := range full {
				if err := f(w, blk); err != nil {
					return err
				}
				free <- blk // never blocks: it holds as many as there are blocks
			}
			b.calibrator.merge(&w.observer)
			return nil
		})
	}
	return g.Wait()
}

func (b *build) readStaged(ctx context.Context, step string, free <-chan *block, full chan<- *block) error {
	f, err := os.Open(b.staged.path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for row := uint64(0); row < b.staged.rows; {
		var blk *block
		select {
		case blk = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		n := int(min(blockRows, b.staged.rows-row))
		if err := blk.read(r, row, n, b.staged.dim); err != nil {
			return fmt.Errorf("%s: %w", b.staged.path, err)
		}
		select {
		case full <- blk:
		case <-ctx.Done():
			return ctx.Err()
		}
		row += uint64(n)
		b.opts.Progress(step, int64(row), int64(b.staged.rows))
	}
	return nil
}

// read fills the block with the next n rows of r.
func (k *block) read(r io.Reader, first uint64, n, dim int) error {
	k.first, k.n = first, n
	k.text, k.keys, k.metas = k.text[:0], k.keys[:0], k.metas[:0]
	if cap(k.vectors) < n*dim {
		k.vectors = make([]float32, blockRows*dim)
	}
	k.vectors = k.vectors[:n*dim]
	raw := make([]byte, 4*dim)
	ends := make([]int, 0, 2*n)
	for i := range n {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		for _, l := range []uint32{binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])} {
			if l > MaxMetadataBytes {
				return errors.New("staged row is damaged")
			}
			at := len(k.text)
			k.text = append(k.text, make([]byte, l)...)
			if _, err := io.ReadFull(r, k.text[at:]); err != nil {
				return err
			}
			ends = append(ends, len(k.text))
		}
		if _, err := io.ReadFull(r, raw); err != nil {
			return err
		}
		for j := range dim {
			k.vectors[i*dim+j] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:]))
		}
	}
	start := 0
	for i := 0; i < len(ends); i += 2 {
		k.keys = append(k.keys, k.text[start:ends[i]])
		k.metas = append(k.metas, k.text[ends[i]:ends[i+1]])
		start = ends[i+1]
	}
	return nil
}

// live calls f for every live row of the block with its rotated vector.
func (b *build) live(w *worker, blk *block, f func(i int, row uint64) error) error {
	for i := range blk.n {
		row := blk.first + uint64(i)
		if !b.staged.isLive(row) {
			continue
		}
		b.space.data(w.rotated, blk.vectors[i*b.staged.dim:(i+1)*b.staged.dim], w.inner)
		if err := f(i, row); err != nil {
			return err
		}
	}
	return nil
}
