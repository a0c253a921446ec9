package iopath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// change carries out one change of names, unless Config.Ops refuses it.
func (e *Engine) change(op Op, do func() error) error {
	if _, err := e.cfg.Ops.Ask(op); err != nil {
		return &WriteError{op.Path, 0, err}
	}
	if err := do(); err != nil {
		return &WriteError{op.Path, 0, err}
	}
	return nil
}

// Remove removes a file or an empty directory. The error is a *WriteError.
func (e *Engine) Remove(path string) error {
	return e.change(Op{Kind: OpRemove, Path: path}, func() error { return os.Remove(path) })
}

// RemoveAll removes a file, or a directory with all that is in it, one by one
// from the leaves. A path that does not exist is no error. It stops at the first
// that cannot be removed, with a *WriteError.
func (e *Engine) RemoveAll(path string) error {
	var all []string
	err := filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err == nil {
			all = append(all, p)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &WriteError{path, 0, err}
	}
	for _, p := range slices.Backward(all) { // a walk names a directory before what is in it
		if err := e.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Rename gives a file or directory another name, in place of a file of that
// name. Neither name is durable before SyncDir. The error is a *WriteError.
func (e *Engine) Rename(from, to string) error {
	return e.change(Op{Kind: OpRename, Path: from, To: to}, func() error { return os.Rename(from, to) })
}

// MkdirAll makes a directory and those above it that are missing. One that
// exists is no error. Other errors are *WriteError.
func (e *Engine) MkdirAll(path string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil
	}
	if up := filepath.Dir(path); up != path {
		if err := e.MkdirAll(up); err != nil {
			return err
		}
	}
	err := e.change(Op{Kind: OpMkdir, Path: path}, func() error { return os.Mkdir(path, 0o755) })
	if st, serr := os.Stat(path); errors.Is(err, fs.ErrExist) && serr == nil && st.IsDir() {
		return nil // another was faster
	}
	return err
}

// SyncDir is the function of that name, seen by Config.Ops.
func (e *Engine) SyncDir(path string) error {
	if _, err := e.cfg.Ops.Ask(Op{Kind: OpSyncDir, Path: path}); err != nil {
		return &WriteError{path, 0, err}
	}
	return SyncDir(path)
}

// SyncDir makes the names in a directory durable: files created, renamed or
// removed there. Call it after Writer.Sync and before relying on the name.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return &WriteError{path, 0, err}
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return &WriteError{path, 0, err}
	}
	return nil
}
