package posting

import (
	"encoding/binary"
	"fmt"
)

// Extent is where a posting lies in the posting file.
type Extent struct {
	Block uint32 // offset in units of ExtentAlign
	Bytes uint32 // length without padding; 0 when the posting does not exist
}

// Offset is the extent's first byte in the file.
func (e Extent) Offset() int64 { return int64(e.Block) * ExtentAlign }

// ExtentValueBytes is the length of an extent in the catalog.
const ExtentValueBytes = 8

// AppendValue appends the extent as the catalog keeps it: block, then bytes,
// uint32 little endian.
func (e Extent) AppendValue(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, e.Block)
	return binary.LittleEndian.AppendUint32(b, e.Bytes)
}

// DecodeExtent is the inverse of AppendValue. It refuses extents that no
// posting can have.
func DecodeExtent(v []byte) (Extent, error) {
	if len(v) != ExtentValueBytes {
		return Extent{}, corrupt("directory entry of %d bytes, want %d", len(v), ExtentValueBytes)
	}
	e := Extent{Block: binary.LittleEndian.Uint32(v), Bytes: binary.LittleEndian.Uint32(v[4:])}
	if e.Block == 0 || e.Bytes < headerBytes || e.Bytes > MaxBytes {
		return Extent{}, corrupt("directory entry names block %d, %d bytes", e.Block, e.Bytes)
	}
	return e, nil
}

// Directory finds the extent of each posting. It is immutable once published;
// 8 bytes of memory a posting id.
type Directory struct {
	extents []Extent // by posting id
	live    int
}

// Put sets the extent of posting id. Only the owner of an unpublished directory
// may call it. Ids are dense; an id more than maxGap beyond the largest known
// is refused, because it would come from a damaged catalog.
func (d *Directory) Put(id uint32, e Extent) error {
	const maxGap = 1 << 24
	if int(id) >= len(d.extents)+maxGap {
		return corrupt("posting id %d after %d postings", id, len(d.extents))
	}
	for int(id) >= len(d.extents) {
		d.extents = append(d.extents, Extent{})
	}
	if d.extents[id].Bytes == 0 {
		d.live++
	}
	d.extents[id] = e
	return nil
}

// Get returns the extent of posting id; ok is false when there is none.
func (d *Directory) Get(id uint32) (e Extent, ok bool) {
	if int(id) >= len(d.extents) {
		return Extent{}, false
	}
	e = d.extents[id]
	return e, e.Bytes != 0
}

// Len is the number of postings.
func (d *Directory) Len() int { return d.live }

// Limit is one more than the largest posting id.
func (d *Directory) Limit() uint32 { return uint32(len(d.extents)) }

// MemoryBytes is the memory the directory holds.
func (d *Directory) MemoryBytes() int64 { return int64(cap(d.extents)) * ExtentValueBytes }

// String is the extent as a half-open byte range, for messages.
func (e Extent) String() string {
	return fmt.Sprintf("[%d,+%d)", e.Offset(), e.Bytes)
}
