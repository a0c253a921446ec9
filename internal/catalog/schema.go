package catalog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
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

	// State of the data.
	Vectors  uint64 `json:"vectors"`
	Slots    uint64 `json:"slots"`    // slots given out, live or not
	Postings uint64 `json:"postings"` // postings in the directory
	Entries  uint64 `json:"entries"`  // posting entries, copies included

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

// Extents calls f with every directory row of an index, by posting id.
func (c *Catalog) Extents(id uint32, f func(posting uint32, value []byte) error) error {
	prefix := idPrefix(tableExtent, id)
	return c.scan(prefix, func(k, v []byte) error {
		if len(k) != len(prefix)+4 {
			return fmt.Errorf("%w: directory key of %d bytes", ErrCorrupt, len(k))
		}
		return f(binary.BigEndian.Uint32(k[len(prefix):]), v)
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
	v, err := c.get(append(idPrefix(tableKey, id), key...))
	if err != nil {
		return Placement{}, err
	}
	return decodePlacement(v)
}

// Placements calls f with every key of an index in the order of the keys. The
// key is valid during the call only.
func (c *Catalog) Placements(id uint32, f func(key []byte, p Placement) error) error {
	prefix := idPrefix(tableKey, id)
	return c.scan(prefix, func(k, v []byte) error {
		p, err := decodePlacement(v)
		if err != nil {
			return err
		}
		return f(bytes.TrimPrefix(k, prefix), p)
	})
}

// LongKey returns the key of a slot whose record has no room for it.
func (c *Catalog) LongKey(id, slot uint32) ([]byte, error) {
	return c.get(idRow(tableLongKey, id, slot))
}

// LongMetadata returns the metadata of a slot whose record has no room for it.
func (c *Catalog) LongMetadata(id, slot uint32) ([]byte, error) {
	return c.get(idRow(tableLongMeta, id, slot))
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
