package arena

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestModel drives an arena against a list of copies.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New()
		type held struct {
			b      *Block
			want   []byte
			owners int
		}
		var all []*held
		used := int64(0)
		release := func(i int) {
			h := all[i]
			h.b.Release()
			if h.owners--; h.owners == 0 {
				used -= int64(Size(len(h.want)))
				all = append(all[:i], all[i+1:]...)
				if h.b.Acquire() {
					t.Fatal("a block without owners was acquired")
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"new": func(t *rapid.T) {
				n := rapid.OneOf(rapid.IntRange(1, 600), rapid.IntRange(1, 70000)).Draw(t, "n")
				want := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "fill"))}, n)
				b, err := a.New(want)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, &held{b, want, 1})
				used += int64(Size(n))
			},
			"acquire": func(t *rapid.T) {
				if len(all) > 0 {
					h := all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]
					if !h.b.Acquire() {
						t.Fatal("an owned block cannot be acquired")
					}
					h.owners++
				}
			},
			"release": func(t *rapid.T) {
				if len(all) > 0 {
					release(rapid.IntRange(0, len(all)-1).Draw(t, "which"))
				}
			},
			"": func(t *rapid.T) {
				for i, h := range all {
					if !bytes.Equal(h.b.Bytes(), h.want) {
						t.Fatalf("block %d has other bytes", i)
					}
				}
				if a.Used() != used || a.Mapped() < used {
					t.Fatalf("%d used, %d mapped, want %d used", a.Used(), a.Mapped(), used)
				}
			},
		})
		for len(all) > 0 {
			release(len(all) - 1)
		}
		if a.Mapped() != 0 || a.Used() != 0 || len(all) != 0 {
			t.Fatalf("%d bytes mapped, %d used by no block", a.Mapped(), a.Used())
		}
	})
}

func TestSize(t *testing.T) {
	for n := 1; n < 300000; n += 7 {
		if s := Size(n); s < n || s > max(leastClass, n+n/8+1) || Size(s) != s {
			t.Fatalf("%d bytes take %d, and those %d", n, s, Size(s))
		}
	}
}

func TestReleasedTooOften(t *testing.T) {
	b, err := New().New([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	defer func() {
		if recover() == nil {
			t.Error("nobody noticed")
		}
	}()
	b.Release()
}

// TestReadersAndEviction: readers of a block that is replaced all the time see whole
// blocks only.
func TestReadersAndEviction(t *testing.T) {
	a := New()
	var mu sync.Mutex
	var current *Block
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				b := current
				mu.Unlock()
				if b == nil || !b.Acquire() {
					runtime.Gosched()
					continue
				}
				p := b.Bytes()
				if first := p[0]; bytes.Count(p, []byte{first}) != len(p) {
					t.Error("a block changed under its owner")
				}
				b.Release()
			}
		})
	}
	for i := range 5000 {
		b, err := a.New(bytes.Repeat([]byte{byte(i)}, 300+i%3000))
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		old := current
		current = b
		mu.Unlock()
		if old != nil {
			old.Release()
		}
	}
	close(stop)
	all.Wait()
	current.Release()
	if a.Mapped() != 0 {
		t.Errorf("%d bytes stay mapped", a.Mapped())
	}
}

func BenchmarkNewRelease(b *testing.B) {
	a := New()
	keep, err := a.New(make([]byte, 3000)) // so that the slab stays
	if err != nil {
		b.Fatal(err)
	}
	defer keep.Release()
	data := make([]byte, 3000)
	b.ReportAllocs()
	for b.Loop() {
		x, err := a.New(data)
		if err != nil {
			b.Fatal(err)
		}
		x.Release()
	}
}

func TestLimit(t *testing.T) {
	a := New()
	a.Limit(slabBytes)
	var all []*Block
	for {
		b, err := a.New(make([]byte, 4096))
		if err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			break
		}
		all = append(all, b)
	}
	if len(all) != slabBytes/4096 || a.Mapped() != slabBytes {
		t.Errorf("%d blocks in %d bytes", len(all), a.Mapped())
	}
	all[0].Release()
	if b, err := a.New(make([]byte, 4000)); err != nil {
		t.Errorf("with room in a slab: %v", err)
	} else {
		b.Release()
	}
}
