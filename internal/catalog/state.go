package catalog

import (
	"encoding/binary"
	"fmt"
)

// State are the counters of an index, which change with its data.
//
//	| offset | bytes | field                                                     |
//	|--------|-------|-----------------------------------------------------------|
//	| 0      | 1     | version, 2; version 1 ends at offset 89                   |
//	| 1      | 8     | live vectors                                              |
//	| 9      | 8     | slots given out, live or not                              |
//	| 17     | 8     | postings in the directory                                 |
//	| 25     | 8     | entries of postings and deltas, stale ones included       |
//	| 33     | 8     | deaths of slots since postings were last swept            |
//	| 41     | 8     | sequence number of the last commit                        |
//	| 49     | 8     | live vectors when the stop rules were last calibrated     |
//	| 57     | 8     | changes of vectors since then                             |
//	| 65     | 8     | long keys and metadata ever kept; 0 means there are none  |
//	| 73     | 8     | vectors put since records were last brought together      |
//	| 81     | 4     | next posting id                                           |
//	| 85     | 4     | next landing segment                                      |
//	| 89     | 8     | vectors put with terms since filter rows were begun       |
//	| 97     | 1     | filter rows: FiltersNone, FiltersBegun, FiltersWhole      |
type State struct {
	Vectors    uint64
	Slots      uint64
	Postings   uint64
	Entries    uint64
	Deaths     uint64
	Seq        uint64
	Calibrated uint64
	Changes    uint64
	Overflows  uint64
	Untidy     uint64

	NextPosting uint32
	NextSegment uint32

	Filtered uint64
	Filters  FilterRows
}

// FilterRows says which live vectors of an index have their filter rows.
type FilterRows uint8

// In this order an index gets its filter rows.
const (
	FiltersNone  FilterRows = iota // of an older schema: none has
	FiltersBegun                   // those put since then have, others may not
	FiltersWhole                   // all have
)

const (
	stateVersion = 2
	stateBytes   = 98
	stateBytes1  = 89 // of version 1
)

func (s *State) append(b []byte) []byte {
	b = append(b, stateVersion)
	for _, x := range []uint64{s.Vectors, s.Slots, s.Postings, s.Entries, s.Deaths, s.Seq, s.Calibrated, s.Changes, s.Overflows, s.Untidy} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	b = binary.LittleEndian.AppendUint32(b, s.NextPosting)
	b = binary.LittleEndian.AppendUint32(b, s.NextSegment)
	return append(binary.LittleEndian.AppendUint64(b, s.Filtered), byte(s.Filters))
}

func decodeState(v []byte) (State, error) {
	old := len(v) == stateBytes1 && v[0] == 1
	if !old && (len(v) != stateBytes || v[0] != stateVersion || FilterRows(v[97]) > FiltersWhole) {
		return State{}, fmt.Errorf("%w: state of %d bytes, version %v", ErrCorrupt, len(v), v[:min(len(v), 1)])
	}
	var s State
	for i, x := range []*uint64{&s.Vectors, &s.Slots, &s.Postings, &s.Entries, &s.Deaths, &s.Seq, &s.Calibrated, &s.Changes, &s.Overflows, &s.Untidy} {
		*x = binary.LittleEndian.Uint64(v[1+8*i:])
	}
	s.NextPosting, s.NextSegment = binary.LittleEndian.Uint32(v[81:]), binary.LittleEndian.Uint32(v[85:])
	if !old {
		s.Filtered, s.Filters = binary.LittleEndian.Uint64(v[89:]), FilterRows(v[97])
	}
	return s, nil
}

// State returns the counters of an index, or ErrNotFound.
func (c *Catalog) State(id uint32) (State, error) {
	v, err := c.get(idPrefix(tableState, id))
	if err != nil {
		return State{}, err
	}
	return decodeState(v)
}
