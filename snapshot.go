package sprat

import (
	"context"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spratdb/sprat/internal/archive"
)

// SnapshotTarget is where snapshots are kept: a folder (SnapshotDir) or a part of
// an object store (package s3snapshot). One target is for the snapshots of one
// store, and is safe for concurrent use.
type SnapshotTarget = archive.Objects

// SnapshotOptions say how snapshots are written, read and pruned. The zero value
// means every default.
type SnapshotOptions struct {
	// Label is kept with a snapshot: any text in UTF-8. Of Snapshot only.
	Label string
	// Workers is how many pieces of 4 MiB are in work at once, 1 to 256, and so
	// bounds what the volume and the target have to do. Each takes up to 8 MiB of
	// memory, besides the store's limit. Default 4.
	Workers int
	// Progress, when set, is told how much of the total is done: bytes, or
	// objects when pruning. It is called from one goroutine at a time.
	Progress func(done, total int64)
}

// SnapshotStats say what was done with a snapshot. What an operation does not do
// is 0. Pieces of zeros, such as unused space, cost nothing and do not count.
type SnapshotStats struct {
	ID      string        `json:"id,omitempty"`
	Indexes int           `json:"indexes"`          // Snapshot
	Vectors uint64        `json:"vectors"`          // Snapshot: of indexes that could be opened
	Broken  []string      `json:"broken,omitempty"` // Snapshot: indexes that are kept damaged as they are
	Elapsed time.Duration `json:"elapsed_ns"`

	Files          int   `json:"files"`
	FilesUnchanged int   `json:"files_unchanged"` // Snapshot: not even read
	Bytes          int64 `json:"bytes"`           // of all files
	ChunksNew      int   `json:"chunks_new"`      // Snapshot: pieces sent to the target
	ChunksShared   int   `json:"chunks_shared"`   // Snapshot: pieces that the target had
	BytesNew       int64 `json:"bytes_new"`       // Snapshot: of the pieces sent
	ChunksRead     int   `json:"chunks_read"`     // Restore, VerifySnapshot: pieces fetched and checked
	BytesRead      int64 `json:"bytes_read"`      // Restore, VerifySnapshot: their bytes

	SnapshotsRemoved int `json:"snapshots_removed"` // PruneSnapshots
	ChunksRemoved    int `json:"chunks_removed"`    // PruneSnapshots
}

// Snapshot keeps all indexes, as one moment had them, in the target, while the
// store goes on serving: what was acknowledged before the call is in it, a group
// of records put by one call is in it or not. Commits wait for the moment itself,
// which takes a few syncs; the rest only takes reads of the volume. What
// the target has of earlier snapshots is not sent again, and files that have not
// changed are not read.
//
// While it works, space that writers free is not used again, so a store that
// changes much grows meanwhile; maintenance gives the space back afterwards. Damage
// is not looked for: Verify does that.
//
// The target must not lie in the store's own directory. Errors: ErrInvalid,
// ErrInUse when another snapshot is being written to the target, ErrClosed, the
// context's, and those of the volume and the target; there is no new snapshot
// then, and what was sent is made use of by the next.
func (s *Store) Snapshot(ctx context.Context, to SnapshotTarget, opts SnapshotOptions) (SnapshotStats, error) {
	start := time.Now()
	if err := s.checkSnapshot(to, &opts); err != nil {
		return SnapshotStats{}, err
	}
	ctx, done, err := s.work(ctx)
	if err != nil {
		return SnapshotStats{}, err
	}
	defer done()
	m := &moment{store: s, ctx: ctx}
	defer func() { s.warn("remove what a snapshot was made from", m.release()) }()
	if err := m.capture(); err != nil {
		return SnapshotStats{}, publicError(err)
	}
	stats := m.stats()
	files, err := m.files()
	if err != nil {
		return SnapshotStats{}, publicError(err)
	}
	o := opts.archive()
	o.Label, o.Meta = opts.Label, map[string]string{
		metaIndexes: strconv.Itoa(stats.Indexes), metaVectors: strconv.FormatUint(stats.Vectors, 10)}
	manifest, did, err := archive.Write(ctx, to, files, o)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ErrClosed) {
			err = cause
		}
		return SnapshotStats{}, snapshotError(to, err)
	}
	stats.ID = manifest.ID
	stats.add(did, start)
	return stats, nil
}

// Names of what a snapshot keeps beside its files, for lists.
const (
	metaIndexes = "indexes"
	metaVectors = "vectors"
)

func (s *Store) checkSnapshot(to SnapshotTarget, opts *SnapshotOptions) error {
	if err := checkTarget(to, opts); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return invalid("store", "a store opened for writing", "a read-only one")
	}
	if in, err := inside(to.String(), s.dir); err != nil {
		return err
	} else if in {
		return invalid("target", "a folder outside of the store", "%s", to)
	}
	return nil
}

func (o *SnapshotOptions) validate() error {
	switch {
	case !utf8.ValidString(o.Label):
		return invalid("label", "UTF-8", "%q", o.Label)
	case o.Workers < 0 || o.Workers > maxSnapshotWorkers:
		return invalid("workers", "1 to 256", "%d", o.Workers)
	}
	return nil
}

const maxSnapshotWorkers = 256

func (o *SnapshotOptions) archive() archive.Options {
	return archive.Options{Workers: o.Workers, Progress: o.Progress}
}

// add takes in what the archive counted.
func (s *SnapshotStats) add(a archive.Stats, start time.Time) {
	s.Files, s.FilesUnchanged, s.Bytes = a.Files, a.FilesUnchanged, a.Bytes
	s.ChunksNew, s.ChunksShared, s.BytesNew = a.ChunksNew, a.ChunksShared, a.BytesNew
	s.ChunksRead, s.BytesRead = a.ChunksRead, a.BytesRead
	s.SnapshotsRemoved, s.ChunksRemoved = a.SnapshotsRemoved, a.ChunksRemoved
	s.Elapsed = time.Since(start)
}

// work enters long work that outlives the lock on life: Close cancels its
// context, with ErrClosed as the cause, and waits until done is called.
func (s *Store) work(ctx context.Context) (_ context.Context, done func(), err error) {
	leave, err := s.enter()
	if err != nil {
		return nil, nil, err
	}
	s.builds.Add(1)
	leave()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ending, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.builds.Done()
	}, nil
}
