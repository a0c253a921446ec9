package posting

import (
	"encoding/binary"
	"math"

	"github.com/spratdb/sprat/rq"
)

const (
	// entriesVersion is the version of the catalog's form of entries.
	entriesVersion = 1
	// flagPrimary marks the primary copy of a vector.
	flagPrimary = 1
	// entryHeadBytes is what stands before the code of an entry in the catalog.
	entryHeadBytes = 4 + 1 + 1 + 4 + 4 + 2
)

// AppendEntries appends entries as the catalog keeps those that are not in an
// extent yet; the bytes are in the package comment. Error factors are rounded up
// to bfloat16, as in an extent.
func AppendEntries(b []byte, l *Layout, entries []Entry) []byte {
	b = append(b, entriesVersion)
	le := binary.LittleEndian
	for i := range entries {
		e := &entries[i]
		b = le.AppendUint32(b, e.Slot)
		b = append(b, e.Generation, entryFlags(e))
		b = le.AppendUint32(b, math.Float32bits(e.Factors.Add))
		b = le.AppendUint32(b, math.Float32bits(e.Factors.Rescale))
		b = le.AppendUint16(b, rq.PutBF16Up(e.Factors.Error))
		b = append(b, e.Code[:l.codeSize]...)
	}
	return b
}

// DecodeEntries is the inverse of AppendEntries. The codes alias v. The error is a
// *CorruptError.
func DecodeEntries(l *Layout, v []byte) ([]Entry, error) {
	if len(v) == 0 || v[0] != entriesVersion {
		return nil, corrupt("entries of %d bytes do not begin with version %d", len(v), entriesVersion)
	}
	v = v[1:]
	size := entryHeadBytes + l.codeSize
	if len(v)%size != 0 {
		return nil, corrupt("%d bytes of entries are no multiple of %d", len(v), size)
	}
	entries := make([]Entry, len(v)/size)
	le := binary.LittleEndian
	for i := range entries {
		b := v[i*size : (i+1)*size : (i+1)*size]
		if b[5]&^flagPrimary != 0 {
			return nil, corrupt("entry %d has flags %#02x", i, b[5])
		}
		entries[i] = Entry{
			Slot: le.Uint32(b), Generation: b[4], Primary: b[5]&flagPrimary != 0,
			Factors: rq.Factors{
				Add:     math.Float32frombits(le.Uint32(b[6:])),
				Rescale: math.Float32frombits(le.Uint32(b[10:])),
				Error:   rq.BF16(le.Uint16(b[14:])),
			},
			Code: b[entryHeadBytes:],
		}
	}
	return entries, nil
}

// entryFlags returns the flags of an entry, in memory and in the catalog.
func entryFlags(e *Entry) byte {
	if e.Primary {
		return flagPrimary
	}
	return 0
}
