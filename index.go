package sprat

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/posting/lire"
	"github.com/spratdb/sprat/rescore"
)

// Names of an index's files in indexes/<id>.
const (
	postingsFile  = "postings"
	refineFile    = "refine"
	recordsFile   = "records"
	centroidsFile = "centroids"
)

// Index is an open index of a store. All methods may be called by any number of
// goroutines.
//
// Geometry, layouts and files do not change while it is open; dials and the
// present version are replaced as a whole. users counts the calls in progress;
// close waits for them. row is what the catalog said when the index was opened:
// of its fields only those are used that never change.
type Index struct {
	store  *Store
	row    catalog.Index
	dir    string
	metric Metric

	layout  posting.Layout
	limits  lire.Limits
	records rescore.RecordLayout
	refine  *rescore.RefineLayout // nil without a refine tier
	// centroidsFault is why the centroids file could not be used at opening.
	centroidsFault error

	postingsFile, refineFile, recordsFile *iopath.File

	filterLog  filterLog
	filterSets filterSets
	damage     damage
	current    atomic.Pointer[version]
	writer     *writer // nil when the store is read-only
	dials      atomic.Pointer[Dials]
	searchers  sync.Pool
	users      sync.RWMutex
	closed     bool        // under users
	dropped    atomic.Bool // by DropIndex, now or soon
}

func fullName(bucket, index string) string { return bucket + "/" + index }

func indexDir(root string, id uint32) string {
	return filepath.Join(root, indexesDir, fmt.Sprintf("%08x", id))
}

// buildDir holds the temporary files of the build of an index id. It exists from
// before the index's own directory until its row is committed.
func buildDir(root string, id uint32) string {
	return filepath.Join(root, temporaryDir, fmt.Sprintf("build-%08x", id))
}

// Index returns an open index. Errors: ErrNotFound; ErrCorrupt when its files
// are damaged.
func (s *Store) Index(bucket, name string) (*Index, error) {
	return s.byName(fullName(bucket, name))
}

// byName is Index for a "bucket/index".
func (s *Store) byName(full string) (*Index, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.opened(full)
}

// opened is byName inside the store.
func (s *Store) opened(full string) (*Index, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch ix, ok := s.mu.indexes[full]; {
	case ok && !ix.dropped.Load():
		return ix, nil
	case s.mu.broken[full] != nil:
		return nil, fmt.Errorf("index %q cannot be used: %w", full, s.mu.broken[full])
	}
	return nil, fmt.Errorf("index %q: %w", full, ErrNotFound)
}

// Indexes lists the "bucket/index" names of all indexes in order; broken ones
// are included.
func (s *Store) Indexes() ([]string, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	rows, err := s.catalog.Indexes("")
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = fullName(r.Bucket, r.Name)
	}
	return names, err
}

// openIndexes opens every index of the catalog, then clears what builds that
// never committed have left.
func (s *Store) openIndexes() error {
	rows, err := s.catalog.Indexes("")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, row := range rows {
		known[filepath.Base(indexDir(s.dir, row.ID))] = true
		full := fullName(row.Bucket, row.Name)
		ix, err := s.openIndex(row)
		s.mu.Lock()
		if err == nil {
			s.mu.indexes[full] = ix
		} else {
			err = publicError(err)
			s.mu.broken[full] = err
		}
		s.mu.Unlock()
		if err != nil {
			s.log.Error("index cannot be used", "index", full, "err", err)
		}
	}
	if err := s.checkMemory(); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return nil
	}
	return s.clearLeftovers(known)
}

// clearLeftovers removes the directories and rows of builds that a crash cut
// short: index ids that no index row names and whose temporary directory is still
// there. Files without either are what a damaged catalog has forgotten; they stay.
func (s *Store) clearLeftovers(known map[string]bool) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, indexesDir))
	if err != nil {
		return err
	}
	b := s.catalog.NewBatch()
	var dead []string
	for _, e := range entries {
		id, err := strconv.ParseUint(e.Name(), 16, 32)
		if err != nil || known[e.Name()] || filepath.Base(indexDir(s.dir, uint32(id))) != e.Name() {
			continue
		}
		if _, err := os.Stat(buildDir(s.dir, uint32(id))); err != nil {
			s.log.Error("kept the files of an index that the catalog does not know", "index_id", id)
			continue
		}
		b.DeleteIndexRows(uint32(id))
		dead = append(dead, filepath.Join(s.dir, indexesDir, e.Name()))
		s.log.Info("removing what an unfinished build left", "index_id", id)
	}
	// Rows first, the temporary directories last: what is left names its id.
	if len(dead) == 0 {
		err = b.Discard()
	} else {
		err = b.Commit()
	}
	for _, d := range append(dead, filepath.Join(s.dir, temporaryDir)) {
		if err == nil {
			err = s.engine.RemoveAll(d)
		}
	}
	return errors.Join(err, os.MkdirAll(filepath.Join(s.dir, temporaryDir), 0o755))
}

