package rq

import "sync"

// Workspace is scratch memory for the methods of this package that take one. The
// zero value is ready; it grows to what is asked of it and is then reused without
// allocation. It is for one goroutine at a time and holds no results.
type Workspace struct {
	r, x   []float32 // residual, quantized residual
	u      []byte    // one code a dimension
	hi, lo []int32   // integer dot products of the rows with the query
}

// workspaces serves the methods that are too rare to take one of the caller's.
var workspaces = sync.Pool{New: func() any { return new(Workspace) }}

// grow returns s with length n, in new memory only when its capacity is too small.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// vectors sizes the buffers of an encoding to d dimensions.
func (ws *Workspace) vectors(d int) (r, x []float32, u []byte) {
	ws.r, ws.x, ws.u = grow(ws.r, d), grow(ws.x, d), grow(ws.u, d)
	return ws.r, ws.x, ws.u
}

// dots sizes the buffers of a scan to n rows.
func (ws *Workspace) dots(n int) (hi, lo []int32) {
	ws.hi, ws.lo = grow(ws.hi, n), grow(ws.lo, n)
	return ws.hi, ws.lo
}
