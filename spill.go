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
	size int64 // bytes in the file; 0 when there is none
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

// flush appends the buffer to the partition's file, which is open only for that
// long: partitions may outnumber the descriptors that a process may have.
func (s *spill) flush(p int, part *spillPart) error {
	f, err := os.OpenFile(s.path(p), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	n, err := f.Write(part.buf)
	part.size += int64(n)
	part.buf = part.buf[:0]
	return errors.Join(err, f.Close())
}

func (s *spill) path(p int) string { return filepath.Join(s.dir, fmt.Sprintf("part-%04d", p)) }

// load returns the items of partition p and forgets them. The payloads stay
// valid.
func (s *spill) load(p int) ([][]byte, error) {
	part := &s.parts[p]
	data := part.buf
	if part.size > 0 {
		if err := s.flush(p, part); err != nil {
			return nil, err
		}
		var err error
		if data, err = os.ReadFile(s.path(p)); err != nil {
			return nil, err
		}
		if int64(len(data)) != part.size {
			return nil, fmt.Errorf("%s: %d bytes, want %d: %w", s.path(p), len(data), part.size, io.ErrUnexpectedEOF)
		}
	}
	if err := s.drop(p); err != nil {
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

func (s *spill) drop(p int) error {
	part := &s.parts[p]
	had := part.size > 0
	part.buf, part.size = nil, 0
	if !had {
		return nil
	}
	return os.Remove(s.path(p))
}

// close removes what is left.
func (s *spill) close() error {
	var errs []error
	for i := range s.parts {
		errs = append(errs, s.drop(i))
	}
	return errors.Join(errs...)
}
