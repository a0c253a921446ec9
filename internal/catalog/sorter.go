package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sorter sorts the keys of a bulk load on the volume, in bounded memory, and
// keeps the row that was added last for each key. It is a private Pebble
// database without a log: nothing in it outlives Close. It belongs to one
// goroutine.
type Sorter struct {
	dir   string
	db    *pebble.DB
	batch *pebble.Batch
	key   []byte // scratch
}

const sorterBatchBytes = 1 << 20

// NewSorter makes a sorter in dir, which must not exist, using about the given
// bytes of memory.
func NewSorter(dir string, memory int64) (*Sorter, error) {
	cache := pebble.NewCache(min(max(memory/4, 1<<20), 16<<20))
	defer cache.Unref()
	db, err := pebble.Open(dir, &pebble.Options{
		Cache: cache, DisableWAL: true, ErrorIfExists: true, Logger: logger{},
		MemTableSize: uint64(min(max(memory/4, 1<<20), 32<<20)), MemTableStopWritesThreshold: 3,
		FormatMajorVersion: pebble.FormatNewest, EventListener: listener(logger{}), FS: vfs.Default,
	})
	if err != nil {
		return nil, err
	}
	return &Sorter{dir: dir, db: db, batch: db.NewBatch()}, nil
}

// Add takes a key; a later row of the same key replaces an earlier one.
func (s *Sorter) Add(key string, row uint64) error {
	var v [8]byte
	binary.LittleEndian.PutUint64(v[:], row)
	s.key = OrderedKey(s.key[:0], []byte(key))
	if err := s.batch.Set(s.key, v[:], nil); err != nil {
		return fmt.Errorf("sort keys: %w", err)
	}
	if s.batch.Len() < sorterBatchBytes {
		return nil
	}
	return s.flush()
}

func (s *Sorter) flush() error {
	if err := s.batch.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("sort keys: %w", err)
	}
	s.batch.Reset()
	return nil
}

// Each calls f with every key, as OrderedKey makes it and in its order, and the
// key's last row. The key is valid during the call only.
func (s *Sorter) Each(f func(key []byte, row uint64) error) error {
	if err := s.flush(); err != nil {
		return err
	}
	it, err := s.db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("sort keys: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		v, err := it.ValueAndErr()
		if err == nil {
			err = f(it.Key(), binary.LittleEndian.Uint64(v))
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

// Close removes the sorter and its files. It may be called again, and on nil.
func (s *Sorter) Close() error {
	if s == nil || s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	return errors.Join(s.batch.Close(), db.Close(), os.RemoveAll(s.dir))
}
