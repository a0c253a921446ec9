package archive

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// spread runs work on the items that feed sends, in as many goroutines as there
// are workers, until feed has returned and all is done or one of them fails. The
// first error is returned; the context of all is cancelled then. A worker's
// number is below workers and its calls do not overlap.
func spread[T any](ctx context.Context, workers int,
	feed func(ctx context.Context, send func(T) error) error,
	work func(ctx context.Context, worker int, item T) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	items := make(chan T)
	for worker := range workers {
		group.Go(func() error {
			for item := range items {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := work(ctx, worker, item); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(items)
		return feed(ctx, func(item T) error {
			select {
			case items <- item:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	return group.Wait()
}
