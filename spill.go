package sprat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// spill scatters items to partitions and gives each partition back whole. What
// fits stays in memory; the rest goes to one temporary file a partition. An
// item is, little endian: length (4), payload.
//
// add may be called by any number of goroutines; load by one, after the last
// add.
type spill struct {
	dir   string
	parts []spillPart
	limit int // bytes a partition may buffer
}

type spillPart struct {
	mu   sync.Mutex
	buf  []byte
	file *os.File
	size int64 // bytes in the file
}

// newSpill makes n partitions that together buffer about memory bytes.
func newSpill(dir string, n int, memory int64) *spill {
	return &spill{dir: dir, parts: make([]spillPart, n), limit: int(memory / int64(max(n, 1)))}
}

// add appends an item to partition p.
func (s *spill) add(p int, item []byte) error {
	part := &s.parts[p]
	part.mu.Lock()
	defer part.mu.Unlock()
	part.buf = binary.LittleEndian.AppendUint32(part.buf, uint32(len(item)))
	part.buf = append(part.buf, item...)
	if len(s.parts) == 1 || len(part.buf) < s.limit {
		return nil
	}
	return s.flush(p, part)
}

func (s *spill) flush(p int, part *spillPart) (err error) {
	if part.file == nil {
		if part.file, err = os.Create(filepath.Join(s.dir, fmt.Sprintf("part-%04d", p))); err != nil {
			return err
		}
	}
	n, err := part.file.Write(part.buf)
	part.size += int64(n)
	part.buf = part.buf[:0]
	return err
}

// load returns the items of partition p and forgets them. The payloads stay
// valid.
func (s *spill) load(p int) ([][]byte, error) {
	part := &s.parts[p]
	data := part.buf
	if part.file != nil {
		if err := s.flush(p, part); err != nil {
			return nil, err
		}
		data = make([]byte, part.size)
		if _, err := io.ReadFull(io.NewSectionReader(part.file, 0, part.size), data); err != nil {
			return nil, fmt.Errorf("%s: %w", part.file.Name(), err)
		}
	}
	if err := s.drop(part); err != nil {
		return nil, err
	}
	var items [][]byte
	for len(data) > 0 {
		n := binary.LittleEndian.Uint32(data)
		items = append(items, data[4:4+n:4+n])
		data = data[4+n:]
	}
	return items, nil
}

func (s *spill) drop(part *spillPart) error {
	part.buf = nil
	if part.file == nil {
		return nil
	}
	f := part.file
	part.file = nil
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// close removes what is left.
func (s *spill) close() error {
	var errs []error
	for i := range s.parts {
		errs = append(errs, s.drop(&s.parts[i]))
	}
	return errors.Join(errs...)
}
