package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// incoming is the folder of files that are being written. Objects cannot have
// its name.
const incoming = "incoming"

// directory is a store in a local folder, one file an object. Files are synced
// when they are written, folders in Sync.
type directory struct {
	root string

	mu sync.Mutex
	// all is true until the first Sync: another process may have changed any
	// folder and died before it could sync it.
	all   bool
	dirty map[string]bool // folders, relative, changed since the last Sync
}

// Dir returns a store in the folder at path, which is created when it is
// missing. It is a [Syncer], a [Creator] and a [Cleaner]. The folder should hold
// nothing else, and should be on another volume than what the snapshots are of.
func Dir(path string) (Objects, error) {
	if path == "" {
		return nil, invalid("the path of the snapshot folder is empty")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(root, incoming), 0o755); err != nil {
		return nil, err
	}
	return &directory{root: root, all: true, dirty: map[string]bool{}}, nil
}

func (d *directory) String() string { return d.root }

// path returns the file of an object, or an error for a name that could lead
// out of the folder or into the files that are being written.
func (d *directory) path(name string) (string, error) {
	if !validName(name) || name == incoming || strings.HasPrefix(name, incoming+"/") {
		return "", invalid("%q is no name of an object", name)
	}
	return filepath.Join(d.root, filepath.FromSlash(name)), nil
}

// Put writes the object beside its place and renames it.
func (d *directory) Put(ctx context.Context, name string, data []byte) error {
	return d.place(ctx, name, data, os.Rename)
}

// Create is Put by a link, which fails when the name exists. A file system
// without links gets a look and a rename.
func (d *directory) Create(ctx context.Context, name string, data []byte) error {
	return d.place(ctx, name, data, func(from, to string) error {
		return linkOrRename(from, to, os.Link)
	})
}

func linkOrRename(from, to string, link func(from, to string) error) error {
	err := link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	// Only the holder of the lease cleans up, so a file of ours that is gone
	// says the same as a name that is taken.
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fs.ErrExist, err)
		}
		return os.Rename(from, to)
	}
	return err
}

// place writes a synced file and moves it to the place of the object.
func (d *directory) place(ctx context.Context, name string, data []byte, move func(from, to string) error) error {
	to, err := d.path(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	from, err := d.writeSynced(data)
	if err != nil {
		return err
	}
	err = os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = move(from, to)
	}
	if err != nil {
		return errors.Join(err, removeIfThere(from))
	}
	d.touch(name)
	return nil
}

func (d *directory) writeSynced(data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Join(d.root, incoming), "put-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, removeIfThere(f.Name()))
	}
	return f.Name(), nil
}

// touch notes the folders of an object, up to the root, as changed.
func (d *directory) touch(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name != "." {
		name = path.Dir(name)
		d.dirty[name] = true
	}
}

// Sync syncs every folder that changed; the first time, every folder there is.
func (d *directory) Sync(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all {
		err := filepath.WalkDir(d.root, func(p string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			return errors.Join(ctx.Err(), syncFolder(p))
		})
		if err == nil {
			err = syncFolder(filepath.Dir(d.root))
		}
		if err != nil {
			return err
		}
		d.all = false
		clear(d.dirty)
		return nil
	}
	for name := range d.dirty {
		if err := errors.Join(ctx.Err(), syncFolder(filepath.Join(d.root, filepath.FromSlash(name)))); err != nil {
			return err
		}
		delete(d.dirty, name)
	}
	return nil
}

// Get reads an object.
func (d *directory) Get(ctx context.Context, name string) ([]byte, error) {
	file, err := d.path(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// Has looks for an object.
func (d *directory) Has(ctx context.Context, name string) (bool, error) {
	file, err := d.path(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return false, err
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

// List walks the folder that the prefix names, or the one above it.
func (d *directory) List(ctx context.Context, prefix string) ([]string, error) {
	top := "."
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		top = prefix[:i]
	}
	if top != "." && !validName(top) {
		return nil, invalid("%q is no prefix of a name of an object", prefix)
	}
	var names []string
	err := fs.WalkDir(os.DirFS(d.root), top, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed while we walk, or no such prefix
		case err != nil:
			return err
		case name == incoming:
			return fs.SkipDir
		case entry.Type().IsRegular() && strings.HasPrefix(name, prefix):
			names = append(names, name)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.root, err)
	}
	slices.Sort(names) // a walk puts "a/b" before "a.b"
	return names, nil
}

// Delete removes the file of an object.
func (d *directory) Delete(ctx context.Context, name string) error {
	file, err := d.path(name)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = removeIfThere(file)
	}
	if err != nil {
		return err
	}
	d.touch(name)
	return nil
}

// Clean removes files that a writer had no time to rename.
func (d *directory) Clean(ctx context.Context) error {
	folder := filepath.Join(d.root, incoming)
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "put-") {
			err = errors.Join(err, ctx.Err(), removeIfThere(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}

func removeIfThere(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes the names in a folder durable. One that is gone needs none.
func syncFolder(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
