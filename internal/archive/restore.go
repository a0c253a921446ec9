package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
)

// Restore writes the files of a snapshot, the newest one for the id "", into
// dir, which must be missing or an empty folder and no mount point. They are
// written into a temporary folder beside dir, checked, synced and put in place
// by a rename: on an error dir is not touched. A process that dies meanwhile
// leaves the temporary folder, .<name>.restore-*, to be removed by hand.
//
// Errors are a *DamageError, ErrNoSnapshot, ErrOccupied, ErrFormat, ErrInvalid,
// wrapped, or those of the store and of the volume.
func Restore(ctx context.Context, o Objects, id, dir string, opts Options) (stats Stats, err error) {
	opts, err = opts.complete()
	if err != nil {
		return Stats{}, err
	}
	target, mode, err := vacant(dir)
	if err != nil {
		return Stats{}, err
	}
	m, err := find(ctx, o, id)
	if err != nil {
		return Stats{}, err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return Stats{}, err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(target), "."+filepath.Base(target)+".restore-*")
	if err != nil {
		return Stats{}, err
	}
	defer func() {
		if err != nil {
			stats = Stats{}
			err = errors.Join(err, os.RemoveAll(temporary))
		}
	}()
	if stats, err = fill(ctx, o, &m, temporary, opts); err != nil {
		return stats, err
	}
	return stats, settle(ctx, temporary, target, mode)
}

// vacant returns the absolute path of a target and the mode that it shall have.
func vacant(dir string) (target string, mode fs.FileMode, err error) {
	if dir == "" {
		return "", 0, invalid("the path of the target is empty")
	}
	target, err = filepath.Abs(dir)
	if err != nil {
		return "", 0, err
	}
	if resolved, err := filepath.EvalSymlinks(target); err == nil {
		target = resolved
	}
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return target, 0o755, nil
	}
	if err != nil {
		return "", 0, err
	}
	if !info.IsDir() {
		return "", 0, fmt.Errorf("%w: %s is a file", ErrOccupied, target)
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return "", 0, err
	}
	if len(entries) > 0 {
		return "", 0, fmt.Errorf("%w: %s holds %s", ErrOccupied, target, entries[0].Name())
	}
	return target, info.Mode().Perm(), nil
}

// settle syncs the folders of what was written and moves it to the target.
func settle(ctx context.Context, temporary, target string, mode fs.FileMode) error {
	if err := os.Chmod(temporary, mode|0o700); err != nil {
		return err
	}
	err := filepath.WalkDir(temporary, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return errors.Join(ctx.Err(), syncFolder(p))
	})
	if err != nil {
		return err
	}
	// A rename does not replace a folder everywhere; an empty one is no loss, and
	// one that is not empty any more cannot be removed.
	if err := removeIfThere(target); err != nil {
		return err
	}
	if err := os.Rename(temporary, target); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(target))
}

// restoring is a file that is being written.
type restoring struct {
	entry *Entry
	file  *os.File
	left  atomic.Int64 // pieces to come, and 1 while they are fed
}

// gap is a piece of a file that must be fetched.
type gap struct {
	to    *restoring
	index int
}

// fill writes the files of a manifest below a folder.
func fill(ctx context.Context, o Objects, m *Manifest, folder string, opts Options) (Stats, error) {
	root, err := os.OpenRoot(folder) // a second guard against paths that lead out
	if err != nil {
		return Stats{}, err
	}
	var chunks, read atomic.Int64
	progress := newMeter(opts.Progress, m.Bytes)
	var all []*restoring
	err = spread(ctx, opts.Workers, func(_ context.Context, send func(gap) error) error {
		for i := range m.Files {
			f, err := newRestoring(root, &m.Files[i])
			if err != nil {
				return err
			}
			all = append(all, f)
			if err := f.feed(m.ChunkBytes, progress, send); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context, _ int, g gap) error {
		size := pieceLen(g.to.entry.Size, m.ChunkBytes, g.index)
		data, err := fetch(ctx, o, g.to.entry.Chunks[g.index], size)
		if err != nil {
			return fmt.Errorf("file %q: %w", g.to.entry.Path, err)
		}
		if _, err := g.to.file.WriteAt(data, int64(g.index)*int64(m.ChunkBytes)); err != nil {
			return err
		}
		chunks.Add(1)
		read.Add(int64(size))
		progress.add(int64(size))
		return g.to.end()
	})
	for _, f := range all {
		if f.left.Load() > 0 { // given up
			err = errors.Join(err, f.file.Close())
		}
	}
	return Stats{Files: len(m.Files), Bytes: m.Bytes, ChunksRead: int(chunks.Load()), BytesRead: read.Load()},
		errors.Join(err, root.Close())
}

// newRestoring creates a file of its full size, all zeros.
func newRestoring(root *os.Root, entry *Entry) (*restoring, error) {
	name := filepath.FromSlash(entry.Path)
	if above := path.Dir(entry.Path); above != "." {
		if err := root.MkdirAll(filepath.FromSlash(above), 0o755); err != nil {
			return nil, err
		}
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(entry.Size); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f := &restoring{entry: entry, file: file}
	f.left.Store(1)
	return f, nil
}

// feed sends the pieces that are not zeros.
func (f *restoring) feed(chunkBytes int, progress *meter, send func(gap) error) error {
	for i, sum := range f.entry.Chunks {
		if sum == "" {
			progress.add(int64(pieceLen(f.entry.Size, chunkBytes, i)))
			continue
		}
		f.left.Add(1)
		if err := send(gap{f, i}); err != nil {
			return err
		}
	}
	return f.end()
}

// end notes that a piece is written, or that no more will come. The last one
// makes the file durable.
func (f *restoring) end() error {
	if f.left.Add(-1) > 0 {
		return nil
	}
	err := f.file.Chmod(f.entry.Mode)
	if err == nil {
		err = f.file.Sync()
	}
	return errors.Join(err, f.file.Close())
}
