package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"
)

// source is a file while it is read: opened for its first piece, closed after its
// last.
type source struct {
	file   *File
	ranges []Range // in order and apart; nil when all of the file counts

	mu     sync.Mutex
	uses   int // pieces in work, and 1 while pieces are fed
	reader io.ReaderAt
	closer io.Closer
}

func newSource(f *File) *source {
	s := &source{file: f, uses: 1}
	if f.Ranges != nil {
		ranges := slices.Clone(f.Ranges)
		slices.SortFunc(ranges, func(a, b Range) int { return int(min(1, max(-1, a.Off-b.Off))) })
		s.ranges = ranges[:0]
		for _, r := range ranges {
			if n := len(s.ranges); n > 0 && r.Off <= s.ranges[n-1].Off+s.ranges[n-1].Len {
				last := &s.ranges[n-1]
				last.Len = max(last.Len, r.Off+r.Len-last.Off)
				continue
			}
			s.ranges = append(s.ranges, r)
		}
	}
	return s
}

// begin notes that a piece is in work. The first one opens the file.
func (s *source) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == nil {
		reader, closer, err := s.file.Open()
		if err != nil {
			return fmt.Errorf("open file %q: %w", s.file.Path, err)
		}
		s.reader, s.closer = reader, closer
	}
	s.uses++
	return nil
}

// end notes that a piece is done, or that no more will come. The last one closes
// the file.
func (s *source) end() error {
	s.mu.Lock()
	s.uses--
	last := s.uses == 0
	s.mu.Unlock()
	if last {
		return s.close()
	}
	return nil
}

// close closes the file unless it is closed. No piece may be in work.
func (s *source) close() error {
	s.mu.Lock()
	closer := s.closer
	s.closer = nil
	s.mu.Unlock()
	if closer == nil {
		return nil
	}
	if err := closer.Close(); err != nil {
		return fmt.Errorf("close file %q: %w", s.file.Path, err)
	}
	return nil
}

// holds tells whether any range touches the length bytes at off.
func (s *source) holds(off int64, length int) bool {
	return s.file.Ranges == nil || len(s.within(off, length)) > 0
}

// within returns the parts of ranges among the length bytes at off.
func (s *source) within(off int64, length int) (parts []Range) {
	end := off + int64(length)
	first := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].Off+s.ranges[i].Len > off })
	for _, r := range s.ranges[first:] {
		if r.Off >= end {
			break
		}
		from, to := max(r.Off, off), min(r.Off+r.Len, end)
		if from < to {
			parts = append(parts, Range{from, to - from})
		}
	}
	return parts
}

// read fills piece with the file's bytes at off, zeros outside the ranges.
func (s *source) read(piece []byte, off int64) error {
	parts := []Range{{off, int64(len(piece))}}
	if s.file.Ranges != nil {
		clear(piece)
		parts = s.within(off, len(piece))
	}
	if whole, ok := s.reader.(PieceReader); ok {
		if err := whole.ReadPiece(piece, off, parts); err != nil {
			return fmt.Errorf("file %q: %w", s.file.Path, err)
		}
		return nil
	}
	for _, r := range parts {
		n, err := s.reader.ReadAt(piece[r.Off-off:][:r.Len], r.Off)
		if int64(n) == r.Len {
			continue // io.EOF at the end of the file is fine
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("file %q: %d bytes at %d, want %d: %w", s.file.Path, n, r.Off, r.Len, err)
	}
	return nil
}

// zero tells whether b holds zeros alone.
func zero(b []byte) bool {
	for len(b) >= len(zeros) {
		if [len(zeros)]byte(b) != zeros {
			return false
		}
		b = b[len(zeros):]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

var zeros [512]byte
