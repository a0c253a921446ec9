package iopath

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// TestPool drives the pool against a model: what is handed out is aligned, does
// not overlap, keeps its bytes, and the accounts agree.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.Int64Range(chunkBytes, 3*chunkBytes).Draw(t, "keep")
		p := newPool(keep)
		type loan struct {
			buffer
			mark byte
		}
		var loans []loan
		var inUse, most int64
		check := func(t *rapid.T) {
			var s Stats
			p.report(&s)
			if s.BufferInUse != inUse || s.BufferMax != most {
				t.Fatalf("in use %d and at most %d, want %d and %d", s.BufferInUse, s.BufferMax, inUse, most)
			}
			if s.BufferPooled > keep || s.BufferMapped < inUse+s.BufferPooled {
				t.Fatalf("pooled %d (bound %d), mapped %d, in use %d", s.BufferPooled, keep, s.BufferMapped, inUse)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"get": func(t *rapid.T) {
				n := rapid.OneOf(rapid.IntRange(1, 70_000), rapid.IntRange(1, 3_000_000)).Draw(t, "n")
				b, err := p.get(n)
				if err != nil {
					t.Fatal(err)
				}
				if len(b.data) < n || len(b.data) >= n+pageBytes || uintptr(unsafe.Pointer(&b.data[0]))%pageBytes != 0 {
					t.Fatalf("%d bytes at %p for %d", len(b.data), &b.data[0], n)
				}
				l := loan{b, rapid.Byte().Draw(t, "mark")}
				fill(l.data, l.mark)
				loans = append(loans, l)
				inUse += int64(len(b.data))
				most = max(most, inUse)
			},
			"put": func(t *rapid.T) {
				if len(loans) == 0 {
					t.Skip("nothing to put")
				}
				i := rapid.IntRange(0, len(loans)-1).Draw(t, "which")
				l := loans[i]
				loans = append(loans[:i], loans[i+1:]...)
				for j, v := range l.data {
					if v != l.mark {
						t.Fatalf("byte %d of a buffer in use became %d", j, v)
					}
				}
				inUse -= int64(len(l.data))
				p.put(&l.buffer)
				if l.chunk != nil || l.data != nil {
					t.Fatal("put leaves the buffer usable")
				}
			},
			"": check,
		})
		p.close()
		for _, l := range loans {
			p.put(&l.buffer)
		}
		var s Stats
		if p.report(&s); s.BufferMapped != 0 || s.BufferInUse != 0 || s.BufferPooled != 0 {
			t.Fatalf("after close: %+v", s)
		}
	})
}

// TestPoolGathersLoad checks that one buffer in use keeps no more than its own
// chunk from being unmapped.
func TestPoolGathersLoad(t *testing.T) {
	p := newPool(chunkBytes)
	defer p.close()
	var loans []buffer
	for range 32 { // four chunks
		b, err := p.get(chunkBytes / 8)
		if err != nil {
			t.Fatal(err)
		}
		loans = append(loans, b)
	}
	for i := range loans {
		if i != 20 {
			p.put(&loans[i])
		}
	}
	var s Stats
	if p.report(&s); s.BufferMapped != 2*chunkBytes || s.BufferPooled != chunkBytes {
		t.Errorf("mapped %d, pooled %d with one buffer in use", s.BufferMapped, s.BufferPooled)
	}
	again, err := p.get(chunkBytes)
	if err != nil {
		t.Fatal(err)
	}
	if p.report(&s); s.BufferMapped != 2*chunkBytes || s.BufferPooled != 0 {
		t.Errorf("mapped %d, pooled %d: the idle chunk was passed over", s.BufferMapped, s.BufferPooled)
	}
	p.put(&again)
	p.put(&loans[20])
}

// TestChunkFind compares the search in words with one page by page.
func TestChunkFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chunk{taken: make([]uint64, 4)}
		free := make([]bool, 256)
		for i := range free {
			free[i] = true
		}
		for range rapid.IntRange(0, 40).Draw(t, "runs") {
			at := rapid.IntRange(0, 255).Draw(t, "at")
			n := rapid.IntRange(1, min(256-at, 90)).Draw(t, "n")
			taken := rapid.Bool().Draw(t, "taken")
			c.mark(at, n, taken)
			for i := range n {
				free[at+i] = !taken
			}
		}
		pages := rapid.IntRange(1, 256).Draw(t, "pages")
		want, run := -1, 0
		for i := 0; i < 256 && want < 0; i++ {
			if run++; !free[i] {
				run = 0
			}
			if run == pages {
				want = i + 1 - run
			}
		}
		if got := c.find(pages); got != want {
			t.Fatalf("a run of %d pages found at %d, want %d", pages, got, want)
		}
	})
}

func BenchmarkPool(b *testing.B) {
	p := newPool(0)
	defer p.close()
	b.ReportAllocs()
	for b.Loop() {
		buf, err := p.get(40 << 10)
		if err != nil {
			b.Fatal(err)
		}
		p.put(&buf)
	}
}
