package scaling

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

// The index that is built of vectors.
const (
	ownBucket = "bench"
	ownIndex  = "scaling"
	ownStore  = "scaling-store" // folder in Work
)

// data is the index to ask and what to ask it.
type data struct {
	dir           string // of the store
	bucket, index string
	own           bool // made and removed by the experiment
	queries       [][]float32
	score         bench.Scorer
}

// describe reads queries and truth, and says what the experiment is. No store is
// made yet.
func describe(cfg *Config) (*data, Experiment, error) {
	d := &data{dir: cfg.Data, bucket: cfg.Bucket, index: cfg.Index}
	e := Experiment{K: cfg.K, WarmupSeconds: cfg.Warmup.Seconds(), WindowSeconds: cfg.Window.Seconds(),
		MemoryLimit: cfg.Store.MemoryLimit, CgroupMemory: cfg.CgroupMemory, CacheBytes: cfg.Store.CacheBytes,
		Direct: cfg.Store.Direct, Machine: bench.ThisMachine()}
	if e.Direct == "" {
		e.Direct = "auto"
	}
	var err error
	if cfg.Data != "" {
		err = d.ofStore(cfg, &e)
	} else {
		d.dir, d.bucket, d.index, d.own = ownDir(cfg), ownBucket, ownIndex, true
		err = ofInput(cfg, &e)
	}
	if err != nil {
		return nil, e, err
	}
	return d, e, d.readQueries(cfg, &e)
}

func ownDir(cfg *Config) string {
	if cfg.Work != "" {
		return filepath.Join(cfg.Work, ownStore)
	}
	return filepath.Join(cfg.Out, ownStore)
}

// ofStore describes an index that is there.
func (d *data) ofStore(cfg *Config, e *Experiment) (err error) {
	opts := cfg.Store
	opts.ReadOnly = true
	s, err := sprat.Open(d.dir, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ix, err := s.Index(d.bucket, d.index)
	if err != nil {
		return err
	}
	st := ix.Stats()
	e.Set, e.Vectors, e.Dimension, e.Metric = d.index, int64(st.Vectors), st.Dimension, st.Metric
	e.Data = fmt.Sprintf("%s/%s: %d vectors, %d postings, %d entries", d.bucket, d.index, st.Vectors, st.Postings, st.Entries)
	e.Parameters = fmt.Sprintf("%d bits", st.Bits)
	return nil
}

// ofInput describes the index that is to be built.
func ofInput(cfg *Config, e *Experiment) (err error) {
	in, err := bench.OpenInput(cfg.Input)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	e.Set, e.Vectors, e.Dimension, e.Metric = setName(cfg.Input.Vectors), in.Rows(), in.Dim(), cfg.Metric
	p := cfg.Parameters
	e.Parameters = fmt.Sprintf("posting bytes %d, copies %d, bits %d, seed %d (0: default)", p.PostingBytes, p.Copies, p.Bits, p.Seed)
	e.Data, err = digest(cfg.Input.Vectors)
	return err
}

// setName is the folder of a file named base, else the name of the file.
func setName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if abs, err := filepath.Abs(path); err == nil && name == "base" {
		return filepath.Base(filepath.Dir(abs))
	}
	return name
}

func (d *data) readQueries(cfg *Config, e *Experiment) (err error) {
	if d.queries, err = bench.ReadVectors(cfg.Queries, bench.Options{Dataset: "test"}); err != nil {
		return err
	}
	if len(d.queries) == 0 || len(d.queries[0]) != e.Dimension {
		return badConfig("%s holds no queries of dimension %d", cfg.Queries, e.Dimension)
	}
	e.Queries = len(d.queries)
	score, by, err := bench.ReadScorer(cfg.Truth, cfg.Distances, cfg.Input.Keys, e.Metric, len(d.queries), cfg.K)
	if err != nil {
		return err
	}
	e.RecallBy = by
	d.shuffle(score)
	if e.Asked, err = digest(cfg.Queries); err != nil {
		return err
	}
	for _, path := range []string{cfg.Distances, cfg.Truth} {
		if path != "" {
			e.Truth, err = digest(path)
			return err
		}
	}
	return nil
}

// shuffle puts the queries into another order, always the same: files of queries are
// often sorted, and a window that ends within the file would measure its first part.
func (d *data) shuffle(score bench.Scorer) {
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(d.queries))
	queries := make([][]float32, len(order))
	for to, from := range order {
		queries[to] = d.queries[from]
	}
	d.queries = queries
	if score != nil {
		d.score = func(row int, matches []sprat.Match) (int, int, error) { return score(order[row], matches) }
	}
}

// digestBytes of either end of a file tell its content.
const digestBytes = 1 << 20

// digest tells files apart by their size and the content of both ends.
func digest(path string) (_ string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("scaling: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("scaling: %w", err)
	}
	h := sha256.New()
	for _, at := range []int64{0, max(info.Size()-digestBytes, 0)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, at, digestBytes)); err != nil {
			return "", fmt.Errorf("scaling: %w", err)
		}
	}
	return fmt.Sprintf("%d bytes, %s", info.Size(), hex.EncodeToString(h.Sum(nil)[:8])), nil
}

// prepare builds the index, unless it is there. fresh says that the store in its
// folder is none of this experiment's.
func (d *data) prepare(ctx context.Context, cfg *Config, fresh bool, progress func(step string, done, total int64)) (err error) {
	if !d.own {
		return nil
	}
	if fresh {
		if err := d.remove(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(d.dir), 0o755); err != nil {
		return fmt.Errorf("scaling: %w", err)
	}
	opts := cfg.Store
	opts.IOEngine, opts.CacheBytes = "", -1
	s, err := sprat.Open(d.dir, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Index(d.bucket, d.index); !errors.Is(err, sprat.ErrNotFound) {
		return err // of the run that was interrupted; it is whole, since a build is
	}
	in, err := bench.OpenInput(cfg.Input)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	p := cfg.Parameters
	p.Dimension = in.Dim()
	if p.Metric, err = sprat.ParseMetric(cfg.Metric); err != nil {
		return err
	}
	_, _, err = s.Build(ctx, d.bucket, d.index, p, in.Records(), sprat.BuildOptions{Progress: progress})
	return err
}

// remove removes a store that the experiment has made.
func (d *data) remove() error {
	if !d.own {
		return nil
	}
	if err := os.RemoveAll(d.dir); err != nil {
		return fmt.Errorf("scaling: %w", err)
	}
	return nil
}
