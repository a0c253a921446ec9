package sprat

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spratdb/sprat/internal/catalog"
)

// DropIndex removes an index for good, with all that it holds; one that could not
// be opened can be dropped as well. Calls in progress on it finish first, later
// ones get ErrNotFound, and when it returns the name is free for another index.
// ctx can end the wait, not the drop. A crash leaves the index whole or gone; files
// that it leaves are removed when the store is opened again. A snapshot that is
// being written keeps the index. Errors: ErrInvalid, ErrNotFound, ErrClosed, the
// context's, and the volume's; nothing was changed then.
//
//  1. turn later calls away and wait for those in progress; end the maintenance;
//  2. make a mark that says that files of this index may be left (buildDir);
//  3. commit one batch: the index's row and everything of its id;
//  4. close and remove the files, the mark last.
func (s *Store) DropIndex(ctx context.Context, bucket, index string) error {
	if err := errors.Join(checkName("bucket", bucket), checkName("index", index)); err != nil {
		return err
	}
	ctx, done, err := s.work(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.opts.ReadOnly {
		return invalid("store", "a store opened for writing", "a read-only one")
	}
	d := &drop{store: s, bucket: bucket, index: index}
	if err := d.quiet(ctx); err != nil {
		return publicError(err)
	}
	if err := d.commit(ctx); err != nil {
		d.revive()
		return publicError(err)
	}
	d.remove()
	return nil
}

// DropBucket removes a bucket that holds no indexes. Errors: ErrInvalid,
// ErrNotFound, ErrNotEmpty, ErrClosed, and the volume's.
func (s *Store) DropBucket(name string) error {
	if err := checkName("bucket", name); err != nil {
		return err
	}
	return publicError(s.change(func(b *catalog.Batch) error {
		_, err := s.catalog.Bucket(name)
		if errors.Is(err, catalog.ErrNotFound) {
			return fmt.Errorf("bucket %q: %w", name, ErrNotFound)
		}
		if err != nil {
			return err
		}
		rows, err := s.catalog.Indexes(name)
		if err == nil && len(rows) > 0 {
			err = fmt.Errorf("bucket %q: %w: it holds index %q", name, ErrNotEmpty, rows[0].Name)
		}
		b.DeleteBucket(name)
		return err
	}, func() {}))
}

// ended is why an index takes no calls, nil while it does. The caller holds users.
func (ix *Index) ended() error {
	if err := ix.gone(); err != nil {
		return err
	}
	if ix.closed {
		return ErrClosed
	}
	return nil
}

// gone says that an index is dropped, or about to be.
func (ix *Index) gone() error {
	if ix.dropped.Load() {
		return fmt.Errorf("index %q: %w", ix.Name(), ErrNotFound)
	}
	return nil
}

// drop is one removal of an index.
type drop struct {
	store         *Store
	bucket, index string
	ix            *Index // quiet: no call and no maintenance; nil for one that could not be opened
	row           catalog.Index
}

// quiet claims the index, and ends what goes on in it.
func (d *drop) quiet(ctx context.Context) error {
	ix, err := d.store.opened(fullName(d.bucket, d.index))
	switch {
	case errors.Is(err, ErrNotFound):
		return err
	case err != nil:
		return ctx.Err() // it is broken, so nothing goes on
	case !ix.dropped.CompareAndSwap(false, true):
		return ix.gone() // somebody else drops it
	}
	if err := ix.drain(ctx); err != nil {
		ix.dropped.Store(false)
		return err
	}
	ix.writer.stop()
	d.ix = ix
	return nil
}

// drain waits until no call is in progress; those that come are turned away, since
// dropped is set. To wait in Lock would hold them up instead, and could not be
// given up.
func (ix *Index) drain(ctx context.Context) error {
	for wait := time.Millisecond; !ix.users.TryLock(); wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ix.users.Unlock()
	return nil
}

// commit removes the index from the catalog, which is what drops it, and from the
// open ones.
func (d *drop) commit(ctx context.Context) (err error) {
	s, full := d.store, fullName(d.bucket, d.index)
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if d.ix == nil {
		if _, err := s.opened(full); err == nil || errors.Is(err, ErrNotFound) {
			return fmt.Errorf("index %q: %w", full, ErrNotFound) // somebody else dropped it
		}
	}
	if d.row, err = s.catalog.Index(d.bucket, d.index); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := d.mark(); err != nil {
		return err
	}
	b := s.catalog.NewBatch()
	b.DeleteIndex(d.row)
	if err := b.Commit(); err != nil {
		// The mark stays: whether the index is there shows after a restart, and what
		// would be written to it until then may be lost.
		if d.ix != nil {
			d.ix.writer.broken.Store(&writeFault{fmt.Errorf("a drop failed in a way that only a restart settles: %w", err)})
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.indexes, full)
	delete(s.mu.broken, full)
	return nil
}

// mark makes the directory durable by which clearLeftovers tells files of a drop
// from those that a damaged catalog has forgotten.
func (d *drop) mark() error {
	s := d.store
	if err := s.room(catalogReserve); err != nil {
		return err
	}
	dir := buildDir(s.dir, d.row.ID)
	if err := s.engine.MkdirAll(dir); err != nil {
		return err
	}
	// The temporary directory was made when the store was opened.
	err := errors.Join(s.engine.SyncDir(filepath.Dir(dir)), s.engine.SyncDir(s.dir))
	if err != nil {
		s.warn("remove the mark of a drop that was not made", s.engine.RemoveAll(dir))
	}
	return err
}

// revive opens the index for calls again, after a drop that was not made.
func (d *drop) revive() {
	if d.ix == nil {
		return
	}
	d.ix.users.Lock()
	defer d.ix.users.Unlock()
	w := d.ix.writer
	w.limitSlots(0) // of a sweep that was cut off
	w.upkeep = newUpkeep(w)
	w.upkeep.start()
	d.ix.dropped.Store(false)
}

// remove closes and removes the files. What fails here is done when the store is
// opened again.
func (d *drop) remove() {
	s := d.store
	var err error
	if d.ix != nil {
		err = d.ix.close()
	}
	dir := indexDir(s.dir, d.row.ID)
	if err == nil {
		err = s.engine.RemoveAll(dir)
	}
	if err == nil {
		err = s.engine.SyncDir(filepath.Dir(dir)) // before the mark can go
	}
	if err == nil {
		err = s.engine.RemoveAll(buildDir(s.dir, d.row.ID))
	}
	s.warn("remove the files of a dropped index", err)
}
