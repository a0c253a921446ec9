package cow

import (
	"slices"
	"unsafe"
)

// chunkLen is the number of elements that a change copies at least.
const chunkLen = 32

type chunk[T any] [chunkLen]T

// Array is an immutable sequence. The zero value is empty. Elements that were
// never set are zero, or what the array's Default says.
type Array[T any] struct {
	chunks []*chunk[T] // nil where no element was ever set
	n      int
	preset func(i int) T // what elements below presets are until they are set
	// presets only falls: what is cut off comes back as zero.
	presets int
}

// Default returns an empty array of n elements, element i being preset(i) until
// it is set. preset must give the same answer each time.
func Default[T any](n int, preset func(i int) T) Array[T] {
	return Array[T]{chunks: make([]*chunk[T], (n+chunkLen-1)/chunkLen), n: n, preset: preset, presets: n}
}

// Len is the number of elements.
func (a *Array[T]) Len() int { return a.n }

// At returns element i; beyond the end it is the zero value.
func (a *Array[T]) At(i int) T {
	if uint(i) >= uint(a.n) {
		var zero T
		return zero
	}
	if c := a.chunks[i/chunkLen]; c != nil {
		return c[i%chunkLen]
	}
	return a.unset(i)
}

func (a *Array[T]) unset(i int) T {
	if i < a.presets {
		return a.preset(i)
	}
	var zero T
	return zero
}

// MemoryBytes is the memory of the chunks, those shared with other versions
// included.
func (a *Array[T]) MemoryBytes() int64 {
	total := int64(cap(a.chunks)) * int64(unsafe.Sizeof((*chunk[T])(nil)))
	for _, c := range a.chunks {
		if c != nil {
			total += int64(unsafe.Sizeof(*c))
		}
	}
	return total
}

// Edit starts a new version.
func (a *Array[T]) Edit() *Editor[T] {
	return &Editor[T]{base: *a, next: *a}
}

// Editor makes a new version of an array.
type Editor[T any] struct {
	base, next Array[T]
	own        bool // next.chunks is a copy of its own
}

// Len is the number of elements of the new version.
func (e *Editor[T]) Len() int { return e.next.n }

// At returns element i of the new version.
func (e *Editor[T]) At(i int) T { return e.next.At(i) }

// Ref returns element i of the new version to be changed in place, growing the
// array when i is beyond the end. The pointer is valid until Done.
func (e *Editor[T]) Ref(i int) *T {
	if i >= e.next.n {
		e.Resize(i + 1)
	}
	at := i / chunkLen
	c := e.next.chunks[at]
	if c == nil || at < len(e.base.chunks) && c == e.base.chunks[at] {
		c = e.clone(at)
	}
	return &c[i%chunkLen]
}

// clone gives the new version a chunk of its own.
func (e *Editor[T]) clone(at int) *chunk[T] {
	e.detach()
	c := new(chunk[T])
	if old := e.next.chunks[at]; old != nil {
		*c = *old
	} else {
		for i := range c {
			c[i] = e.next.unset(at*chunkLen + i)
		}
	}
	e.next.chunks[at] = c
	return c
}

func (e *Editor[T]) detach() {
	if !e.own {
		e.next.chunks, e.own = slices.Clone(e.next.chunks), true
	}
}

// Resize makes the new version n elements long. New elements are zero, and so
// is what stood beyond a shorter end.
func (e *Editor[T]) Resize(n int) {
	if n == e.next.n {
		return
	}
	e.detach()
	for i := n; i < min(e.next.n, (n+chunkLen-1)/chunkLen*chunkLen); i++ {
		var zero T
		*e.Ref(i) = zero
	}
	want := (n + chunkLen - 1) / chunkLen
	if want < len(e.next.chunks) {
		e.next.chunks = e.next.chunks[:want:want]
	}
	for len(e.next.chunks) < want {
		e.next.chunks = append(e.next.chunks, new(chunk[T]))
	}
	e.next.n, e.next.presets = n, min(e.next.presets, n)
}

// Done returns the new version. The editor must not be used again.
func (e *Editor[T]) Done() Array[T] { return e.next }
