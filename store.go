package sprat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/iopath"
)

const (
	storeFile    = "SPRAT" // marks the directory, holds the format version, is locked
	storeMark    = "sprat store, format "
	storeFormat  = 1
	catalogDir   = "catalog"
	indexesDir   = "indexes"
	temporaryDir = "tmp" // builds in progress; emptied on open
)

// Store is an open data directory. All methods may be called by any number of
// goroutines.
//
// life is held for reading by every call that uses the catalog or the engine and
// for writing by Close. mu guards the open indexes and is never held during I/O.
// Changes of the catalog (create, build commit) hold writeMu, which may block for
// as long as a sync takes. Builds in progress end when ending is cancelled.
type Store struct {
	dir     string
	opts    Options
	log     *slog.Logger
	lock    *os.File
	catalog *catalog.Catalog
	engine  *iopath.Engine
	cache   *cache // nil when there is none

	hooks     hooks
	compute   *compute
	admission *admission
	budget    budget
	// indexCount is the number of open indexes, for their shares of memory.
	indexCount atomic.Int64
	ballast    ballast

	life   sync.RWMutex
	closed bool // under life

	ending context.Context // cancelled by Close
	end    context.CancelFunc
	builds sync.WaitGroup

	writeMu sync.Mutex

	mu struct {
		sync.RWMutex
		indexes map[string]*Index // by "bucket/index"
		broken  map[string]error  // indexes that could not be opened, and why
	}
}

// hooks are what tests set: the zero value is production.
type hooks struct {
	ops    iopath.Ops    // is asked before each change of the file system
	faults iopath.Faults // decides the fate of each read
	model  *iopath.Model // is the volume
	manual bool          // indexes do not maintain themselves: the test steps
}

// Open opens the store in dir, creating it when the directory is missing or
// empty. Errors: ErrInvalid, ErrInUse, ErrFormat, ErrNotStore, ErrCorrupt,
// ErrMemoryLimit, and those of the file system. An index whose files are damaged
// does not fail Open; its error is returned when it is used.
func Open(dir string, opts Options) (*Store, error) { return openWith(dir, opts, hooks{}) }

func openWith(dir string, opts Options, h hooks) (*Store, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if opts.MemoryLimit == 0 {
		opts.MemoryLimit = defaultMemoryLimit()
	}
	if opts.MemoryLimit < minMemoryLimit {
		return nil, &MemoryLimitError{What: "an empty store", Limit: opts.MemoryLimit, Needed: minMemoryLimit}
	}
	s := &Store{dir: dir, opts: opts, log: opts.Logger, hooks: h, compute: newCompute(), admission: newAdmission(opts.MemoryLimit)}
	if opts.LimitHeap {
		s.limitHeap(0)
	}
	s.ending, s.end = context.WithCancel(context.Background())
	s.mu.indexes = map[string]*Index{}
	s.mu.broken = map[string]error{}
	if err := s.open(); err != nil {
		return nil, errors.Join(publicError(err), s.closeIndexes(), s.release())
	}
	return s, nil
}

func (s *Store) open() (err error) {
	if err := s.claim(); err != nil {
		return err
	}
	if err := s.checkCatalogDir(); err != nil {
		return err
	}
	if s.catalog, err = catalog.Open(s.catalogPath(), catalog.Config{
		CacheBytes:    min(s.opts.MemoryLimit/16, 64<<20),
		MemtableBytes: min(s.opts.MemoryLimit/32, 16<<20),
		ReadOnly:      s.opts.ReadOnly,
		MustExist:     s.hasIndexes(),
		Logger:        s.log,
		Ops:           s.hooks.ops,
		OnDiskFull:    s.dropBallast,
	}); err != nil {
		return err
	}
	if s.engine, err = iopath.Open(s.dir, iopath.Config{
		Engine: s.opts.IOEngine, Direct: s.opts.Direct, Depth: s.opts.QueueDepth, Logger: s.log,
		PoolBytes: min(s.admission.most, 16<<20),
		Ops:       s.hooks.ops, Faults: s.hooks.faults, Model: s.hooks.model,
	}); err != nil {
		return err
	}
	if p, ok := s.Volume(); ok {
		s.engine.StartFrom(p.Depth)
	}
	if err := s.openIndexes(); err != nil {
		return err
	}
	if err := s.openCache(); err != nil {
		return err
	}
	s.divide(true)
	for _, ix := range s.mu.indexes {
		ix.writer.start()
	}
	return nil
}

