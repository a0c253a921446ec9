package catalog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/spratdb/sprat/iopath"
)

// newFS is the file system that Pebble is given: the system's own, whose changes
// ask cfg.Ops, and with a call of cfg.OnDiskFull before a write that met a full
// volume is tried again.
func newFS(cfg Config) vfs.FS {
	var fsys vfs.FS = &watched{vfs.Default, cfg.Ops}
	if cfg.OnDiskFull != nil {
		fsys = vfs.OnDiskFull(fsys, cfg.OnDiskFull)
	}
	return fsys
}

// watched is a file system that asks before each change and keeps no old logs.
// It is safe for concurrent use if ops is. A pointer, because Pebble compares
// file systems.
type watched struct {
	vfs.FS
	ops iopath.Ops // nil lets everything pass
}

// Unwrap returns the file system underneath.
func (w *watched) Unwrap() vfs.FS { return w.FS }

// do carries out a change unless it is refused.
func (w *watched) do(op iopath.Op, change func() error) error {
	if _, err := w.ops.Ask(op); err != nil {
		return err
	}
	return change()
}

// missing says that a name is free, when anybody wants to know.
func (w *watched) missing(name string) bool {
	if w.ops == nil {
		return false
	}
	_, err := w.FS.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// Create makes a new file in place of one of that name, whose other names keep
// the old content.
func (w *watched) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if w.ops != nil && !w.missing(name) {
		if err := w.Remove(name); err != nil {
			return nil, err
		}
	}
	if _, err := w.ops.Ask(iopath.Op{Kind: iopath.OpCreate, Path: name}); err != nil {
		return nil, err
	}
	f, err := w.FS.Create(name, category)
	return w.watch(f, name, iopath.OpSync), err
}

// ReuseForWrite makes a new file and removes the old one: a log written over
// another would keep the tail of it, with keys and metadata that have been
// deleted since, for as long as it is recycled.
func (w *watched) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	// Gone already when this is the second attempt, on a full volume.
	if err := w.Remove(oldname); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return w.Create(newname, category)
}

// Open opens a file for reading. It may be synced as well.
func (w *watched) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := w.FS.Open(name, opts...)
	return w.watch(f, name, iopath.OpSync), err
}

// OpenReadWrite opens a file, creating it when it is missing.
func (w *watched) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if w.missing(name) {
		if _, err := w.ops.Ask(iopath.Op{Kind: iopath.OpCreate, Path: name}); err != nil {
			return nil, err
		}
	}
	f, err := w.FS.OpenReadWrite(name, category, opts...)
	return w.watch(f, name, iopath.OpSync), err
}

// OpenDir opens a directory, to be synced.
func (w *watched) OpenDir(name string) (vfs.File, error) {
	f, err := w.FS.OpenDir(name)
	return w.watch(f, name, iopath.OpSyncDir), err
}

// Lock creates the file when it is missing.
func (w *watched) Lock(name string) (io.Closer, error) {
	if w.missing(name) {
		if _, err := w.ops.Ask(iopath.Op{Kind: iopath.OpCreate, Path: name}); err != nil {
			return nil, err
		}
	}
	return w.FS.Lock(name)
}

// Remove removes a file or an empty directory.
func (w *watched) Remove(name string) error {
	return w.do(iopath.Op{Kind: iopath.OpRemove, Path: name}, func() error { return w.FS.Remove(name) })
}

// RemoveAll removes a tree, from the leaves when somebody wants to know.
func (w *watched) RemoveAll(name string) error {
	if w.ops == nil {
		return w.FS.RemoveAll(name)
	}
	var all []string
	err := filepath.WalkDir(name, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, path := range slices.Backward(all) {
		if err == nil {
			err = w.Remove(path)
		}
	}
	return err
}

// Rename renames a file, in place of one of the new name.
func (w *watched) Rename(oldname, newname string) error {
	return w.do(iopath.Op{Kind: iopath.OpRename, Path: oldname, To: newname},
		func() error { return w.FS.Rename(oldname, newname) })
}

// Link gives a file a second name.
func (w *watched) Link(oldname, newname string) error {
	return w.do(iopath.Op{Kind: iopath.OpLink, Path: oldname, To: newname},
		func() error { return w.FS.Link(oldname, newname) })
}

// MkdirAll makes a directory and those above it that are missing.
func (w *watched) MkdirAll(dir string, perm os.FileMode) error {
	var missing []string
	for d := dir; w.missing(d) && filepath.Dir(d) != d; d = filepath.Dir(d) {
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		if err := w.do(iopath.Op{Kind: iopath.OpMkdir, Path: d}, func() error { return w.FS.MkdirAll(d, perm) }); err != nil {
			return err
		}
	}
	return w.FS.MkdirAll(dir, perm)
}

// watch wraps an open file, unless nobody wants to know.
func (w *watched) watch(f vfs.File, name string, sync iopath.OpKind) vfs.File {
	if w.ops == nil || f == nil {
		return f
	}
	return &watchedFile{File: f, w: w, name: name, sync: sync}
}

// watchedFile is a file or directory that asks before each change. Preallocate
// and Prefetch pass: they change neither bytes nor size. So does SyncTo, which
// makes nothing durable.
type watchedFile struct {
	vfs.File
	w    *watched
	name string
	sync iopath.OpKind // OpSync or OpSyncDir
	off  int64         // where Write goes; Pebble does not read in a file that it appends to
}

// Write appends.
func (f *watchedFile) Write(p []byte) (int, error) {
	n, err := f.write(p, f.off, f.File.Write)
	f.off += int64(n)
	return n, err
}

// WriteAt writes at an offset.
func (f *watchedFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write(p, off, func(p []byte) (int, error) { return f.File.WriteAt(p, off) })
}

// write writes as much of p as ops lets through.
func (f *watchedFile) write(p []byte, off int64, do func([]byte) (int, error)) (int, error) {
	n, refused := f.w.ops.Ask(iopath.Op{Kind: iopath.OpWrite, Path: f.name, Off: off, Data: p, N: int64(len(p))})
	if refused != nil && n == 0 {
		return 0, refused
	}
	n, err := do(p[:n])
	if err == nil {
		err = refused
	}
	return n, err
}

// Sync makes data and metadata durable.
func (f *watchedFile) Sync() error {
	return f.w.do(iopath.Op{Kind: f.sync, Path: f.name}, f.File.Sync)
}

// SyncData makes the data durable.
func (f *watchedFile) SyncData() error {
	return f.w.do(iopath.Op{Kind: f.sync, Path: f.name}, f.File.SyncData)
}

// SyncTo has the system start writing. That it may have done more, which it
// reports on some file systems, is not passed on, so that no caller leaves out a
// Sync that would be seen.
func (f *watchedFile) SyncTo(length int64) (fullSync bool, err error) {
	_, err = f.File.SyncTo(length)
	return false, err
}
