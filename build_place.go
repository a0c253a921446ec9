package sprat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/posting"
)

// placement is where every row goes: its postings, then its slot. The arrays
// are files mapped into memory, so that the kernel can write them back when
// memory is short.
type placement struct {
	copies int
	route  []uint32 // [rows][copies] rows of the centroid set; then posting ids
	slotOf []uint32 // [rows]
	files  []mapping

	primaries []uint32 // by posting
	entries   []uint32 // by posting
}

type mapping struct {
	path string
	data []byte
}

func newPlacement(dir string, rows uint64, copies int) (*placement, error) {
	p := &placement{copies: copies}
	var err error
	if p.route, err = p.array(filepath.Join(dir, "routes"), int(rows)*copies); err == nil {
		p.slotOf, err = p.array(filepath.Join(dir, "slots"), int(rows))
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// array maps a new file of n uint32. Its blocks are allocated first, so that a
// full volume is an error here and not a fault at the first store.
func (p *placement) array(path string, n int) ([]uint32, error) {
	if n == 0 {
		return nil, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(4*n)); err != nil {
		return nil, fmt.Errorf("%s: allocate %d bytes: %w", path, 4*n, err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, 4*n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: map: %w", path, err)
	}
	p.files = append(p.files, mapping{path: path, data: data})
	return unsafe.Slice((*uint32)(unsafe.Pointer(&data[0])), n), nil
}

func (p *placement) close() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, m := range p.files {
		errs = append(errs, unix.Munmap(m.data), os.Remove(m.path))
	}
	p.files, p.route, p.slotOf = nil, nil, nil
	return errors.Join(errs...)
}

func (p *placement) routes(row uint64) []uint32 {
	return p.route[row*uint64(p.copies) : (row+1)*uint64(p.copies)]
}

// place turns centroid rows into posting ids and gives every live row its slot.
//
// Centroids without entries are dropped. One with more entries than a posting
// may hold (equal vectors cannot be told apart by any centroid) becomes several
// postings of the same centroid, filled by count. Slots run through the
// postings in the order of the centroid tree, and within a posting by the first
// copy's posting: members that lean to the same neighbour lie together, so that
// the records of near vectors share reads.
func (b *build) place(context.Context) error {
	p := b.placed
	b.opts.Progress("place", 0, 0)
	prim, entries := b.count(b.set.Len())
	split := b.splitPlan(entries)
	set, err := split.apply(b.set)
	if err != nil {
		return err
	}
	b.set = set
	order, err := b.byPrimary(prim)
	if err != nil {
		return err
	}
	p.primaries, p.entries = make([]uint32, split.total), make([]uint32, split.total)
	slot := uint32(0)
	for c, start := 0, 0; c < len(prim); c++ {
		members := order[start : start+int(prim[c])]
		start += int(prim[c])
		b.sortMembers(members)
		for i, row := range members {
			p.slotOf[row] = slot
			slot++
			r := p.routes(uint64(row))
			r[0] = split.primary(c, i, len(members))
			p.primaries[r[0]]++
			for k := 1; k < len(r) && r[k] != noPosting; k++ {
				r[k] = split.copy(int(r[k]))
				p.entries[r[k]]++
			}
		}
	}
	for i, n := range p.primaries {
		p.entries[i] += n
		b.stats.Entries += int64(p.entries[i])
	}
	b.stats.Postings = int64(split.total)
	b.state.Slots, b.state.Postings, b.state.Entries = uint64(slot), uint64(split.total), uint64(b.stats.Entries)
	b.state.NextPosting = uint32(split.total)
	return nil
}

// count counts the primaries and all entries of each centroid.
func (b *build) count(n int) (primaries, entries []uint32) {
	primaries, entries = make([]uint32, n), make([]uint32, n)
	for row := range b.staged.rows {
		if !b.staged.isLive(row) {
			continue
		}
		r := b.placed.routes(row)
		primaries[r[0]]++
		for _, c := range r {
			if c != noPosting {
				entries[c]++
			}
		}
	}
	return primaries, entries
}

// byPrimary returns the live rows grouped by primary centroid (counting sort).
func (b *build) byPrimary(primaries []uint32) ([]uint32, error) {
	order, err := b.placed.array(filepath.Join(b.tmp, "order"), int(b.stats.Vectors))
	if err != nil {
		return nil, err
	}
	next := make([]uint32, len(primaries)+1)
	for i, n := range primaries {
		next[i+1] = next[i] + n
	}
	for row := range b.staged.rows {
		if b.staged.isLive(row) {
			c := b.placed.routes(row)[0]
			order[next[c]] = uint32(row)
			next[c]++
		}
	}
	return order, nil
}

func (b *build) sortMembers(rows []uint32) {
	slices.SortFunc(rows, func(x, y uint32) int {
		if c := slices.Compare(b.placed.routes(uint64(x))[1:], b.placed.routes(uint64(y))[1:]); c != 0 {
			return c
		}
		return int(int64(x) - int64(y))
	})
}

// splitting maps centroid rows to posting ids.
type splitting struct {
	first []uint32 // first posting of the centroid
	parts []uint32 // 0 when it has no entries
	given []uint32 // copies given out
	total int
}

// splitPlan gives each centroid enough postings for its entries.
func (b *build) splitPlan(entries []uint32) splitting {
	return splitEntries(entries, uint32(b.ix.layout.Capacity(posting.MaxBytes)))
}

// splitEntries plans postings of at most capacity entries, which is at least 8.
func splitEntries(entries []uint32, capacity uint32) splitting {
	// Primaries and copies are spread evenly, each rounded up.
	room := capacity - 2
	s := splitting{first: make([]uint32, len(entries)), parts: make([]uint32, len(entries)), given: make([]uint32, len(entries))}
	for c, n := range entries {
		s.first[c] = uint32(s.total)
		s.parts[c] = (n + room - 1) / room
		s.total += int(s.parts[c])
	}
	return s
}

// primary is the posting of the i-th of n primary members of centroid c.
func (s splitting) primary(c, i, n int) uint32 {
	return s.first[c] + uint32(uint64(i)*uint64(s.parts[c])/uint64(n))
}

// copy is the posting that takes the next copy at centroid c.
func (s splitting) copy(c int) uint32 {
	s.given[c]++
	return s.first[c] + s.given[c]%s.parts[c]
}

// apply rebuilds the set with one row per posting; its rows are posting ids.
func (s splitting) apply(old *centroids.Set) (*centroids.Set, error) {
	sb, err := centroids.NewBuilder(old.Dim(), old.Bits())
	if err != nil {
		return nil, err
	}
	for c := range s.first {
		code, scale, normSq := old.Code(int32(c))
		for k := range s.parts[c] {
			if err := sb.AddCode(s.first[c]+k, code, scale, normSq); err != nil {
				return nil, err
			}
		}
	}
	return sb.Set()
}
