package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Summary is a snapshot in a list.
type Summary struct {
	ID      string
	Created time.Time // UTC, to the millisecond; zero when the id is no id
	Label   string
	Meta    map[string]string
	Files   int
	Bytes   int64 // of all files
	// Err says why the manifest cannot be used: a *DamageError or ErrFormat,
	// wrapped. What the manifest holds is unknown then.
	Err error
}

// List returns the snapshots of a store, newest last. A manifest that cannot be
// used is listed with its Err.
func List(ctx context.Context, o Objects) ([]Summary, error) {
	ids, err := snapshotIDs(ctx, o)
	if err != nil {
		return nil, err
	}
	list := make([]Summary, 0, len(ids))
	for _, id := range ids {
		m, err := load(ctx, o, id)
		if err != nil && !unusable(err) {
			return nil, err
		}
		list = append(list, Summary{ID: id, Created: idCreated(id), Label: m.Label, Meta: m.Meta,
			Files: len(m.Files), Bytes: m.Bytes, Err: err})
	}
	return list, nil
}

// snapshotIDs returns the ids of all manifests, oldest first. An object among
// them that is no manifest counts as one, which cannot be loaded: nothing that
// might name pieces is overlooked.
func snapshotIDs(ctx context.Context, o Objects) ([]string, error) {
	names, err := o.List(ctx, snapshotPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of %s: %w", o, err)
	}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = manifestID(name)
	}
	return ids, nil
}

// unusable tells whether an error is about one manifest and not about the store.
func unusable(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrFormat) }

// load reads and checks the manifest of a listed snapshot.
func load(ctx context.Context, o Objects, id string) (Manifest, error) {
	name := manifestName(id)
	if _, ok := parseID(id); !ok {
		return Manifest{}, damaged(name, "is not named like a manifest")
	}
	data, err := o.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, damaged(name, "is missing")
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("read %s from %s: %w", name, o, err)
	}
	return decode(id, data)
}

// Newest returns the id of the newest snapshot, which may be damaged. The error is
// ErrNoSnapshot, wrapped, or the store's.
func Newest(ctx context.Context, o Objects) (string, error) {
	ids, err := snapshotIDs(ctx, o)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("%w: %s holds none", ErrNoSnapshot, o)
	}
	return ids[len(ids)-1], nil
}

// find loads the snapshot with an id, the newest one for "".
func find(ctx context.Context, o Objects, id string) (Manifest, error) {
	if id == "" {
		id, err := Newest(ctx, o)
		if err != nil {
			return Manifest{}, err
		}
		return load(ctx, o, id)
	}
	if _, ok := parseID(id); !ok {
		return Manifest{}, fmt.Errorf("%w: %q is no id of a snapshot", ErrNoSnapshot, id)
	}
	has, err := o.Has(ctx, manifestName(id))
	if err != nil {
		return Manifest{}, fmt.Errorf("look for snapshot %s in %s: %w", id, o, err)
	}
	if !has {
		return Manifest{}, fmt.Errorf("%w: %s is not in %s", ErrNoSnapshot, id, o)
	}
	return load(ctx, o, id)
}

// newest returns the newest manifest that can be used, an empty one when there
// is none, and the newest id that is one.
func newest(ctx context.Context, o Objects) (m Manifest, last string, err error) {
	ids, err := snapshotIDs(ctx, o)
	if err != nil {
		return m, "", err
	}
	for i := len(ids) - 1; i >= 0; i-- {
		if _, ok := parseID(ids[i]); !ok {
			continue
		}
		last = max(last, ids[i])
		m, err = load(ctx, o, ids[i])
		if err == nil || !unusable(err) {
			return m, last, err
		}
	}
	return Manifest{}, last, nil
}

// listChunks returns the digests of the pieces in the store.
func listChunks(ctx context.Context, o Objects) (map[string]bool, error) {
	names, err := o.List(ctx, chunkPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the pieces in %s: %w", o, err)
	}
	have := make(map[string]bool, len(names))
	for _, name := range names {
		sum := name[strings.LastIndexByte(name, '/')+1:]
		if isDigest(sum) && name == chunkName(sum) {
			have[sum] = true
		}
	}
	return have, nil
}

// fetch reads a piece of size bytes and checks it.
func fetch(ctx context.Context, o Objects, sum string, size int) ([]byte, error) {
	name := chunkName(sum)
	data, err := o.Get(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, damaged(name, "is missing")
	case err != nil:
		return nil, fmt.Errorf("read %s from %s: %w", name, o, err)
	case len(data) != size:
		return nil, damaged(name, "has %d bytes, want %d", len(data), size)
	case digest(data) != sum:
		return nil, damaged(name, "does not match its name")
	}
	return data, nil
}
