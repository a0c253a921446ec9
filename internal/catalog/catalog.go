package catalog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/spratdb/sprat/iopath"
)

// Version of the schema that this code writes.
const Version = 3

// oldestVersion is the schema that is brought to Version when it is opened.
const oldestVersion = 2

const (
	tableVersion   = 0x01
	tableLastIndex = 0x02
	tableBucket    = 0x10
	tableIndex     = 0x11
	tableAttribute = 0x12
	tableExtent    = 0x20
	tableKey       = 0x21
	tableLongKey   = 0x22
	tableLongMeta  = 0x23
	tableCentroid  = 0x24
	tableRun       = 0x25
	tableState     = 0x26
	tableDelta     = 0x27
	tableFilter    = 0x28
)

var (
	// ErrNotFound says that the catalog has no such row.
	ErrNotFound = errors.New("not in the catalog")
	// ErrVersion marks a store of another schema than this program's.
	ErrVersion = errors.New("catalog schema is not of this program")
	// ErrLost says that the log could not be written: whether the change is there
	// shows when the catalog is opened again, and until then it takes no others.
	ErrLost = errors.New("catalog log cannot be written")
	// ErrCorrupt marks a row whose bytes are not what was written.
	ErrCorrupt = errors.New("catalog is corrupt")
)

// Config says how to open a catalog. The zero value is a small one.
type Config struct {
	CacheBytes    int64 // block cache; default 4 MiB
	MemtableBytes int64 // one memtable; default 2 MiB; at most two are kept
	ReadOnly      bool
	MustExist     bool         // a catalog that is missing, in whole or in part, is ErrCorrupt
	Logger        *slog.Logger // nil discards

	// OnDiskFull, when not nil, is called when a write meets a full volume, with
	// the other writes waiting; after it has freed space the write is tried
	// again, once. Syncs are not: see vfs.OnDiskFull.
	OnDiskFull func()

	// Ops, for tests, is asked before each change of the file system.
	Ops iopath.Ops
}

// Catalog is an open catalog.
type Catalog struct {
	dir       string
	db        *pebble.DB
	fs        vfs.FS
	manifests *atomic.Int64 // begun since it was opened
}

// Open opens the catalog in dir, creating it when it does not exist and the
// mode is not read-only. Errors: ErrVersion, and Pebble's.
func Open(dir string, cfg Config) (*Catalog, error) {
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = 4 << 20
	}
	if cfg.MemtableBytes == 0 {
		cfg.MemtableBytes = 2 << 20
	}
	cache := pebble.NewCache(cfg.CacheBytes)
	defer cache.Unref()
	fsys := newFS(cfg) // without a goroutine that watches for slow writes and outlives a failed Open
	manifests := new(atomic.Int64)
	events := listener(logger{cfg.Logger})
	events.ManifestCreated = func(i pebble.ManifestCreateInfo) {
		if i.Err == nil {
			manifests.Add(1)
		}
	}
	opts := &pebble.Options{
		MaxManifestFileSize:         manifestBytes,
		Cache:                       cache,
		MemTableSize:                uint64(cfg.MemtableBytes),
		MemTableStopWritesThreshold: 2,
		ReadOnly:                    cfg.ReadOnly,
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      logger{cfg.Logger},
		EventListener:               events,
		ErrorIfNotExists:            cfg.MustExist,
		FS:                          fsys,
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	if cfg.ReadOnly {
		// The caller holds the store's lock, and a volume may not be writable.
		opts.FS = unlocked{fsys}
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return nil, damaged(dir, "open", err)
	}
	c := &Catalog{dir: dir, db: db, fs: fsys, manifests: manifests}
	if err := c.checkVersion(cfg.ReadOnly); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

// Close releases the database. No call may be in progress.
func (c *Catalog) Close() error { return c.db.Close() }

// Size is the bytes of the catalog on the volume.
func (c *Catalog) Size() int64 { return int64(c.db.Metrics().DiskSpaceUsage()) }

// MemoryBytes is what the database holds in memory now: block cache and
// memtables.
func (c *Catalog) MemoryBytes() int64 {
	m := c.db.Metrics()
	return m.BlockCache.Size + int64(m.MemTable.Size)
}

func (c *Catalog) checkVersion(readOnly bool) error {
	v, err := c.get([]byte{tableVersion})
	if errors.Is(err, ErrNotFound) && !readOnly {
		return c.db.Set([]byte{tableVersion}, binary.LittleEndian.AppendUint32(nil, Version), pebble.Sync)
	}
	if err != nil {
		return err
	}
	if len(v) != 4 {
		return fmt.Errorf("%w: schema version of %d bytes", ErrCorrupt, len(v))
	}
	got := binary.LittleEndian.Uint32(v)
	if got < oldestVersion || got > Version {
		return fmt.Errorf("%w: version %d, this program reads %d to %d", ErrVersion, got, oldestVersion, Version)
	}
	if got < Version && !readOnly {
		return c.db.Set([]byte{tableVersion}, binary.LittleEndian.AppendUint32(nil, Version), pebble.Sync)
	}
	return nil
}

// get returns a copy of the value of key.
func (c *Catalog) get(key []byte) ([]byte, error) {
	v, closer, err := c.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, damaged(c.dir, "read", err)
	}
	out := append([]byte(nil), v...)
	return out, closer.Close()
}

