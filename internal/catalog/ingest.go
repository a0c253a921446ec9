package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ingestTableBytes is the size at which a sorted run is cut into tables.
const ingestTableBytes = 32 << 20

// Ingester brings the sorted keys of a bulk load into the catalog as finished
// tables, past the log and the memtables. What it ingests belongs to an index
// id that no index row names yet, so it stays invisible until that row commits.
// It belongs to one goroutine.
type Ingester struct {
	c     *Catalog
	dir   string // where the tables are written before they are linked in
	name  string // of their files
	w     *sstable.Writer
	bytes int64
	key   []byte
	value []byte
	paths []string
}

// NewIngester starts an ingestion of keys of index id, writing tables into dir,
// which must be on the catalog's file system.
func (c *Catalog) NewIngester(id uint32, dir string) *Ingester {
	return &Ingester{c: c, dir: dir, name: "keys", key: idPrefix(tableKey, id)}
}

// NewFilterIngester is NewIngester for the filter rows of an index; they are given
// to AddRow.
func (c *Catalog) NewFilterIngester(id uint32, dir string) *Ingester {
	return &Ingester{c: c, dir: dir, name: "filters", key: idPrefix(tableFilter, id)}
}

// Add takes the next key in its ordered form (OrderedKey); they must ascend
// strictly.
func (g *Ingester) Add(key []byte, p Placement) error {
	g.value = p.AppendValue(g.value[:0])
	return g.AddRow(key, g.value)
}

// AddRow takes the next row; keys must ascend strictly.
func (g *Ingester) AddRow(key, value []byte) error {
	if g.w == nil {
		if err := g.open(); err != nil {
			return err
		}
	}
	g.key = append(g.key[:5], key...)
	if err := g.w.Set(g.key, value); err != nil {
		return fmt.Errorf("catalog table: %w", err)
	}
	if g.bytes += int64(len(g.key) + len(value)); g.bytes >= ingestTableBytes {
		return g.finish()
	}
	return nil
}

func (g *Ingester) open() error {
	path := filepath.Join(g.dir, fmt.Sprintf("%s-%06d.sst", g.name, len(g.paths)))
	f, err := g.c.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("catalog table: %w", err)
	}
	g.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), sstable.WriterOptions{
		TableFormat: g.c.db.TableFormat(),
	})
	g.paths, g.bytes = append(g.paths, path), 0
	return nil
}

func (g *Ingester) finish() error {
	if g.w == nil {
		return nil
	}
	w := g.w
	g.w = nil
	if err := w.Close(); err != nil {
		return fmt.Errorf("catalog table: %w", err)
	}
	return nil
}

// Commit makes every key durable.
func (g *Ingester) Commit(ctx context.Context) error {
	if err := g.finish(); err != nil {
		return err
	}
	if len(g.paths) == 0 {
		return nil
	}
	if err := g.c.db.Ingest(ctx, g.paths); err != nil {
		return fmt.Errorf("catalog ingest: %w", err)
	}
	return nil
}

// Abort removes the tables that were not ingested. It is harmless after Commit.
func (g *Ingester) Abort() error {
	var errs []error
	if g.w != nil {
		errs = append(errs, g.w.Close())
		g.w = nil
	}
	for _, p := range g.paths {
		if err := g.c.fs.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
