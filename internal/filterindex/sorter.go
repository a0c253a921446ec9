package filterindex

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Sorter makes the rows of many documents, in bounded memory: when what it has
// collected is too large, it goes to a temporary file in the order of its keys, and
// Each merges the files.
//
//	| a run's bytes | field                                          |
//	|---------------|------------------------------------------------|
//	| uvarint       | k, length of the key                           |
//	| k             | row key                                        |
//	| uvarint       | n, length of the value                         |
//	| n             | value                                          |
type Sorter struct {
	dir   string
	limit int64

	mu   sync.Mutex
	rows map[string]*pending
	held int64
	runs int
	key  []byte
}

// pending are slots of a row, by their place in the chunk: a list, or from
// listLimit on a row.
type pending struct {
	list []uint16
	row  *Row
}

const (
	// rowOverhead is the memory of a row that is collected, besides key and slots.
	rowOverhead = 120
	listLimit   = ChunkSlots / 16
	// mergeBuffer is the memory for reading one run; mergeMost how many are merged
	// at one time.
	mergeBuffer = 32 << 10
	mergeMost   = 64
)

// NewSorter returns a sorter with temporary files in dir, of about so many bytes of
// memory.
func NewSorter(dir string, memory int64) *Sorter {
	return &Sorter{dir: dir, limit: max(memory, 1<<20), rows: map[string]*pending{}}
}

// Add takes the terms of a slot's document.
func (s *Sorter) Add(terms []string, slot uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, term := range terms {
		s.key = RowKey(s.key[:0], term, slot)
		p := s.rows[string(s.key)]
		if p == nil {
			p = &pending{}
			s.rows[string(s.key)] = p
			s.held += rowOverhead + int64(len(s.key))
		}
		s.held += p.add(slot)
	}
	if s.held < s.limit {
		return nil
	}
	return s.spill()
}

// add returns by how much the memory has grown.
func (p *pending) add(slot uint32) int64 {
	if p.row != nil {
		p.row.Add(slot)
		return 0
	}
	if p.list = append(p.list, uint16(slot%ChunkSlots)); len(p.list) < listLimit {
		return 4
	}
	p.row = &Row{}
	for _, x := range p.list {
		p.row.Add(uint32(x))
	}
	p.list = nil
	return 8*words - 4*listLimit
}

func (p *pending) addTo(r *Row) {
	for _, x := range p.list {
		r.Add(uint32(x))
	}
	if p.row != nil {
		r.merge(p.row)
	}
}

func (r *Row) merge(o *Row) {
	for i := range r {
		r[i] |= o[i]
	}
}

func (s *Sorter) path(run int) string { return filepath.Join(s.dir, fmt.Sprintf("filter-%06d", run)) }

// spill writes what was collected to a run.
func (s *Sorter) spill() error {
	held := s.memory()
	err := s.writeRun(func(write func(key, value []byte) error) error {
		for held.next() {
			if err := write(held.key, held.value); err != nil {
				return err
			}
		}
		return held.err
	})
	s.rows, s.held = map[string]*pending{}, 0
	return err
}

