package catalog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Bucket is a bucket's row.
type Bucket struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// Dials are the defaults of an index's queries.
type Dials struct {
	RecallTarget float64 `json:"recallTarget,omitempty"`
	SearchProbe  int     `json:"searchProbe,omitempty"`
	RescoreLimit int     `json:"rescoreLimit,omitempty"`
}

// Index is an index's row: everything about it that is not per vector.
type Index struct {
	ID        uint32    `json:"id"`
	Bucket    string    `json:"bucket"`
	Name      string    `json:"name"`
	Dimension int       `json:"dimension"`
	Metric    string    `json:"metric"`
	Created   time.Time `json:"created"`
	Dials     Dials     `json:"dials"`

	// Geometry of codes and records, fixed at creation.
	RotationSeed uint64    `json:"rotationSeed"`
	Origin       []float32 `json:"origin,omitempty"`     // subtracted before the rotation
	Scale        float64   `json:"scale,omitempty"`      // euclidean, dot: factor before everything else; 0 is 1
	MaxNormSq    float64   `json:"maxNormSq,omitempty"`  // dot: the scaled norm² that vectors are augmented to
	Bits         int       `json:"bits"`                 // of a posting entry's code
	CentroidBits int       `json:"centroidBits"`         // of a centroid's code
	RefineTier   bool      `json:"refineTier,omitempty"` // 8-bit refine records exist
	KeyCap       int       `json:"keyCap"`               // inline key bytes of a record
	MetaCap      int       `json:"metaCap"`              // inline metadata bytes of a record
	PostingBytes int       `json:"postingBytes"`         // target size of a posting
	Copies       int       `json:"copies"`               // postings that hold a vector

	// NonFilterable are the metadata fields that filters may not name.
	NonFilterable []string `json:"nonFilterable,omitempty"`

	// Calibration maps dials to stop rules; see sprat.Calibration.
	Calibration json.RawMessage `json:"calibration,omitempty"`
}

func bucketKey(name string) []byte { return append([]byte{tableBucket}, name...) }

func indexKey(bucket, name string) []byte {
	return append(append(append([]byte{tableIndex}, bucket...), 0), name...)
}

func idPrefix(table byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{table}, id)
}

func idRow(table byte, id, row uint32) []byte {
	return binary.BigEndian.AppendUint32(idPrefix(table, id), row)
}

func slotRow(table byte, id, slot uint32, gen uint8) []byte {
	return append(idRow(table, id, slot), gen)
}

// Bucket returns a bucket's row, or ErrNotFound.
func (c *Catalog) Bucket(name string) (Bucket, error) { return getJSON[Bucket](c, bucketKey(name)) }

// Index returns an index's row, or ErrNotFound.
func (c *Catalog) Index(bucket, name string) (Index, error) {
	return getJSON[Index](c, indexKey(bucket, name))
}

// Buckets returns all buckets in the order of their names.
func (c *Catalog) Buckets() ([]Bucket, error) {
	return scanJSON[Bucket](c, []byte{tableBucket})
}

// Indexes returns the indexes of a bucket in the order of their names; of all
// buckets when bucket is empty.
func (c *Catalog) Indexes(bucket string) ([]Index, error) {
	prefix := []byte{tableIndex}
	if bucket != "" {
		prefix = append(append(prefix, bucket...), 0)
	}
	return scanJSON[Index](c, prefix)
}

func scanJSON[T any](c *Catalog, prefix []byte) ([]T, error) {
	var all []T
	err := c.scan(prefix, func(k, v []byte) error {
		var t T
		if err := json.Unmarshal(v, &t); err != nil {
			return fmt.Errorf("%w: row %q: %w", ErrCorrupt, k, err)
		}
		all = append(all, t)
		return nil
	})
	return all, err
}

// Extents calls f with every directory row of an index, by posting id. The value
// is valid during the call only, here and below.
func (c *Catalog) Extents(id uint32, f func(posting uint32, value []byte) error) error {
	return c.rows(tableExtent, id, f)
}

// Centroids calls f with the row of every centroid made live, by posting id.
func (c *Catalog) Centroids(id uint32, f func(posting uint32, value []byte) error) error {
	return c.rows(tableCentroid, id, f)
}

// Runs calls f with every run row of an index, by run; with the error of a row
// that is damaged.
func (c *Catalog) Runs(id uint32, f func(run uint32, row RunRow, damage error) error) error {
	return c.rows(tableRun, id, func(run uint32, v []byte) error {
		row, err := decodeRun(v)
		return f(run, row, err)
	})
}

// rows calls f with every row of a table whose keys are an index and a number.
func (c *Catalog) rows(table byte, id uint32, f func(row uint32, value []byte) error) error {
	prefix := idPrefix(table, id)
	return c.scan(prefix, func(k, v []byte) error {
		if len(k) != len(prefix)+4 {
			return fmt.Errorf("%w: key of %d bytes in table %#02x", ErrCorrupt, len(k), table)
		}
		return f(binary.BigEndian.Uint32(k[len(prefix):]), v)
	})
}

