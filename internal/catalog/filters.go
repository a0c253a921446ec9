package catalog

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// FilterRow returns the filter row of a key, or ErrNotFound.
func (c *Catalog) FilterRow(id uint32, key []byte) ([]byte, error) {
	return c.get(append(idPrefix(tableFilter, id), key...))
}

// PutFilterRow sets a filter row.
func (b *Batch) PutFilterRow(id uint32, key, value []byte) {
	b.note(b.b.Set(b.filterKey(id, key), value, nil))
}

// DeleteFilterRow removes a filter row.
func (b *Batch) DeleteFilterRow(id uint32, key []byte) {
	b.note(b.b.Delete(b.filterKey(id, key), nil))
}

func (b *Batch) filterKey(id uint32, key []byte) []byte {
	b.key = append(binary.BigEndian.AppendUint32(append(b.key[:0], tableFilter), id), key...)
	return b.key
}

// DeleteFilterRows removes all filter rows of an index.
func (b *Batch) DeleteFilterRows(id uint32) {
	p := idPrefix(tableFilter, id)
	b.note(b.b.DeleteRange(p, successor(p), nil))
}

// FilterCursor reads the filter rows of an index as they were when it was made. It
// belongs to one goroutine and must be closed.
type FilterCursor struct {
	c      *Catalog
	it     *pebble.Iterator
	prefix []byte
	key    []byte
}

// FilterRows returns a cursor over the filter rows of an index.
func (c *Catalog) FilterRows(id uint32) (*FilterCursor, error) {
	prefix := idPrefix(tableFilter, id)
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: successor(prefix)})
	if err != nil {
		return nil, damaged(c.dir, "scan", err)
	}
	return &FilterCursor{c: c, it: it, prefix: prefix}, nil
}

// Scan calls f with the rows whose keys are at least from and below to, or up to
// the last one when to is nil, until f returns false or an error. What f gets is
// valid during the call.
func (f *FilterCursor) Scan(from, to []byte, each func(key, value []byte) (bool, error)) error {
	f.key = append(append(f.key[:0], f.prefix...), from...)
	for ok := f.it.SeekGE(f.key); ok; ok = f.it.Next() {
		key := f.it.Key()[len(f.prefix):]
		if to != nil && string(key) >= string(to) {
			return nil
		}
		value, err := f.it.ValueAndErr()
		if err != nil {
			return damaged(f.c.dir, "scan", err)
		}
		if more, err := each(key, value); err != nil || !more {
			return err
		}
	}
	return damaged(f.c.dir, "scan", f.it.Error())
}

// Close ends the cursor.
func (f *FilterCursor) Close() error {
	err := f.it.Close()
	return damaged(f.c.dir, "scan", err)
}

// attributeKey is the key of an attribute; without a name, the prefix of all of
// its owner. index is empty for those of a bucket.
func attributeKey(bucket, index, name string) []byte {
	key := append(append([]byte{tableAttribute}, bucket...), 0)
	return append(append(append(key, index...), 0), name...)
}

// Attributes returns what is kept for an index, or with an empty name for a bucket.
func (c *Catalog) Attributes(bucket, index string) (map[string][]byte, error) {
	all := map[string][]byte{}
	prefix := attributeKey(bucket, index, "")
	err := c.scan(prefix, func(k, v []byte) error {
		all[string(k[len(prefix):])] = append([]byte{}, v...)
		return nil
	})
	return all, err
}

// PutAttribute keeps a value for an index or a bucket.
func (b *Batch) PutAttribute(bucket, index, name string, value []byte) {
	b.note(b.b.Set(attributeKey(bucket, index, name), value, nil))
}

// DeleteAttribute removes a value.
func (b *Batch) DeleteAttribute(bucket, index, name string) {
	b.note(b.b.Delete(attributeKey(bucket, index, name), nil))
}

func (b *Batch) deleteAttributes(bucket, index string) {
	p := attributeKey(bucket, index, "")
	b.note(b.b.DeleteRange(p, successor(p), nil))
}
