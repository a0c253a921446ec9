package archive

import (
	"context"
	"fmt"
)

// Prune removes all but the newest keep snapshots, 1 or more, and then every
// piece that no snapshot names, those of failed attempts too. It removes nothing
// when any manifest cannot be used, since it could not know what that one names:
// the error is a *DamageError or ErrFormat then. Other errors are a *BusyError,
// ErrInvalid, wrapped, and those of the store; a Prune that they cut short is
// completed by the next.
func Prune(ctx context.Context, o Objects, keep int, opts Options) (Stats, error) {
	opts, err := opts.complete()
	if err != nil {
		return Stats{}, err
	}
	if keep < 1 {
		return Stats{}, invalid("keep %d snapshots, want 1 or more", keep)
	}
	l, err := acquire(ctx, o, opts.Now)
	if err != nil {
		return Stats{}, err
	}
	defer l.release(ctx)
	if err := cleanObjects(ctx, o); err != nil {
		return Stats{}, err
	}
	ids, err := snapshotIDs(ctx, o)
	if err != nil {
		return Stats{}, err
	}
	first := max(0, len(ids)-keep) // of those that stay
	stats, unnamed, err := garbage(ctx, o, ids, first)
	if err != nil {
		return Stats{}, err
	}
	progress := newMeter(opts.Progress, int64(first+len(unnamed)))
	for _, id := range ids[:first] {
		if err := l.remove(ctx, manifestName(id)); err != nil {
			return stats, err
		}
		stats.SnapshotsRemoved++
		progress.add(1)
	}
	// A manifest must not come back after a crash without its pieces.
	if err := syncObjects(ctx, o); err != nil {
		return stats, err
	}
	if err := removeChunks(ctx, l, unnamed, opts.Workers, progress); err != nil {
		return stats, err
	}
	stats.ChunksRemoved = len(unnamed)
	return stats, syncObjects(ctx, o)
}

// garbage returns the pieces that no snapshot from ids[first] on names, and what
// the snapshots that stay hold. It reads the manifests of those that go, too: one
// that is damaged may stand for an id that is wrong.
func garbage(ctx context.Context, o Objects, ids []string, first int) (stats Stats, unnamed []string, err error) {
	have, err := listChunks(ctx, o)
	if err != nil {
		return stats, nil, err
	}
	for i, id := range ids {
		m, err := load(ctx, o, id)
		if err != nil {
			return stats, nil, fmt.Errorf("nothing is pruned: %w", err)
		}
		if i < first {
			continue
		}
		stats.Files += len(m.Files)
		stats.Bytes += m.Bytes
		for j := range m.Files {
			for _, sum := range m.Files[j].Chunks {
				delete(have, sum)
			}
		}
	}
	for sum := range have {
		unnamed = append(unnamed, sum)
	}
	return stats, unnamed, nil
}

// remove deletes an object while the lease is held.
func (l *lease) remove(ctx context.Context, name string) error {
	if err := l.confirm(ctx); err != nil {
		return err
	}
	if err := l.o.Delete(ctx, name); err != nil {
		return fmt.Errorf("remove %s from %s: %w", name, l.o, err)
	}
	return nil
}

// removeChunks deletes pieces. The lease is confirmed once and renewed like that
// of a Write, not asked for each of what may be very many.
func removeChunks(ctx context.Context, l *lease, sums []string, workers int, progress *meter) error {
	if err := l.confirm(ctx); err != nil {
		return err
	}
	return spread(ctx, workers, func(ctx context.Context, send func(string) error) error {
		for _, sum := range sums {
			if err := l.renew(ctx); err != nil {
				return err
			}
			if err := send(chunkName(sum)); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context, _ int, name string) error {
		if err := l.o.Delete(ctx, name); err != nil {
			return fmt.Errorf("remove %s from %s: %w", name, l.o, err)
		}
		progress.add(1)
		return nil
	})
}
