//go:build unix

package simd

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arenaBytes is the memory between the two guard pages of an arena.
const arenaBytes = 64 << 10

// arena is memory that a kernel cannot leave unnoticed: an inaccessible page follows
// it, and the bytes before what a test asked for hold a canary.
type arena struct{ mem []byte }

var canary = bytes.Repeat([]byte{0xa5}, 256)

func newArena(t testing.TB) *arena {
	page := unix.Getpagesize()
	all, err := unix.Mmap(-1, 0, arenaBytes+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[page+arenaBytes:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	a := &arena{mem: all[page : page+arenaBytes]}
	a.restore(arenaBytes)
	return a
}

// last returns the last n bytes before the guard page.
func (a *arena) last(n int) []byte { return a.mem[arenaBytes-n:] }

// restore reports whether the bytes before the last n still hold the canary, and
// writes it over the last n.
func (a *arena) restore(n int) (intact bool) {
	before := a.mem[max(0, arenaBytes-n-len(canary)) : arenaBytes-n]
	intact = bytes.HasSuffix(canary, before)
	for used := a.last(n); len(used) > 0; {
		used = used[copy(used, canary):]
	}
	return intact
}

// memory hands out guarded slices, each from an arena of its own.
type memory struct {
	t      testing.TB
	arenas []*arena
	used   []int // bytes handed out of each arena since the last check
}

// guarded returns a slice of n elements that ends at a guard page. Its start is as
// misaligned as n makes it.
func guarded[T any](m *memory, n int) []T {
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	if len(m.used) == len(m.arenas) {
		m.arenas = append(m.arenas, newArena(m.t))
	}
	a := m.arenas[len(m.used)]
	m.used = append(m.used, size)
	if n == 0 {
		return []T{}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&a.last(size)[0])), n)
}

// check fails the test when something before a slice was written, and takes the
// slices back.
func (m *memory) check(what string) {
	for i, size := range m.used {
		if !m.arenas[i].restore(size) {
			m.t.Errorf("%s: wrote before the start of its argument %d", what, i)
		}
	}
	m.used = m.used[:0]
}
