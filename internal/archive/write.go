package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Write keeps a snapshot of the files and returns its manifest. On an error there
// is no new snapshot, and the next Write makes use of the pieces that were sent.
// Errors are a *BusyError, ErrInvalid, wrapped, or those of the store and of the
// files.
func Write(ctx context.Context, o Objects, files []File, opts Options) (Manifest, Stats, error) {
	opts, err := opts.complete()
	if err == nil {
		files, err = checkFiles(files)
	}
	if err != nil {
		return Manifest{}, Stats{}, err
	}
	l, err := acquire(ctx, o, opts.Now)
	if err != nil {
		return Manifest{}, Stats{}, err
	}
	defer l.release(ctx)
	if err := cleanObjects(ctx, o); err != nil {
		return Manifest{}, Stats{}, err
	}
	previous, last, err := newest(ctx, o)
	if err != nil {
		return Manifest{}, Stats{}, err
	}
	have, err := listChunks(ctx, o)
	if err != nil {
		return Manifest{}, Stats{}, err
	}
	w := newWriter(o, l, files, have, opts)
	if err := w.run(ctx, previous); err != nil {
		return Manifest{}, Stats{}, err
	}
	m := Manifest{ID: newID(opts.Now(), last), Label: opts.Label, Meta: opts.Meta,
		ChunkBytes: opts.ChunkBytes, Bytes: w.stats.Bytes, Files: w.entries}
	m.Created = idCreated(m.ID)
	if err := commit(ctx, o, l, &m); err != nil {
		return Manifest{}, Stats{}, err
	}
	return m, w.stats, nil
}

// commit makes the pieces durable and then writes the manifest, which is what
// makes the snapshot exist.
func commit(ctx context.Context, o Objects, l *lease, m *Manifest) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if err := syncObjects(ctx, o); err != nil {
		return err
	}
	if err := errors.Join(l.confirm(ctx), ctx.Err()); err != nil {
		return err
	}
	name := manifestName(m.ID)
	if err = o.Put(ctx, name, data); err != nil {
		err = fmt.Errorf("write %s to %s: %w", name, o, err)
	} else {
		err = syncObjects(ctx, o)
	}
	if err == nil {
		return nil
	}
	// The store may have it all the same. The caller is told that there is no
	// snapshot, so there should be none.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseIn)
	defer cancel()
	_ = o.Delete(ctx, name)
	return err
}

// writer is the state of one Write.
type writer struct {
	o       Objects
	lease   *lease
	opts    Options
	files   []File
	entries []Entry // of files; a worker writes the digests of its own pieces
	buffers [][]byte
	meter   *meter

	mu    sync.Mutex // guards what follows
	have  map[string]bool
	stats Stats
}

// cut is one piece of a file that must be read.
type cut struct {
	file   int
	index  int
	source *source
}

func newWriter(o Objects, l *lease, files []File, have map[string]bool, opts Options) *writer {
	w := &writer{o: o, lease: l, opts: opts, files: files, have: have,
		entries: make([]Entry, len(files)), buffers: make([][]byte, opts.Workers)}
	w.stats.Files = len(files)
	for i, f := range files {
		w.entries[i] = Entry{Path: f.Path, Size: f.Size, Mode: f.Mode, Version: f.Version}
		w.stats.Bytes += f.Size
	}
	w.meter = newMeter(opts.Progress, w.stats.Bytes)
	return w
}

// run fills in the entries and sends what the store does not have.
func (w *writer) run(ctx context.Context, previous Manifest) error {
	before := map[string]*Entry{}
	if previous.ChunkBytes == w.opts.ChunkBytes {
		for i := range previous.Files {
			before[previous.Files[i].Path] = &previous.Files[i]
		}
	}
	var sources []*source
	err := spread(ctx, w.opts.Workers, func(ctx context.Context, send func(cut) error) error {
		for i := range w.files {
			if w.unchanged(i, before[w.files[i].Path]) {
				continue
			}
			s := newSource(&w.files[i])
			sources = append(sources, s)
			if err := w.feed(ctx, i, s, send); err != nil {
				return err
			}
		}
		return nil
	}, w.keep)
	for _, s := range sources {
		err = errors.Join(err, s.close())
	}
	return err
}

// unchanged takes the pieces over from the snapshot before when the file is the
// same and the store still has them.
func (w *writer) unchanged(file int, before *Entry) bool {
	f := &w.files[file]
	if f.Version == "" || before == nil || before.Version != f.Version || before.Size != f.Size {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	shared := 0
	for _, sum := range before.Chunks {
		switch {
		case sum == "":
		case !w.have[sum]:
			return false
		default:
			shared++
		}
	}
	w.entries[file].Chunks = slices.Clone(before.Chunks)
	w.stats.FilesUnchanged++
	w.stats.ChunksShared += shared
	w.meter.add(f.Size)
	return true
}

// feed sends the pieces of a file that hold anything. A piece is sent before the
// next is looked at, so a file is open only while it is read.
func (w *writer) feed(ctx context.Context, file int, s *source, send func(cut) error) error {
	size := w.files[file].Size
	n := int(pieces(size, w.opts.ChunkBytes))
	w.entries[file].Chunks = make([]string, n)
	for i := range n {
		if err := w.lease.renew(ctx); err != nil {
			return err
		}
		length := pieceLen(size, w.opts.ChunkBytes, i)
		if !s.holds(int64(i)*int64(w.opts.ChunkBytes), length) {
			w.meter.add(int64(length))
			continue
		}
		if err := s.begin(); err != nil {
			return err
		}
		if err := send(cut{file, i, s}); err != nil {
			return err // the piece in work is closed with all others
		}
	}
	return s.end()
}

// keep reads a piece and sends it unless the store has it or it is all zeros.
func (w *writer) keep(ctx context.Context, worker int, c cut) error {
	if w.buffers[worker] == nil {
		w.buffers[worker] = make([]byte, w.opts.ChunkBytes)
	}
	length := pieceLen(w.files[c.file].Size, w.opts.ChunkBytes, c.index)
	piece := w.buffers[worker][:length]
	if err := c.source.read(piece, int64(c.index)*int64(w.opts.ChunkBytes)); err != nil {
		return err
	}
	if !zero(piece) {
		sum := digest(piece)
		w.entries[c.file].Chunks[c.index] = sum
		if w.claim(sum, length) {
			if err := w.o.Put(ctx, chunkName(sum), piece); err != nil {
				return fmt.Errorf("write %s to %s: %w", chunkName(sum), w.o, err)
			}
		}
	}
	w.meter.add(int64(length))
	return c.source.end()
}

// claim tells whether a piece must be sent, and counts it.
func (w *writer) claim(sum string, length int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.have[sum] {
		w.stats.ChunksShared++
		return false
	}
	w.have[sum] = true
	w.stats.ChunksNew++
	w.stats.BytesNew += int64(length)
	return true
}
