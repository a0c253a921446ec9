package catalog

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// RunSlots is the number of slots of a run: neighbours on the volume that one
// posting owns.
const RunSlots = 16

// RunRow is the state of a run of slots.
//
//	| offset | bytes | field                                                      |
//	|--------|-------|------------------------------------------------------------|
//	| 0      | 1     | version, 1                                                 |
//	| 1      | 4     | posting that gets the run's free slots, or NoPosting       |
//	| 5      | 2     | live: bit i for slot i of the run                          |
//	| 7      | 2     | landed: its records are in a landing segment, not yet home |
//	| 9      | 16    | generation of each slot, of its last vector when dead      |
//	| 25     | 8 x n | for each landed slot in order: segment (4), offset (4)     |
type RunRow struct {
	Owner       uint32
	Live        uint16
	Landed      uint16 // a subset of Live
	Generations [RunSlots]uint8
	Landings    [RunSlots]Landing // valid where Landed
}

// NoPosting is the owner of a run that belongs to nobody.
const NoPosting = 1<<32 - 1

// Landing is where the records of a vector lie until they are moved home.
type Landing struct {
	Segment uint32
	Offset  uint32 // bytes from the start of the segment's file
}

const (
	runVersion = 1
	runHeader  = 9 + RunSlots
)

func (r *RunRow) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(append(b, runVersion), r.Owner)
	b = le.AppendUint16(le.AppendUint16(b, r.Live), r.Landed)
	b = append(b, r.Generations[:]...)
	for i := range RunSlots {
		if r.Landed>>i&1 != 0 {
			b = le.AppendUint32(le.AppendUint32(b, r.Landings[i].Segment), r.Landings[i].Offset)
		}
	}
	return b
}

func decodeRun(v []byte) (RunRow, error) {
	var r RunRow
	if len(v) < runHeader || v[0] != runVersion {
		return r, fmt.Errorf("%w: run of %d bytes, version %v", ErrCorrupt, len(v), v[:min(len(v), 1)])
	}
	le := binary.LittleEndian
	r.Owner, r.Live, r.Landed = le.Uint32(v[1:]), le.Uint16(v[5:]), le.Uint16(v[7:])
	copy(r.Generations[:], v[9:])
	v = v[runHeader:]
	if r.Landed&^r.Live != 0 || len(v) != 8*bits.OnesCount16(r.Landed) {
		return r, fmt.Errorf("%w: run with live %#04x, landed %#04x and %d bytes of places", ErrCorrupt, r.Live, r.Landed, len(v))
	}
	for i := range RunSlots {
		if r.Landed>>i&1 != 0 {
			r.Landings[i] = Landing{Segment: le.Uint32(v), Offset: le.Uint32(v[4:])}
			v = v[8:]
		}
	}
	return r, nil
}