func getJSON[T any](c *Catalog, key []byte) (T, error) {
	var t T
	v, err := c.get(key)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(v, &t); err != nil {
		return t, fmt.Errorf("%w: row %q: %w", ErrCorrupt, key, err)
	}
	return t, nil
}

// scan calls f for every row whose key starts with prefix, in key order. The
// slices are valid during the call only.
func (c *Catalog) scan(prefix []byte, f func(key, value []byte) error) error {
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: successor(prefix)})
	if err != nil {
		return damaged(c.dir, "scan", err)
	}
	for it.First(); it.Valid(); it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			err = damaged(c.dir, "scan", err)
		} else {
			err = f(it.Key(), v)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return damaged(c.dir, "scan", err)
	}
	return nil
}

// listener keeps Pebble from ending the process when it finds damage: the read
// that met it fails, with ErrCorrupt.
func listener(l logger) *pebble.EventListener {
	return &pebble.EventListener{DataCorruption: func(i pebble.DataCorruptionInfo) { l.Errorf("%s", i) }}
}

// CorruptError says that a file of the catalog is not what was written, or gone.
type CorruptError struct {
	Path string // the file, or the catalog's directory where Pebble does not tell
	Err  error
}

// Error names the path and the cause.
func (e *CorruptError) Error() string { return fmt.Sprintf("%v: %s: %v", ErrCorrupt, e.Path, e.Err) }

// Unwrap makes errors.Is true for ErrCorrupt and for the cause.
func (e *CorruptError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// damaged names what failed in the catalog of dir. What Pebble calls corruption,
// and files that it misses, become a *CorruptError.
func damaged(dir, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, pebble.ErrDBDoesNotExist), errors.Is(err, pebble.ErrDBNotPristine):
	case !pebble.IsCorruptionError(err):
		return fmt.Errorf("catalog %s: %w", what, err)
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		dir = info.Path
	}
	return &CorruptError{Path: dir, Err: fmt.Errorf("%s: %w", what, err)}
}

// successor is the smallest key greater than every key with the prefix.
func successor(prefix []byte) []byte {
	s := append([]byte(nil), prefix...)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i]++; s[i] != 0 {
			return s[:i+1]
		}
	}
	return nil
}

// unlocked is a file system without lock files.
type unlocked struct{ vfs.FS }

// Lock takes no lock.
func (unlocked) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// logger passes Pebble's errors on and drops its chatter.
type logger struct{ l *slog.Logger }

func (l logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) {
	if l.l != nil {
		l.l.Error("catalog", "err", fmt.Sprintf(format, args...))
	}
}

// Fatalf is called by Pebble when it cannot go on, and must not return.
func (l logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	panic(fmt.Errorf("catalog: "+format, args...))
}
