package sprat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/cow"
	"github.com/spratdb/sprat/internal/filterindex"
)

// Record is one vector to load. A bulk build copies what it needs before the
// iterator goes on, so the fields may be reused.
type Record struct {
	Key      string
	Vector   []float32
	Metadata []byte // a JSON object, or nil
}

// BuildOptions say how a bulk build runs. The zero value means every default.
type BuildOptions struct {
	// Workers is the number of goroutines that compute. Default GOMAXPROCS.
	Workers int
	// Progress, when set, is called from one goroutine at a time with the step
	// and how much of it is done; total is 0 while unknown.
	Progress func(step string, done, total int64)

	empty bool // there are no rows: no memory is reserved
}

// BuildStats say what a bulk build made.
type BuildStats struct {
	Rows       int64 // read
	Vectors    int64 // kept
	Duplicates int64 // rows replaced by a later row with the same key
	Postings   int64
	Entries    int64 // posting entries, copies included
	DiskBytes  int64 // of the index's files and its keys
	Elapsed    time.Duration
}

// Build creates an index from rows and makes it visible when it is complete;
// until then, and after any error, the store is as before. The bucket is
// created when it is missing. Of rows with equal keys the last wins. Errors:
// ErrExists, ErrInvalid (a *RowError names the row), ErrMemoryLimit, the
// context's, those of rows, and those of the volume.
//
// Memory stays within the store's limit for any number of rows:
//
//  1. stage: append the rows to a temporary file, keep a sample, sort the keys;
//  2. train centroids on the sample (balanced hierarchical k-means);
//  3. assign every row to its nearest posting and its copies (SOAR);
//  4. give slots, so that neighbours in space are neighbours on the volume;
//  5. scatter records and codes to partitions that fit in memory;
//  6. write each partition's records and postings, sequentially;
//  7. calibrate the stop rules on a sample of the rows;
//  8. sync everything, then commit one batch that names it.
func (s *Store) Build(ctx context.Context, bucket, name string, cfg IndexConfig,
	rows iter.Seq2[Record, error], opts BuildOptions) (*Index, BuildStats, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, BuildStats{}, err
	}
	s.builds.Add(1)
	leave()
	defer s.builds.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ending, func() { cancel(ErrClosed) })()

	if rows == nil {
		return nil, BuildStats{}, invalid("rows", "an iterator", "nil")
	}
	b, err := s.newBuild(ctx, bucket, name, cfg, opts)
	if err != nil {
		return nil, BuildStats{}, err
	}
	defer b.give()
	finished := false
	defer func() {
		if !finished { // an error, or the iterator or a callback panicked
			s.warn("undo a build", b.abandon())
		}
	}()
	ix, err := b.run(ctx, rows)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ErrClosed) {
			err = cause
		}
		return nil, b.stats, publicError(err)
	}
	finished = true
	s.warn("remove temporary files", errors.Join(b.staged.close(), b.keys.Close(), b.filters.Close(), b.placed.close(), b.batch.Discard(), os.RemoveAll(b.tmp)))
	return ix, b.stats, nil
}

// CreateIndex makes an empty index. Errors as for Build.
func (s *Store) CreateIndex(ctx context.Context, bucket, name string, cfg IndexConfig) (*Index, error) {
	ix, _, err := s.Build(ctx, bucket, name, cfg, func(func(Record, error) bool) {}, BuildOptions{empty: true})
	return ix, err
}

// build is one bulk build. It belongs to the goroutine of Build; the workers it
// starts end before each step does.
type build struct {
	store  *Store
	cfg    IndexConfig
	opts   BuildOptions
	row    catalog.Index
	state  catalog.State
	tmp    string // temporary files
	memory int64  // bytes the build may hold
	give   func() // returns them
	stats  BuildStats

	staged   *stagedRows
	keys     *catalog.Sorter
	filters  *filterindex.Sorter
	filtered atomic.Uint64 // rows with terms
	space    *space

	calibrator *calibrator

	set       *centroids.Set
	placed    *placement
	ix        *Index // under construction
	directory *cow.Editor[postingRow]
	batch     *catalog.Batch // of the commit; overflowMu guards it while workers run

	overflowMu sync.Mutex
}

