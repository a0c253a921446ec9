package archive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// Verify reads and checks every piece of a snapshot, the newest one for the id
// "", each once. All damage is reported: the error joins a *DamageError for each
// object. Other errors, ErrNoSnapshot among them, end it.
func Verify(ctx context.Context, o Objects, id string, opts Options) (Stats, error) {
	opts, err := opts.complete()
	if err != nil {
		return Stats{}, err
	}
	m, err := find(ctx, o, id)
	if err != nil {
		return Stats{}, err
	}
	type piece struct {
		sum  string
		size int
	}
	seen := map[piece]bool{}
	var total int64
	for i := range m.Files {
		for j, sum := range m.Files[i].Chunks {
			p := piece{sum, pieceLen(m.Files[i].Size, m.ChunkBytes, j)}
			if sum != "" && !seen[p] {
				seen[p] = true
				total += int64(p.size)
			}
		}
	}
	stats := Stats{Files: len(m.Files), Bytes: m.Bytes}
	progress := newMeter(opts.Progress, total)
	var mu sync.Mutex
	var faults []error
	err = spread(ctx, opts.Workers, func(_ context.Context, send func(piece) error) error {
		for p := range seen {
			if err := send(p); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context, _ int, p piece) error {
		_, err := fetch(ctx, o, p.sum, p.size)
		progress.add(int64(p.size))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.Is(err, ErrDamaged):
			faults = append(faults, err)
		case err != nil:
			return err
		default:
			stats.ChunksRead++
			stats.BytesRead += int64(p.size)
		}
		return nil
	})
	if err != nil {
		return Stats{}, err
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return stats, errors.Join(faults...)
}
