package iopath

import "errors"

// table is the view of one of a ring's two registered tables, of files and of
// memory: what is entered there the kernel need not look up for each read. A
// thing is entered at its first read. Where the kernel grants no table, or it is
// full, reads name the thing itself. The zero value is no table.
type table struct {
	ring  int     // index in ringSlots
	spare []int32 // free entries
}

// ringSlots says, for each ring with tables, where a file or a chunk of memory
// stands in the table of its kind: 0 not yet asked, k > 0 at index k-1, -1
// nowhere. Each is written by the owner of the ring while a read holds the thing,
// and read by forget or retire after the last has let go. The last one is of the
// lane, which has no tables.
type ringSlots [maxRings + 1]int32

// errTableFull is why a thing has no entry although the kernel refused nothing.
var errTableFull = errors.New("the table of the ring is full")

// reserve has grant make the table for the ring whose index is given, in the
// first of the sizes that the kernel allows.
func (t *table) reserve(ring int, sizes []int, grant func(n int) error) (err error) {
	t.ring = ring
	for _, n := range sizes {
		if err = grant(n); err != nil {
			continue
		}
		for i := n - 1; i >= 0; i-- {
			t.spare = append(t.spare, int32(i))
		}
		return nil
	}
	return err
}

// enter gives a thing an entry, which set fills.
func (t *table) enter(at *ringSlots, set func(index int) error) (index int32, err error) {
	last := len(t.spare) - 1
	if last < 0 {
		return -1, errTableFull
	}
	index = t.spare[last]
	if err := set(int(index)); err != nil {
		return -1, err
	}
	t.spare = t.spare[:last]
	at[t.ring] = index + 1
	return index, nil
}

// fileTable is the table of files, which are cleared after they are closed.
type fileTable struct{ table }

// fileTableSizes are tried in turn: the kernel allows no more entries than
// RLIMIT_NOFILE.
var fileTableSizes = []int{1024, 64}

// lookup returns how to name a file in a read: by its index in the table
// (fixed) or by descriptor.
func (t *fileTable) lookup(r ring, f *File) (fd int32, fixed bool) {
	if index := f.ring[t.ring]; index > 0 {
		return index - 1, true
	} else if index < 0 {
		return int32(f.h.fd), false
	}
	f.ring[t.ring] = -1
	index, err := t.enter(&f.ring, func(i int) error { return r.setFile(i, int32(f.h.fd)) })
	if err != nil {
		return int32(f.h.fd), false
	}
	return index, true
}

// clear frees an entry. Reads in flight keep the file that they started with.
// An entry that cannot be cleared is not used again.
func (t *fileTable) clear(r ring, index int32) {
	if r.setFile(int(index), -1) == nil {
		t.spare = append(t.spare, index)
	}
}
