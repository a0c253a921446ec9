package sprat

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/rq/simd"
)

// stagedRows is the temporary copy of a build's input. A row is, little endian:
//
//	| bytes | field                   |
//	|-------|-------------------------|
//	| 4     | k, length of the key    |
//	| 4     | m, length of metadata   |
//	| k     | key                     |
//	| m     | metadata                |
//	| 4d    | vector, float32         |
type stagedRows struct {
	path    string
	rows    uint64
	dim     int
	live    []uint64  // bit per row: not replaced by a later row of the same key
	sample  []float32 // [][dim], raw
	maxNorm float64   // largest squared length
	keyLen  []int64   // histogram of key lengths, by multiple of 4
	metaLen []int64   // histogram of metadata lengths, by multiple of 16
}

func (r *stagedRows) close() error {
	if r == nil {
		return nil
	}
	if err := os.Remove(r.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (r *stagedRows) isLive(row uint64) bool { return r.live[row/64]>>(row%64)&1 == 1 }

const (
	metaCapMax  = 256
	keyCapMax   = 64
	emptyKeyCap = 40 // of an index created empty: room for a UUID in text
)

// stage reads the input once: it checks every row, appends it to a temporary
// file, keeps a uniform sample (reservoir, Vitter 1985) for the training, and
// sorts the keys.
func (b *build) stage(ctx context.Context, rows iter.Seq2[Record, error]) (err error) {
	b.staged = &stagedRows{
		path: filepath.Join(b.tmp, "rows"), dim: b.cfg.Dimension,
		keyLen: make([]int64, keyCapMax/4+1), metaLen: make([]int64, metaCapMax/16+1),
	}
	if b.keys, err = catalog.NewSorter(filepath.Join(b.tmp, "keys"), b.memory/8); err != nil {
		return err
	}
	w, err := b.store.engine.Create(b.staged.path)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 64<<10)
	sampler := newSampler(b.cfg, b.memory/4)
	b.calibrator = &calibrator{}
	for rec, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = b.stageRow(buf, sampler, rec)
		}
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
	if err := errors.Join(buf.Flush(), w.Close()); err != nil {
		return err
	}
	b.staged.sample = sampler.sample
	b.stats.Rows = int64(b.staged.rows)
	return b.markLive()
}

func (b *build) stageRow(w io.Writer, sampler *sampler, rec Record) error {
	r := b.staged
	err := errors.Join(checkKey(rec.Key), checkVector("vector", b.cfg.Metric, r.dim, rec.Vector), checkMetadata(rec.Metadata))
	if err != nil {
		return &RowError{Row: int64(r.rows), Key: rec.Key, Err: err}
	}
	if r.rows >= math.MaxUint32-1 {
		return invalid("rows", "fewer than 2^32 - 1 vectors in an index", "more")
	}
	if err := writeStaged(w, rec); err != nil {
		return err
	}
	if err := b.keys.Add(rec.Key, r.rows); err != nil {
		return err
	}
	sampler.offer(rec.Vector)
	b.calibrator.offer(r.rows, rec.Vector, sampler.rng)
	r.maxNorm = max(r.maxNorm, simd.SumSqF64(rec.Vector))
	r.keyLen[min((len(rec.Key)+3)/4, len(r.keyLen)-1)]++
	r.metaLen[min((len(rec.Metadata)+15)/16, len(r.metaLen)-1)]++
	if r.rows++; r.rows%8192 == 0 {
		b.opts.Progress("read", int64(r.rows), 0)
	}
	return nil
}

func writeStaged(w io.Writer, rec Record) error {
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(rec.Key)))
	binary.LittleEndian.PutUint32(head[4:], uint32(len(rec.Metadata)))
	for _, part := range [][]byte{head[:], []byte(rec.Key), rec.Metadata} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	var word [4]byte
	for _, x := range rec.Vector {
		binary.LittleEndian.PutUint32(word[:], math.Float32bits(x))
		if _, err := w.Write(word[:]); err != nil {
			return err
		}
	}
	return nil
}

func checkMetadata(m []byte) error {
	if len(m) == 0 {
		return nil
	}
	if len(m) > MaxMetadataBytes {
		return invalid("metadata", "at most 40 KiB", "%d bytes", len(m))
	}
	if !json.Valid(m) || m[0] != '{' {
		return invalid("metadata", "a JSON object", "%.40q", m)
	}
	return nil
}

// markLive finds, from the sorted keys, the last row of every key.
func (b *build) markLive() error {
	r := b.staged
	r.live = make([]uint64, (r.rows+63)/64)
	var kept uint64
	err := b.keys.Each(func(_ []byte, row uint64) error {
		r.live[row/64] |= 1 << (row % 64)
		kept++
		return nil
	})
	b.stats.Vectors, b.stats.Duplicates = int64(kept), int64(r.rows-kept)
	b.state.Vectors, b.state.Calibrated = kept, kept
	b.row.KeyCap = capFor(r.keyLen, 4, 0.995)
	b.row.MetaCap = capFor(r.metaLen, 16, 0.95)
	if kept == 0 {
		b.row.KeyCap = emptyKeyCap
	}
	return err
}

// capFor is the smallest inline capacity, in bytes, that holds the given share
// of a histogram of lengths.
func capFor(hist []int64, unit int, share float64) int {
	var total, seen int64
	for _, n := range hist {
		total += n
	}
	for i, n := range hist {
		if seen += n; float64(seen) >= share*float64(total) {
			return i * unit
		}
	}
	return 0
}

// sampler keeps a uniform sample of the rows offered.
type sampler struct {
	dim, capacity int
	seen          uint64
	sample        []float32
	rng           *rand.Rand
}

// samplesMax bounds the training sample; beyond it centroids stop improving
// measurably while the training time still grows.
const samplesMax = 1 << 20

func newSampler(cfg IndexConfig, memory int64) *sampler {
	// The training holds the rotated sample beside the raw one.
	capacity := min(memory/int64(8*cfg.Dimension), samplesMax)
	return &sampler{dim: cfg.Dimension, capacity: int(max(capacity, 1)), rng: rand.New(rand.NewPCG(cfg.Seed, 1))}
}

func (s *sampler) offer(v []float32) {
	s.seen++
	if len(s.sample) < s.capacity*s.dim {
		s.sample = append(s.sample, v...)
		return
	}
	if i := s.rng.Uint64N(s.seen); i < uint64(s.capacity) {
		copy(s.sample[int(i)*s.dim:], v)
	}
}
