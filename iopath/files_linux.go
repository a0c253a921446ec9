package iopath

// fileTable is the view of a ring's registered files: the kernel then need not
// look a descriptor up for each read. A file is entered at its first read and
// cleared after it is closed. Where the kernel grants no table, or it is full,
// reads name the descriptor. The zero value is no table.
type fileTable struct {
	ring  int // index in File.ring
	spare []int32
}

// fileTableSizes are tried in turn: the kernel allows no more entries than
// RLIMIT_NOFILE.
var fileTableSizes = []int{1024, 64}

// ringSlots says, for each ring with a table, where a file stands in it: 0 not
// yet asked, k > 0 at index k-1, -1 nowhere. Each is written by the owner of the
// ring while a read holds the file, and read by forget after the last has let
// go. The last one is of the lane, which has no table.
type ringSlots [maxRings + 1]int32

// reserve asks the ring, whose index is given, for a table.
func (t *fileTable) reserve(r ring, index int) {
	t.ring = index
	for _, n := range fileTableSizes {
		if r.reserveFiles(n) != nil {
			continue
		}
		for i := n - 1; i >= 0; i-- {
			t.spare = append(t.spare, int32(i))
		}
		return
	}
}

// lookup returns how to name a file in a read: by its index in the table
// (fixed) or by descriptor.
func (t *fileTable) lookup(r ring, f *File) (fd int32, fixed bool) {
	if index := f.ring[t.ring]; index > 0 {
		return index - 1, true
	} else if index == 0 {
		return t.enter(r, f)
	}
	return int32(f.h.fd), false
}

// enter is lookup for a file that was not looked up before.
func (t *fileTable) enter(r ring, f *File) (fd int32, fixed bool) {
	f.ring[t.ring] = -1
	last := len(t.spare) - 1
	if last < 0 {
		return int32(f.h.fd), false
	}
	index := t.spare[last]
	if r.setFile(int(index), int32(f.h.fd)) != nil {
		return int32(f.h.fd), false
	}
	t.spare = t.spare[:last]
	f.ring[t.ring] = index + 1
	return index, true
}

// clear frees an entry. Reads in flight keep the file that they started with.
// An entry that cannot be cleared is not used again.
func (t *fileTable) clear(r ring, index int32) {
	if r.setFile(int(index), -1) == nil {
		t.spare = append(t.spare, index)
	}
}