// Deltas calls f with every delta row of an index, by posting and sequence.
func (c *Catalog) Deltas(id uint32, f func(posting uint32, seq uint64, entries []byte) error) error {
	prefix := idPrefix(tableDelta, id)
	return c.scan(prefix, func(k, v []byte) error {
		if len(k) != len(prefix)+12 {
			return fmt.Errorf("%w: delta key of %d bytes", ErrCorrupt, len(k))
		}
		k = k[len(prefix):]
		return f(binary.BigEndian.Uint32(k), binary.BigEndian.Uint64(k[4:]), v)
	})
}

// Placement is where a key's vector lives.
type Placement struct {
	Slot       uint32
	Generation uint8
}

// placementBytes is the length of a placement in the catalog.
const placementBytes = 5

// AppendValue appends the placement as the catalog keeps it.
func (p Placement) AppendValue(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, p.Slot), p.Generation)
}

func decodePlacement(v []byte) (Placement, error) {
	if len(v) != placementBytes {
		return Placement{}, fmt.Errorf("%w: placement of %d bytes", ErrCorrupt, len(v))
	}
	return Placement{Slot: binary.LittleEndian.Uint32(v), Generation: v[4]}, nil
}

// Placement returns where the vector of key is, or ErrNotFound.
func (c *Catalog) Placement(id uint32, key []byte) (Placement, error) {
	v, err := c.get(append(idPrefix(tableKey, id), OrderedKey(nil, key)...))
	if err != nil {
		return Placement{}, err
	}
	return decodePlacement(v)
}

// OrderedKey appends the form of a key that table 0x21 is ordered by: its hash,
// then its bytes.
func OrderedKey(dst, key []byte) []byte {
	h := uint32(2166136261) // FNV-1a
	for _, b := range key {
		h = (h ^ uint32(b)) * 16777619
	}
	return append(append(dst, byte(h^h>>8^h>>16^h>>24)), key...)
}

// Placements calls f with every key of an index in the order of the table. The
// key is valid during the call only.
func (c *Catalog) Placements(id uint32, f func(key []byte, p Placement) error) error {
	cur, err := c.Keys(id, 0, 1, nil)
	if err != nil {
		return err
	}
	for cur.Next() {
		if err := f(cur.Key(), cur.Placement()); err != nil {
			return errors.Join(err, cur.Close())
		}
	}
	return cur.Close()
}

// LongKey returns the key of a slot whose record has no room for it.
func (c *Catalog) LongKey(id, slot uint32, gen uint8) ([]byte, error) {
	return c.get(slotRow(tableLongKey, id, slot, gen))
}

// LongMetadata returns the metadata of a slot whose record has no room for it.
func (c *Catalog) LongMetadata(id, slot uint32, gen uint8) ([]byte, error) {
	return c.get(slotRow(tableLongMeta, id, slot, gen))
}

// Overflows calls f with the slot and generation of every long key and long
// metadata of an index.
func (c *Catalog) Overflows(id uint32, f func(slot uint32, gen uint8) error) error {
	for _, table := range []byte{tableLongKey, tableLongMeta} {
		prefix := idPrefix(table, id)
		err := c.scan(prefix, func(k, _ []byte) error {
			if len(k) != len(prefix)+5 {
				return fmt.Errorf("%w: key of %d bytes in table %#02x", ErrCorrupt, len(k), table)
			}
			return f(binary.BigEndian.Uint32(k[len(prefix):]), k[len(prefix)+4])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// DiskBytes estimates what the rows of an index take on the volume. Rows that are
// still in a memtable do not count.
func (c *Catalog) DiskBytes(id uint32) (int64, error) {
	var total int64
	for _, table := range indexTables {
		p := idPrefix(table, id)
		n, err := c.db.EstimateDiskUsage(p, successor(p))
		if err != nil {
			return 0, fmt.Errorf("catalog size: %w", err)
		}
		total += int64(n)
	}
	return total, nil
}

// NextIndexID gives out an index id that was never used before, durably.
func (c *Catalog) NextIndexID() (uint32, error) {
	var last uint32
	v, err := c.get([]byte{tableLastIndex})
	switch {
	case err == nil && len(v) == 4:
		last = binary.LittleEndian.Uint32(v)
	case err == nil:
		return 0, fmt.Errorf("%w: last index id of %d bytes", ErrCorrupt, len(v))
	case err != ErrNotFound:
		return 0, err
	}
	last++
	return last, c.db.Set([]byte{tableLastIndex}, binary.LittleEndian.AppendUint32(nil, last), pebble.Sync)
}