// checkCatalogDir refuses to make a new catalog beside the files of indexes.
func (s *Store) checkCatalogDir() error {
	if _, err := os.Stat(s.catalogPath()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !s.hasIndexes() {
		return nil // a store that was never used
	}
	return &CorruptionError{Path: s.catalogPath(), Err: errors.New("missing, while indexes have files")}
}

// hasIndexes says that the directory holds files of indexes. A catalog that is
// missing then, or a part of it, is a loss and not a beginning.
func (s *Store) hasIndexes() bool {
	entries, err := os.ReadDir(filepath.Join(s.dir, indexesDir))
	return err == nil && len(entries) > 0
}

func (s *Store) catalogPath() string { return filepath.Join(s.dir, catalogDir) }

// claim creates or checks the marker file and takes its lock: a directory is
// open by one writer or by any number of readers.
func (s *Store) claim() error {
	if !s.opts.ReadOnly {
		if err := s.initialise(); err != nil {
			return err
		}
	}
	path := filepath.Join(s.dir, storeFile)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
		f, err = os.Open(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w: no file %s", s.dir, ErrNotStore, storeFile)
	}
	if err != nil {
		return err
	}
	s.lock = f
	how := unix.LOCK_EX
	if s.opts.ReadOnly {
		how = unix.LOCK_SH // readers share
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%s: %w by another process or Store (%w)", s.dir, ErrInUse, err)
	}
	return checkMark(f, path)
}

func checkMark(f *os.File, path string) error {
	buf := make([]byte, 64)
	n, _ := f.ReadAt(buf, 0)
	var format int
	if _, err := fmt.Sscanf(string(buf[:n]), storeMark+"%d", &format); err != nil {
		return &CorruptionError{Path: path, Err: fmt.Errorf("%q is not a format line", buf[:n])}
	}
	if format < 1 {
		return &CorruptionError{Path: path, Err: fmt.Errorf("format %d", format)}
	}
	if format > storeFormat {
		return fmt.Errorf("%s: %w: format %d, this program reads up to %d", path, ErrFormat, format, storeFormat)
	}
	return nil
}

// initialise makes a new store when the directory is missing or empty. The
// marker is written last, so a half-made store is an empty one.
func (s *Store) initialise() error {
	path := filepath.Join(s.dir, storeFile)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	tmp := path + ".new"
	ours := []string{ballastFile, catalogDir, indexesDir, temporaryDir, filepath.Base(tmp), "lost+found"}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return fmt.Errorf("%s: %w: it is not empty and holds %s", s.dir, ErrNotStore, e.Name())
		}
	}
	for _, d := range []string{s.dir, filepath.Join(s.dir, indexesDir), filepath.Join(s.dir, temporaryDir)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := writeSynced(tmp, storeMark+strconv.Itoa(storeFormat)+"\n"); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return iopath.SyncDir(s.dir)
}

// writeSynced makes a file with the text durable under its name.
func writeSynced(path, text string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Close releases everything. Queries in progress finish first, builds in
// progress are cancelled and undone; later calls return ErrClosed.
func (s *Store) Close() error {
	s.life.Lock()
	was := s.closed
	s.closed = true // nothing enters from here on
	s.life.Unlock()
	if was {
		return ErrClosed
	}
	s.end()
	s.builds.Wait()
	s.life.Lock() // waits for the calls that had entered
	defer s.life.Unlock()
	return errors.Join(s.closeIndexes(), s.release())
}

func (s *Store) closeIndexes() error {
	s.mu.Lock()
	open := s.mu.indexes
	s.mu.indexes = nil
	s.mu.Unlock()
	var errs []error
	for _, ix := range open {
		errs = append(errs, ix.close())
	}
	return errors.Join(errs...)
}

func (s *Store) release() error {
	s.end()
	s.cache.close()
	s.unlimitHeap()
	var errs []error
	if s.engine != nil {
		errs = append(errs, s.engine.Close())
	}
	if s.catalog != nil {
		errs = append(errs, s.catalog.Close())
	}
	if s.lock != nil {
		// By name: a child being forked now holds a copy of the descriptor until it
		// runs its program.
		errs = append(errs, unix.Flock(int(s.lock.Fd()), unix.LOCK_UN), s.lock.Close())
	}
	return errors.Join(errs...)
}

// CreateBucket makes a bucket. Errors: ErrInvalid, ErrExists.
func (s *Store) CreateBucket(name string) error {
	if err := checkName("bucket", name); err != nil {
		return err
	}
	return s.change(func(b *catalog.Batch) error {
		if _, err := s.catalog.Bucket(name); err == nil {
			return fmt.Errorf("bucket %q: %w", name, ErrExists)
		} else if !errors.Is(err, catalog.ErrNotFound) {
			return err
		}
		b.PutBucket(catalog.Bucket{Name: name, Created: time.Now().UTC()})
		return nil
	}, func() {})
}

// Buckets lists the names of the buckets in order.
func (s *Store) Buckets() ([]string, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	rows, err := s.catalog.Buckets()
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names, err
}

// change runs one logical change under writeMu, commits its batch, and then
// publishes it.
func (s *Store) change(f func(*catalog.Batch) error, publish func()) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.opts.ReadOnly {
		return invalid("store", "a store opened for writing", "a read-only one")
	}
	b := s.catalog.NewBatch()
	if err := f(b); err != nil {
		return errors.Join(err, b.Discard())
	}
	if err := b.Commit(); err != nil {
		return err
	}
	publish()
	return nil
}

// warn logs an error that changes nothing for the caller.
func (s *Store) warn(what string, err error) {
	if err != nil {
		s.log.Warn("could not "+what, "err", err)
	}
}

// enter keeps the store open until leave is called.
func (s *Store) enter() (leave func(), err error) {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return nil, ErrClosed
	}
	return s.life.RUnlock, nil
}

// IOInfo says which I/O engine the store uses and why.
func (s *Store) IOInfo() iopath.Info { return s.engine.Info() }
