package sprat

import (
	"context"
	"math"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/posting"
)

// assign routes every live row: its nearest posting, then copies by the SOAR
// rule, as rows of the centroid set.
func (b *build) assign(ctx context.Context) (err error) {
	if b.placed, err = newPlacement(b.tmp, b.staged.rows, b.cfg.Copies); err != nil {
		return err
	}
	b.calibrator.prepare(b.space, b.staged.isLive)
	b.calibrator.slotOf = func(row uint64) uint32 { return b.placed.slotOf[row] }
	if b.set.Len() == 0 {
		return nil
	}
	return b.pass(ctx, "assign", func(w *worker, blk *block) error {
		return b.live(w, blk, func(_ int, row uint64) error {
			b.calibrator.observe(&w.observer, w.rotated, row)
			w.query.Reset(w.rotated)
			w.near = b.set.Nearest(w.near, &w.query, centroids.RouteCandidates, &w.route)
			w.chosen = b.set.Route(w.chosen[:0], w.rotated, w.near, b.cfg.Copies, centroids.RouteLambda, &w.route)
			routes := b.placed.routes(row)
			for i := range routes {
				routes[i] = noPosting
				if i < len(w.chosen) {
					routes[i] = uint32(w.chosen[i].Row)
				}
			}
			return nil
		})
	})
}

// noPosting fills the places of copies that do not exist.
const noPosting = math.MaxUint32

// centroidOf is the posting's own copy of its centroid.
func centroidOf(set *centroids.Set, row int32) posting.Centroid {
	code, scale, normSq := set.Code(row)
	return posting.Centroid{Code: code, Scale: scale, NormSq: normSq}
}
