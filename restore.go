package sprat

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spratdb/sprat/internal/archive"
)

// SnapshotDir returns the target in a folder, which is created when it is
// missing. It should be on another volume than the store, and hold nothing else.
// Errors: ErrInvalid for a path in a store, and those of the file system.
func SnapshotDir(path string) (SnapshotTarget, error) {
	if path == "" {
		return nil, invalid("target", "a folder", "an empty path")
	}
	if err := outsideStores(path); err != nil {
		return nil, err
	}
	return archive.Dir(path)
}

// Restore makes the store of a snapshot, the newest one for the id "", in dir,
// which must be missing or an empty folder, and no mount point. It appears
// complete and synced, or not at all; every byte is checked before. Errors:
// ErrInvalid, ErrNotFound, ErrExists when dir holds anything, ErrCorrupt, ErrFormat,
// the context's, and those of the target and the volume. A process that dies
// meanwhile leaves a folder .<name>.restore-* beside dir.
func Restore(ctx context.Context, from SnapshotTarget, id, dir string, opts SnapshotOptions) (SnapshotStats, error) {
	start := time.Now()
	if dir == "" {
		return SnapshotStats{}, invalid("dir", "a folder", "an empty path")
	}
	if err := outsideStores(filepath.Dir(filepath.Clean(dir))); err != nil {
		return SnapshotStats{}, err
	}
	return readSnapshot(ctx, from, id, opts, start, func(id string, o archive.Options) (archive.Stats, error) {
		if in, err := inside(dir, from.String()); err != nil {
			return archive.Stats{}, err
		} else if in {
			return archive.Stats{}, invalid("dir", "a folder outside of the snapshots", "%s", dir)
		}
		return archive.Restore(ctx, from, id, dir, o)
	})
}

// VerifySnapshot reads and checks every byte of a snapshot, the newest one for the
// id "". Errors: ErrCorrupt, whose text names every object that is damaged,
// ErrInvalid, ErrNotFound, ErrFormat, the context's, and those of the target.
func VerifySnapshot(ctx context.Context, in SnapshotTarget, id string, opts SnapshotOptions) (SnapshotStats, error) {
	return readSnapshot(ctx, in, id, opts, time.Now(), func(id string, o archive.Options) (archive.Stats, error) {
		return archive.Verify(ctx, in, id, o)
	})
}

// readSnapshot runs f on a snapshot, the newest one for the id "".
func readSnapshot(ctx context.Context, t SnapshotTarget, id string, opts SnapshotOptions, start time.Time,
	f func(id string, o archive.Options) (archive.Stats, error)) (st SnapshotStats, err error) {
	if err := checkTarget(t, &opts); err != nil {
		return st, err
	}
	if st.ID = id; id == "" {
		if st.ID, err = archive.Newest(ctx, t); err != nil {
			return SnapshotStats{}, snapshotError(t, err)
		}
	}
	did, err := f(st.ID, opts.archive())
	if err != nil {
		return SnapshotStats{}, snapshotError(t, err)
	}
	st.add(did, start)
	return st, nil
}

func checkTarget(t SnapshotTarget, opts *SnapshotOptions) error {
	if t == nil {
		return invalid("target", "a snapshot target", "nil")
	}
	return opts.validate()
}

// SnapshotInfo is a snapshot in a list.
type SnapshotInfo struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"` // UTC
	Label   string    `json:"label,omitempty"`
	Indexes int       `json:"indexes"`
	Vectors uint64    `json:"vectors"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"` // of all files, unused space in them included
	// Err says why it cannot be used, ErrCorrupt or ErrFormat; what it holds is
	// unknown then.
	Err error `json:"-"`
}

