package catalog

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Batch is one logical change: all of its rows become visible and durable
// together, or none does. It belongs to one goroutine.
type Batch struct {
	b   *pebble.Batch
	err error // first failure; Commit reports it
}

// NewBatch starts a change.
func (c *Catalog) NewBatch() *Batch { return &Batch{b: c.db.NewBatch()} }

// PutBucket writes a bucket's row.
func (b *Batch) PutBucket(v Bucket) { b.putJSON(bucketKey(v.Name), v) }

// PutIndex writes an index's row.
func (b *Batch) PutIndex(v Index) { b.putJSON(indexKey(v.Bucket, v.Name), v) }

// DeleteIndex removes an index's row and everything else the catalog holds of
// it.
func (b *Batch) DeleteIndex(v Index) {
	b.note(b.b.Delete(indexKey(v.Bucket, v.Name), nil))
	b.DeleteIndexRows(v.ID)
}

// indexTables are the tables whose rows belong to one index id.
var indexTables = []byte{tableExtent, tableKey, tableLongKey, tableLongMeta}

// DeleteIndexRows removes the per-posting and per-vector rows of an index id.
func (b *Batch) DeleteIndexRows(id uint32) {
	for _, table := range indexTables {
		p := idPrefix(table, id)
		b.note(b.b.DeleteRange(p, successor(p), nil))
	}
}

// PutExtent sets where a posting lies.
func (b *Batch) PutExtent(id, posting uint32, value []byte) {
	b.note(b.b.Set(idRow(tableExtent, id, posting), value, nil))
}

// PutLongKey keeps the key of a slot whose record has no room for it.
func (b *Batch) PutLongKey(id, slot uint32, key []byte) {
	b.note(b.b.Set(idRow(tableLongKey, id, slot), key, nil))
}

// PutLongMetadata keeps the metadata of a slot whose record has no room for it.
func (b *Batch) PutLongMetadata(id, slot uint32, meta []byte) {
	b.note(b.b.Set(idRow(tableLongMeta, id, slot), meta, nil))
}

// Len is the bytes collected so far.
func (b *Batch) Len() int { return b.b.Len() }

// Commit makes the change durable and visible.
func (b *Batch) Commit() error {
	if b.err != nil {
		return errors.Join(b.err, b.b.Close())
	}
	if err := b.b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("catalog commit: %w", err)
	}
	return b.b.Close()
}

// Discard drops the change.
func (b *Batch) Discard() error { return b.b.Close() }

func (b *Batch) putJSON(key []byte, v any) {
	j, err := json.Marshal(v)
	b.note(err)
	b.note(b.b.Set(key, j, nil))
}

func (b *Batch) note(err error) {
	if b.err == nil {
		b.err = err
	}
}