func (c IndexConfig) withDefaults() IndexConfig {
	if c.PostingBytes == 0 {
		c.PostingBytes = 40 << 10
	}
	if c.Copies == 0 {
		c.Copies = 4
	}
	if c.Bits == 0 {
		c.Bits = defaultBits(c.Dimension)
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	return c
}

// defaultBits is round(768/dimension), at most 4 above 64 dimensions: there a
// 4-bit code ranks well enough that the records of the few candidates left cost
// less than the larger postings of an 8-bit one (glove100: 28 reads against 40 at
// recall 0.95).
func defaultBits(dimension int) int {
	if dimension <= 64 {
		return 8
	}
	return min(max((2*768+dimension)/(2*dimension), 1), 4)
}

// refineDimension is the dimension above which refine records are kept. Below
// it a vector record is so small that reading it straight is never dearer.
const refineDimension = 128

func (c IndexConfig) validate() error {
	switch {
	case c.Dimension < 1 || c.Dimension > MaxDimension:
		return invalid("dimension", "1 to 4,096", "%d", c.Dimension)
	case c.Metric != Cosine && c.Metric != Euclidean && c.Metric != Dot:
		return invalid("metric", "cosine, euclidean or dot", "%v", c.Metric)
	case c.PostingBytes < 4<<10 || c.PostingBytes > 64<<10:
		return invalid("postingBytes", "4 KiB to 64 KiB", "%d", c.PostingBytes)
	case c.Copies < 1 || c.Copies > maxCopies:
		return invalid("copies", "1 to 8", "%d", c.Copies)
	case c.Bits < 1 || c.Bits > 8:
		return invalid("bits", "1 to 8", "%d", c.Bits)
	}
	return checkNonFilterable(c.NonFilterable)
}

const maxCopies = 8

func (s *Store) newBuild(ctx context.Context, bucket, name string, cfg IndexConfig, opts BuildOptions) (_ *build, err error) {
	cfg = cfg.withDefaults()
	err = errors.Join(checkName("bucket", bucket), checkName("index", name), cfg.validate())
	if err != nil {
		return nil, err
	}
	if err := s.vacant(bucket, name); err != nil {
		return nil, err
	}
	memory, give := buildMemory(cfg), func() {}
	if !opts.empty {
		if memory, give, err = s.reserve(ctx, "a bulk build", memory); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			give()
		}
	}()
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	if opts.Progress == nil {
		opts.Progress = func(string, int64, int64) {}
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	id, err := s.unusedID()
	if err != nil {
		return nil, err
	}
	b := &build{store: s, cfg: cfg, opts: opts, memory: memory, give: give,
		tmp: buildDir(s.dir, id)}
	b.row = catalog.Index{
		ID: id, Bucket: bucket, Name: name, Dimension: cfg.Dimension, Metric: cfg.Metric.String(),
		Created: time.Now().UTC(), RotationSeed: cfg.Seed, Bits: cfg.Bits,
		PostingBytes: cfg.PostingBytes, Copies: cfg.Copies, NonFilterable: slices.Clone(cfg.NonFilterable),
		Dials: catalog.Dials{RecallTarget: defaultRecallTarget},
	}
	return b, errors.Join(os.MkdirAll(b.tmp, 0o755), s.engine.MkdirAll(indexDir(s.dir, id)))
}

// unusedID gives out an index id, past those of files that a damaged catalog has
// forgotten.
func (s *Store) unusedID() (uint32, error) {
	for {
		id, err := s.catalog.NextIndexID()
		if err != nil {
			return 0, err
		}
		if _, err := os.Stat(indexDir(s.dir, id)); errors.Is(err, os.ErrNotExist) {
			return id, nil
		}
	}
}

// vacant fails when the index exists or the store may not be changed.
func (s *Store) vacant(bucket, name string) error {
	if s.opts.ReadOnly {
		return invalid("store", "a store opened for writing", "a read-only one")
	}
	_, err := s.catalog.Index(bucket, name)
	switch {
	case err == nil:
		return fmt.Errorf("index %q: %w", fullName(bucket, name), ErrExists)
	case errors.Is(err, catalog.ErrNotFound):
		return nil
	}
	return err
}

func (b *build) run(ctx context.Context, rows iter.Seq2[Record, error]) (*Index, error) {
	start := time.Now()
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return b.stage(ctx, rows) },
		b.train, b.assign, b.place, b.write, b.calibrate,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := b.commit(ctx); err != nil {
		return nil, err
	}
	b.stats.Elapsed = time.Since(start)
	return b.ix, nil
}