// ListSnapshots returns the snapshots of a target, the newest last. Errors:
// ErrInvalid, the context's, and those of the target.
func ListSnapshots(ctx context.Context, in SnapshotTarget) ([]SnapshotInfo, error) {
	if err := checkTarget(in, &SnapshotOptions{}); err != nil {
		return nil, err
	}
	all, err := archive.List(ctx, in)
	if err != nil {
		return nil, snapshotError(in, err)
	}
	out := make([]SnapshotInfo, len(all))
	for i, x := range all {
		out[i] = SnapshotInfo{ID: x.ID, Created: x.Created, Label: x.Label, Files: x.Files, Bytes: x.Bytes, Err: snapshotError(in, x.Err)}
		// For people only: a text that is no number is as good as none.
		out[i].Indexes, _ = strconv.Atoi(x.Meta[metaIndexes])
		out[i].Vectors, _ = strconv.ParseUint(x.Meta[metaVectors], 10, 64)
	}
	return out, nil
}

// PruneSnapshots removes all but the newest keep snapshots, 1 or more, and what
// only they needed. It removes nothing when the list of any snapshot is damaged.
// Errors: ErrInvalid, ErrInUse when a snapshot is being written, ErrCorrupt,
// ErrFormat, the context's, and those of the target; what was cut short is
// completed by the next call.
func PruneSnapshots(ctx context.Context, in SnapshotTarget, keep int, opts SnapshotOptions) (SnapshotStats, error) {
	start := time.Now()
	if err := checkTarget(in, &opts); err != nil {
		return SnapshotStats{}, err
	}
	if keep < 1 {
		return SnapshotStats{}, invalid("keep", "at least 1", "%d", keep)
	}
	did, err := archive.Prune(ctx, in, keep, opts.archive())
	if err != nil {
		return SnapshotStats{}, snapshotError(in, err)
	}
	var st SnapshotStats
	st.add(did, start)
	return st, nil
}

// UnlockSnapshots takes the lock from a target whose writer is known to be gone; by
// itself it lapses after an hour. A writer that is still there notices and gives
// up.
func UnlockSnapshots(ctx context.Context, in SnapshotTarget) error {
	if err := checkTarget(in, &SnapshotOptions{}); err != nil {
		return err
	}
	return snapshotError(in, archive.Unlock(ctx, in))
}

// kindError is an error of a snapshot target with what callers branch on.
type kindError struct{ kind, err error }

// Error is the text of the target's error.
func (e *kindError) Error() string { return e.err.Error() }

// Unwrap makes errors.Is true for the kind and for the cause.
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// snapshotError turns an error of the archive into one that callers of this
// package can test.
func snapshotError(t SnapshotTarget, err error) error {
	for from, kind := range map[error]error{
		archive.ErrBusy: ErrInUse, archive.ErrNoSnapshot: ErrNotFound, archive.ErrOccupied: ErrExists,
		archive.ErrFormat: ErrFormat, archive.ErrInvalid: ErrInvalid,
	} {
		if errors.Is(err, from) {
			return &kindError{kind, err}
		}
	}
	var d *archive.DamageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &d):
		return &CorruptionError{Path: t.String() + "/" + d.Object, Err: err}
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return &VolumeFullError{Path: t.String(), Err: err}
	}
	return publicError(err)
}

// outsideStores refuses a path in a store: a folder with the marker of one, or
// anything below.
func outsideStores(path string) error {
	at, err := resolved(path)
	if err != nil {
		return err
	}
	for ; ; at = filepath.Dir(at) {
		if b, err := os.ReadFile(filepath.Join(at, storeFile)); err == nil && strings.HasPrefix(string(b), storeMark) {
			return invalid("folder", "one outside of stores", "%s in the store %s", path, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// inside says whether a path lies in dir or is dir, symbolic links resolved. What
// is no absolute path, such as a URL, does not.
func inside(name, dir string) (bool, error) {
	if !filepath.IsAbs(name) {
		return false, nil
	}
	name, err := resolved(name)
	if err != nil {
		return false, err
	}
	if dir, err = resolved(dir); err != nil {
		return false, err
	}
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel), nil
}

// resolved is the absolute path of a name, of which the last parts may be
// missing, without symbolic links.
func resolved(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	for rest := ""; ; rest, name = filepath.Join(filepath.Base(name), rest), filepath.Dir(name) {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || name == filepath.Dir(name) {
			return "", err
		}
	}
}
