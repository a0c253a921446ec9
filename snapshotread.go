package sprat

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spratdb/sprat/internal/archive"
	"github.com/spratdb/sprat/iopath"
)

// backupReader reads a file of an index for a snapshot through the store's I/O
// engine, in the class of backups: queries and maintenance come first. It is safe
// for concurrent use.
type backupReader struct {
	ctx    context.Context // of the snapshot
	engine *iopath.Engine
	file   *iopath.File
}

const (
	// backupGap is the space between two ranges that is read with them rather than
	// making an operation of its own.
	backupGap = 64 << 10
	// backupWave is how much is asked of the volume at one time.
	backupWave = 4 * iopath.OpBytes
)

// heldFile is a file of an index as it was at the moment of a snapshot: stat tells
// about it, file reads it.
type heldFile struct {
	stat *os.File
	file *iopath.File
}

func (s *Store) openHeld(path string) (heldFile, error) {
	stat, err := os.Open(path)
	if err != nil {
		return heldFile{}, err
	}
	file, err := s.engine.OpenFile(path)
	if err != nil {
		return heldFile{}, errors.Join(err, stat.Close())
	}
	return heldFile{stat, file}, nil
}

func (h heldFile) close() error { return errors.Join(h.file.Close(), h.stat.Close()) }

// ReadAt reads at an offset.
func (r *backupReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ReadPiece(p, off, []archive.Range{{Off: off, Len: int64(len(p))}}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ReadPiece fills the parts of a piece that begins at off; the parts ascend. What
// lies between parts that are near each other is read with them and left out.
func (r *backupReader) ReadPiece(piece []byte, off int64, parts []archive.Range) error {
	for len(parts) > 0 {
		n, err := r.readWave(piece, off, parts)
		if err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// readWave reads as many parts as go into one wave, and at least one. A part that is
// longer than a wave is read whole all the same.
func (r *backupReader) readWave(piece []byte, off int64, parts []archive.Range) (n int, err error) {
	b := r.engine.NewBatch()
	defer b.Release()
	b.SetClass(iopath.Backup)
	var spans []archive.Range
	wave := int64(0)
	for ; n < len(parts) && (n == 0 || wave < backupWave); n++ {
		p := parts[n]
		if k := len(spans); k > 0 && p.Off-(spans[k-1].Off+spans[k-1].Len) <= backupGap {
			wave += p.Off + p.Len - (spans[k-1].Off + spans[k-1].Len)
			spans[k-1].Len = p.Off + p.Len - spans[k-1].Off
			continue
		}
		spans = append(spans, p)
		wave += p.Len
	}
	for _, s := range spans {
		for at := s.Off; at < s.Off+s.Len; at += iopath.OpBytes {
			b.Read(r.file, at, int(min(iopath.OpBytes, s.Off+s.Len-at)), uint64(at))
		}
	}
	if err := b.Submit(r.ctx); err != nil {
		return 0, err
	}
	for b.Pending() > 0 {
		c, err := b.Next(r.ctx)
		if err == nil {
			err = c.Err
		}
		if err != nil {
			return 0, err
		}
		copyParts(piece, off, parts[:n], c.Data, int64(c.Tag))
	}
	return n, nil
}

// copyParts copies what data, read at from, has of the parts.
func copyParts(piece []byte, off int64, parts []archive.Range, data []byte, from int64) {
	for _, p := range parts {
		lo, hi := max(p.Off, from), min(p.Off+p.Len, from+int64(len(data)))
		if lo < hi {
			copy(piece[lo-off:hi-off], data[lo-from:hi-from])
		}
	}
}

var _ io.ReaderAt = (*backupReader)(nil)