// writeRun makes the next run of what rows yields.
func (s *Sorter) writeRun(rows func(write func(key, value []byte) error) error) error {
	f, err := os.OpenFile(s.path(s.runs), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.runs++
	w := bufio.NewWriterSize(f, mergeBuffer)
	var head []byte
	err = rows(func(key, value []byte) error {
		for _, part := range [][]byte{key, value} {
			head = binary.AppendUvarint(head[:0], uint64(len(part)))
			if _, err := w.Write(head); err != nil {
				return err
			}
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, w.Flush(), f.Close())
}

// Each calls f with every row in the order of the keys; both are valid during the
// call. It may be called once, after the last Add.
func (s *Sorter) Each(f func(key, value []byte) error) error {
	first := 0
	for s.runs-first > mergeMost {
		from := first
		err := s.writeRun(func(write func(key, value []byte) error) error { return s.merge(from, from+mergeMost, nil, write) })
		if err != nil {
			return err
		}
		first += mergeMost
	}
	return s.merge(first, s.runs, s.memory(), f)
}

// merge calls f with the rows of some runs, and of what is in memory.
func (s *Sorter) merge(first, end int, held *rowSource, f func(key, value []byte) error) (err error) {
	var h sourceHeap
	for run := first; run < end; run++ {
		file, err := os.Open(s.path(run))
		if err != nil {
			return err
		}
		defer file.Close()
		h = append(h, readRun(file))
	}
	if held != nil {
		h = append(h, held)
	}
	h = slices.DeleteFunc(h, func(r *rowSource) bool {
		there := r.next()
		err = errors.Join(err, r.err)
		return !there
	})
	heap.Init(&h)
	var row, part Row
	var value []byte
	for err == nil && len(h) > 0 {
		key := slices.Clone(h[0].key)
		row = Row{}
		for err == nil && len(h) > 0 && string(h[0].key) == string(key) {
			if err = part.Read(h[0].value); err == nil {
				row.merge(&part)
				err = h.advance()
			}
		}
		if err == nil {
			value = row.Append(value[:0])
			err = f(key, value)
		}
	}
	return err
}

// Close removes the temporary files. It may be called again, and on nil.
func (s *Sorter) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for ; s.runs > 0; s.runs-- {
		errs = append(errs, os.Remove(s.path(s.runs-1)))
	}
	s.rows = nil
	return errors.Join(errs...)
}

// rowSource yields rows in the order of their keys.
type rowSource struct {
	key, value []byte
	read       func(r *rowSource) (bool, error)
	err        error
}

func (r *rowSource) next() (ok bool) {
	ok, r.err = r.read(r)
	return ok
}

// memory is the source of what was collected and is not in a run.
func (s *Sorter) memory() *rowSource {
	keys := make([]string, 0, len(s.rows))
	for key := range s.rows {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var row Row
	return &rowSource{read: func(r *rowSource) (bool, error) {
		if len(keys) == 0 {
			return false, nil
		}
		row = Row{}
		s.rows[keys[0]].addTo(&row)
		r.key, r.value = append(r.key[:0], keys[0]...), row.Append(r.value[:0])
		keys = keys[1:]
		return true, nil
	}}
}

// maxPart bounds what a damaged length makes a reader allocate.
const maxPart = 1 << 16

func readRun(f *os.File) *rowSource {
	in := bufio.NewReaderSize(f, mergeBuffer)
	part := func(b []byte) ([]byte, error) {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return b, err
		}
		if n > maxPart {
			return b, fmt.Errorf("%w: %s: part of %d bytes", ErrCorrupt, f.Name(), n)
		}
		b = slices.Grow(b[:0], int(n))[:n]
		_, err = io.ReadFull(in, b)
		return b, err
	}
	return &rowSource{read: func(r *rowSource) (_ bool, err error) {
		if r.key, err = part(r.key); errors.Is(err, io.EOF) {
			return false, nil
		}
		if err == nil {
			r.value, err = part(r.value)
		}
		return err == nil, err
	}}
}

// sourceHeap gives the source of the lowest key first.
type sourceHeap []*rowSource

// Len, Less, Swap, Push and Pop make a heap of it.
func (h sourceHeap) Len() int           { return len(h) }
func (h sourceHeap) Less(i, j int) bool { return cmp.Compare(string(h[i].key), string(h[j].key)) < 0 }

// Swap exchanges two sources.
func (h sourceHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push appends a source.
func (h *sourceHeap) Push(x any) { *h = append(*h, x.(*rowSource)) }

// Pop removes the last source.
func (h *sourceHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}

// advance moves the source in front to its next row.
func (h *sourceHeap) advance() error {
	r := (*h)[0]
	if r.next() {
		heap.Fix(h, 0)
		return nil
	}
	heap.Pop(h)
	return r.err
}
