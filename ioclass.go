package sprat

import "context"

// backgroundKey marks contexts whose reads are of the background class.
type backgroundKey struct{}

// inBackground makes the reads of a call those of the background class: they take
// a share of the volume that leaves the rest to queries.
func inBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// inForeground makes them those of a caller who waits: for the few reads that
// maintenance does while it holds a lock.
func inForeground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, false)
}

func isBackground(ctx context.Context) bool {
	b, _ := ctx.Value(backgroundKey{}).(bool)
	return b
}