// abandon removes everything the build made.
func (b *build) abandon() error {
	var errs []error
	if b.batch != nil {
		errs = append(errs, b.batch.Discard())
	}
	if b.ix != nil {
		errs = append(errs, b.ix.close())
	}
	errs = append(errs, b.staged.close(), b.keys.Close(), b.filters.Close(), b.placed.close())
	rows := b.store.catalog.NewBatch()
	rows.DeleteIndexRows(b.row.ID)
	// Rows first, the temporary directory last: what is left names its id.
	err := rows.Commit()
	for _, dir := range []string{indexDir(b.store.dir, b.row.ID), b.tmp} {
		if err == nil {
			err = b.store.engine.RemoveAll(dir)
		}
	}
	return errors.Join(append(errs, err)...)
}

// commit makes the index durable and visible. Until its last batch commits, any
// error leaves the store as it was; after it, nothing can fail.
func (b *build) commit(ctx context.Context) error {
	b.opts.Progress("commit", 0, 0)
	s := b.store
	if err := ctx.Err(); err != nil {
		return err // the last chance: what follows is too short to be cut
	}
	if s.ending.Err() != nil {
		return ErrClosed
	}
	if need := baseMemory + s.memoryHeld() + b.ix.MemoryBytes(); need > s.opts.MemoryLimit {
		return &MemoryLimitError{What: "keeping the new index", Limit: s.opts.MemoryLimit, Needed: need}
	}
	if err := b.ingestKeys(ctx); err != nil {
		return err
	}
	if err := b.ingestFilters(ctx); err != nil {
		return err
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if err := s.vacant(b.row.Bucket, b.row.Name); err != nil {
		return err
	}
	_, err := s.catalog.Bucket(b.row.Bucket)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	newBucket := err != nil
	if err := errors.Join(s.engine.SyncDir(b.ix.dir), s.engine.SyncDir(filepath.Dir(b.ix.dir))); err != nil {
		return err
	}
	b.ix.row = b.row
	if err := b.ix.prepareWriter(); err != nil {
		return err
	}
	if err := b.commitBatch(func(batch *catalog.Batch) {
		if newBucket {
			batch.PutBucket(catalog.Bucket{Name: b.row.Bucket, Created: b.row.Created})
		}
		batch.PutIndex(b.row)
		batch.PutState(b.row.ID, b.state)
	}); err != nil {
		return err
	}
	s.mu.Lock()
	s.mu.indexes[b.ix.Name()] = b.ix
	s.mu.Unlock()
	b.ix.writer.start()
	b.stats.DiskBytes = b.ix.diskStats().Total
	return nil
}

// ingestKeys brings the sorted keys with their slots into the catalog.
func (b *build) ingestKeys(ctx context.Context) error {
	g := b.store.catalog.NewIngester(b.row.ID, b.tmp)
	err := b.keys.Each(func(key []byte, row uint64) error {
		return g.Add(key, catalog.Placement{Slot: b.placed.slotOf[row]})
	})
	if err == nil {
		err = g.Commit(ctx)
	}
	return errors.Join(err, g.Abort())
}

// ingestFilters brings the filter rows into the catalog.
func (b *build) ingestFilters(ctx context.Context) error {
	g := b.store.catalog.NewFilterIngester(b.row.ID, b.tmp)
	err := b.filters.Each(g.AddRow)
	if err == nil {
		err = g.Commit(ctx)
	}
	return errors.Join(err, g.Abort())
}