// openIndex opens the files of one index and loads what stays in memory. Its
// maintenance is started by the caller, when all that it uses is there.
func (s *Store) openIndex(row catalog.Index) (*Index, error) {
	ix, err := newIndex(s, row)
	if err != nil {
		return nil, err
	}
	err = ix.openFiles()
	if err == nil {
		err = ix.load()
	}
	if err == nil {
		err = ix.prepareWriter()
	}
	if err != nil {
		return nil, errors.Join(err, ix.close())
	}
	return ix, nil
}

// newIndex derives everything that follows from the catalog row alone.
func newIndex(s *Store, row catalog.Index) (*Index, error) {
	m, err := ParseMetric(row.Metric)
	if err != nil {
		return nil, err
	}
	ix := &Index{store: s, row: row, dir: indexDir(s.dir, row.ID), metric: m}
	sp, err := rowSpace(row, m)
	if err != nil {
		return nil, err
	}
	if ix.layout, err = posting.NewLayout(row.ID, sp.d(), row.Bits, row.CentroidBits); err != nil {
		return nil, err
	}
	ix.limits = lire.LimitsFor(&ix.layout, row.PostingBytes)
	ix.records = rescore.NewRecordLayout(row.Dimension, row.KeyCap, row.MetaCap)
	if row.RefineTier {
		l, err := rescore.NewRefineLayout(sp.d())
		if err != nil {
			return nil, err
		}
		ix.refine = &l
	}
	calib, err := decodeCalibration(row.Calibration)
	if err != nil {
		return nil, err
	}
	empty, err := centroids.NewBuilder(sp.d(), row.CentroidBits)
	if err != nil {
		return nil, err
	}
	set, err := empty.Set()
	if err != nil {
		return nil, err
	}
	ix.current.Store(&version{space: sp, calib: calib, set: set})
	dials := Dials(row.Dials)
	ix.dials.Store(&dials)
	ix.searchers.New = func() any { return newSearcher(ix) }
	return ix, nil
}

// rowSpace is the space that an index row describes.
func rowSpace(row catalog.Index, m Metric) (*space, error) {
	return newSpace(m, row.Dimension, row.RotationSeed, row.Origin, cmp.Or(row.Scale, 1), row.MaxNormSq)
}

func (ix *Index) path(name string) string { return filepath.Join(ix.dir, name) }

func (ix *Index) openFiles() error {
	open := func(f **iopath.File, name string, want diskfile.Header) error {
		h, err := diskfile.Read(ix.path(name))
		if errors.Is(err, diskfile.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
			return &CorruptionError{Path: ix.path(name), Err: err}
		}
		if err != nil {
			return err
		}
		if want.Align = h.Align; h != want {
			return &CorruptionError{Path: ix.path(name), Err: fmt.Errorf("header %+v, the catalog says %+v", h, want)}
		}
		*f, err = ix.store.engine.OpenFile(ix.path(name))
		return err
	}
	err := open(&ix.postingsFile, postingsFile, ix.postingsHeader(0))
	if err == nil {
		err = open(&ix.recordsFile, recordsFile, ix.records.Header(ix.row.ID, 0))
	}
	if err == nil && ix.refine != nil {
		err = open(&ix.refineFile, refineFile, ix.refine.Header(ix.row.ID, 0))
	}
	return err
}

func (ix *Index) postingsHeader(align int) diskfile.Header {
	return diskfile.Header{Kind: diskfile.Postings, IndexID: ix.row.ID, Dim: uint32(ix.layout.D), Align: uint32(align)}
}

// close waits for the calls in progress, ends maintenance and closes the files.
func (ix *Index) close() error {
	ix.writer.stop()
	ix.users.Lock()
	defer ix.users.Unlock()
	ix.closed = true
	errs := []error{ix.writer.close()}
	for _, s := range ix.current.Load().segments {
		errs = append(errs, s.close())
	}
	for _, f := range []*iopath.File{ix.postingsFile, ix.refineFile, ix.recordsFile} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Name is the index's "bucket/index".
func (ix *Index) Name() string { return fullName(ix.row.Bucket, ix.row.Name) }

// Dimension is the number of components of the index's vectors.
func (ix *Index) Dimension() int { return ix.row.Dimension }

// Metric is how the index compares vectors.
func (ix *Index) Metric() Metric { return ix.metric }

// Len is the number of vectors.
func (ix *Index) Len() uint64 { return ix.current.Load().state.Vectors }
