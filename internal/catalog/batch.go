package catalog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Batch is one logical change: all of its rows become visible and durable
// together, or none does. It belongs to one goroutine.
type Batch struct {
	b        *pebble.Batch
	err      error  // first failure; Commit reports it
	key, buf []byte // scratch
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
	b.deleteAttributes(v.Bucket, v.Name)
	b.DeleteIndexRows(v.ID)
}

// indexTables are the tables whose rows belong to one index id.
var indexTables = []byte{tableExtent, tableKey, tableLongKey, tableLongMeta, tableCentroid, tableRun, tableState, tableDelta, tableFilter}

// DeleteIndexRows removes the per-posting and per-vector rows of an index id.
func (b *Batch) DeleteIndexRows(id uint32) {
	for _, table := range indexTables {
		p := idPrefix(table, id)
		b.note(b.b.DeleteRange(p, successor(p), nil))
	}
}

// DeleteBucket removes a bucket's row and attributes.
func (b *Batch) DeleteBucket(name string) {
	b.note(b.b.Delete(bucketKey(name), nil))
	b.deleteAttributes(name, "")
}

// PutExtent sets where a posting lies.
func (b *Batch) PutExtent(id, posting uint32, value []byte) {
	b.note(b.b.Set(idRow(tableExtent, id, posting), value, nil))
}

// DeletePosting removes a posting's extent and centroid; its deltas are rows of
// their own.
func (b *Batch) DeletePosting(id, posting uint32) {
	b.note(b.b.Delete(idRow(tableExtent, id, posting), nil))
	b.note(b.b.Delete(idRow(tableCentroid, id, posting), nil))
}

// PutCentroid keeps the centroid of a posting made live.
func (b *Batch) PutCentroid(id, posting uint32, value []byte) {
	b.note(b.b.Set(idRow(tableCentroid, id, posting), value, nil))
}

// PutRun sets the state of a run of slots.
func (b *Batch) PutRun(id, run uint32, row RunRow) {
	b.buf = row.append(b.buf[:0])
	b.note(b.b.Set(idRow(tableRun, id, run), b.buf, nil))
}

// DeleteRuns removes the rows of the runs first and above.
func (b *Batch) DeleteRuns(id, first uint32) {
	b.note(b.b.DeleteRange(idRow(tableRun, id, first), successor(idPrefix(tableRun, id)), nil))
}

// PutState sets the counters of an index.
func (b *Batch) PutState(id uint32, s State) {
	b.note(b.b.Set(idPrefix(tableState, id), s.append(nil), nil))
}

// PutDelta adds entries to a posting, under the sequence number of the commit.
func (b *Batch) PutDelta(id, posting uint32, seq uint64, entries []byte) {
	b.note(b.b.Set(binary.BigEndian.AppendUint64(idRow(tableDelta, id, posting), seq), entries, nil))
}

// DeleteDeltas removes the entries that commits of these sequence numbers added
// to a posting. Rows are named one by one: a range would be a range tombstone a
// fold, and Pebble looks through those of its memtable for every key that it reads.
func (b *Batch) DeleteDeltas(id, posting uint32, seqs []uint64) {
	for _, seq := range seqs {
		b.note(b.b.Delete(binary.BigEndian.AppendUint64(idRow(tableDelta, id, posting), seq), nil))
	}
}

// PutKey sets where the vector of a key lives.
func (b *Batch) PutKey(id uint32, key []byte, p Placement) {
	b.key = OrderedKey(binary.BigEndian.AppendUint32(append(b.key[:0], tableKey), id), key)
	b.buf = p.AppendValue(b.buf[:0])
	b.note(b.b.Set(b.key, b.buf, nil))
}

// DeleteKey removes a key.
func (b *Batch) DeleteKey(id uint32, key []byte) {
	b.key = OrderedKey(binary.BigEndian.AppendUint32(append(b.key[:0], tableKey), id), key)
	b.note(b.b.Delete(b.key, nil))
}

// PutLongKey keeps the key of a slot whose record has no room for it.
func (b *Batch) PutLongKey(id, slot uint32, gen uint8, key []byte) {
	b.note(b.b.Set(slotRow(tableLongKey, id, slot, gen), key, nil))
}

// PutLongMetadata keeps the metadata of a slot whose record has no room for it.
func (b *Batch) PutLongMetadata(id, slot uint32, gen uint8, meta []byte) {
	b.note(b.b.Set(slotRow(tableLongMeta, id, slot, gen), meta, nil))
}

// DeleteOverflow removes the long key and metadata of a slot that died.
func (b *Batch) DeleteOverflow(id, slot uint32, gen uint8) {
	b.note(b.b.Delete(slotRow(tableLongKey, id, slot, gen), nil))
	b.note(b.b.Delete(slotRow(tableLongMeta, id, slot, gen), nil))
}

// Len is the bytes collected so far.
func (b *Batch) Len() int { return b.b.Len() }

// Commit makes the change durable and visible. Pebble panics when its log cannot be
// written, because what the log holds is not known then: that is ErrLost.
func (b *Batch) Commit() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrLost, r)
		}
	}()
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
