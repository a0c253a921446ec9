package archive

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// DefaultWorkers is how many pieces are in work at once.
	DefaultWorkers = 4
	// DefaultChunkBytes is the piece size.
	DefaultChunkBytes = 4 << 20
	// MaxChunkBytes is the largest piece size.
	MaxChunkBytes = 64 << 20

	maxWorkers = 256
)

// PieceReader is what the reader of a [File] may also be: it is then asked for all
// parts of a piece together, so that it can read what lies near each other at once.
type PieceReader interface {
	// ReadPiece fills the parts, which ascend, of the piece that begins at off of the
	// file. Bytes outside the parts keep their values.
	ReadPiece(piece []byte, off int64, parts []Range) error
}

// File is one file to keep.
type File struct {
	Path string      // slash-separated, relative, without "." or ".."; unique
	Size int64       // bytes
	Mode fs.FileMode // permission bits; 0 means 0644
	// Version, with Size, says what the file holds: when both equal those in the
	// newest intact snapshot, the file is taken to be unchanged and not read.
	// When empty, it is always read.
	Version string
	// Ranges, when not nil, are the only bytes that hold anything: the rest is
	// kept as zeros, whatever the file has there. In any order, within Size.
	Ranges []Range
	// Open opens the file for reading. It is called at most once, and not at all
	// when nothing must be read; the closer, which may be nil, is closed before
	// Write returns. ReadAt is called from several goroutines, and only within
	// Size. The content must not change until Write returns.
	Open func() (io.ReaderAt, io.Closer, error)
}

// Range is Len bytes from Off.
type Range struct {
	Off, Len int64
}

// Options of an operation. The zero value is good.
type Options struct {
	Label string            // Write: kept in the manifest, UTF-8
	Meta  map[string]string // Write: kept in the manifest, UTF-8
	// Progress, when set, is told how much of the total is done: bytes, or
	// objects for Prune. It is called from one goroutine at a time and must not
	// block.
	Progress func(done, total int64)
	// Workers is how many pieces are in work at once, 1 .. 256; 0 means
	// DefaultWorkers.
	Workers int
	// ChunkBytes is the piece size of a Write, 1 .. MaxChunkBytes; 0 means
	// DefaultChunkBytes. Snapshots share pieces only with those of their size.
	ChunkBytes int
	// Now is the clock that ids and leases go by; nil means time.Now.
	Now func() time.Time
}

// complete fills in defaults and checks ranges.
func (o Options) complete() (Options, error) {
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.ChunkBytes == 0 {
		o.ChunkBytes = DefaultChunkBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Workers < 1 || o.Workers > maxWorkers {
		return o, invalid("%d workers, want 1 .. %d", o.Workers, maxWorkers)
	}
	if o.ChunkBytes < 1 || o.ChunkBytes > MaxChunkBytes {
		return o, invalid("pieces of %d bytes, want 1 .. %d", o.ChunkBytes, MaxChunkBytes)
	}
	for name, text := range o.Meta {
		if !utf8.ValidString(name) || !utf8.ValidString(text) {
			return o, invalid("metadata %q is not UTF-8", name)
		}
	}
	if !utf8.ValidString(o.Label) {
		return o, invalid("label %q is not UTF-8", o.Label)
	}
	return o, nil
}

// Stats says what an operation did. Counts of pieces leave out those of zeros.
type Stats struct {
	Files int   // in the snapshot
	Bytes int64 // of all files in the snapshot

	ChunksNew      int   // Write: pieces sent to the store
	ChunksShared   int   // Write: pieces that the store had, or that this Write sent already
	BytesNew       int64 // Write: bytes of the pieces sent
	FilesUnchanged int   // Write: files that were not read, by their Version

	ChunksRead int   // Restore, Verify: pieces fetched and checked
	BytesRead  int64 // Restore, Verify: their bytes

	SnapshotsRemoved int // Prune
	ChunksRemoved    int // Prune
}

// checkFiles returns the files in order of path, or what is wrong with them.
func checkFiles(files []File) ([]File, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	entries := make([]Entry, len(files))
	for i := range files {
		f := &files[i]
		if f.Mode == 0 {
			f.Mode = 0o644
		}
		entries[i] = Entry{Path: f.Path, Size: f.Size, Mode: f.Mode}
		for _, r := range f.Ranges {
			if r.Off < 0 || r.Len < 0 || r.Off > f.Size-r.Len {
				return nil, invalid("file %q has a range of %d bytes at %d, its size is %d", f.Path, r.Len, r.Off, f.Size)
			}
		}
		if !utf8.ValidString(f.Version) {
			return nil, invalid("file %q: version %q is not UTF-8", f.Path, f.Version)
		}
		if f.Open == nil {
			return nil, invalid("file %q cannot be opened: Open is nil", f.Path)
		}
	}
	if _, reason := checkEntries(entries); reason != "" {
		return nil, invalid("%s", reason)
	}
	return files, nil
}

// meter adds up progress from several goroutines.
type meter struct {
	mu    sync.Mutex
	done  int64
	total int64
	tell  func(done, total int64)
}

func newMeter(tell func(done, total int64), total int64) *meter {
	if tell != nil {
		tell(0, total)
	}
	return &meter{total: total, tell: tell}
}

func (m *meter) add(n int64) {
	if m.tell == nil || n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += n
	m.tell(m.done, m.total)
}
