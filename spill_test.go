package sprat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestSpillGivesBackWhatItTook: whatever fits in memory, a partition's items
// come back once, whole and in order.
func TestSpillGivesBackWhatItTook(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "partitions")
		s := newSpill(dir, n, rapid.Int64Range(0, 3000).Draw(t, "memory"))
		want := map[int][]string{}
		for range rapid.IntRange(0, 200).Draw(t, "items") {
			p := rapid.IntRange(0, n-1).Draw(t, "partition")
			item := strings.Repeat(rapid.StringN(0, 3, 8).Draw(t, "item"), rapid.IntRange(0, 40).Draw(t, "times"))
			want[p] = append(want[p], item)
			if err := s.add(p, []byte(item)); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range rapid.Permutation(upTo(n)).Draw(t, "order") {
			for range 2 {
				if got := loadStrings(t, s, p); !slices.Equal(got, want[p]) {
					t.Fatalf("partition %d of %d: %q, want %q", p, n, got, want[p])
				}
				delete(want, p) // the second time there is nothing
			}
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		checkEmptyDir(t, dir)
	})
}

func upTo(n int) (a []int) {
	for i := range n {
		a = append(a, i)
	}
	return a
}

func loadStrings(t rapid.TB, s *spill, p int) (out []string) {
	t.Helper()
	items, err := s.load(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		out = append(out, string(item))
	}
	return out
}

func checkEmptyDir(t rapid.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Fatalf("left behind: %v (%v)", entries, err)
	}
}

// TestSpillBoundsMemory: what is buffered stays within the memory given, but
// for the item that is being added to each partition.
func TestSpillBoundsMemory(t *testing.T) {
	const parts, memory, item = 10, 10_000, 100
	s := newSpill(t.TempDir(), parts, memory)
	for i := range 5000 {
		if err := s.add(i*7%parts, make([]byte, item)); err != nil {
			t.Fatal(err)
		}
		held := 0
		for p := range s.parts {
			held += len(s.parts[p].buf)
		}
		if held > memory+parts*(item+4) {
			t.Fatalf("%d bytes buffered, want %d", held, memory)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestSpillTakesFromManyGoroutines: nothing is lost or torn when all add at
// once.
func TestSpillTakesFromManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	const parts, adders, items = 4, 6, 500
	s := newSpill(dir, parts, 2000)
	var wg sync.WaitGroup
	for a := range adders {
		wg.Go(func() {
			buf := make([]byte, 8, 60)
			for i := range items {
				binary.LittleEndian.PutUint32(buf, uint32(a))
				binary.LittleEndian.PutUint32(buf[4:], uint32(i))
				if err := s.add((a+i)%parts, buf[:8+i%50]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for p := range parts {
		for _, item := range loadStrings(t, s, p) {
			a, i := binary.LittleEndian.Uint32([]byte(item)), binary.LittleEndian.Uint32([]byte(item[4:]))
			if int(a+i)%parts != p || len(item) != 8+int(i)%50 {
				t.Errorf("item %d of adder %d came back from partition %d with %d bytes", i, a, p, len(item))
			}
			seen[item[:8]]++
		}
	}
	if len(seen) != adders*items {
		t.Errorf("%d distinct items, want %d", len(seen), adders*items)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	checkEmptyDir(t, dir)
}

// TestSpillOnAFailingVolume: errors of the temporary files are returned, no part
// of a partition is taken for the whole, and close still removes what there is.
func TestSpillOnAFailingVolume(t *testing.T) {
	full := func(dir string) *spill {
		s := newSpill(dir, 3, 0)
		for p := range 3 {
			mustDo(t, s.add(p, []byte("some bytes")))
		}
		return s
	}
	part := func(dir string, p int) string { return filepath.Join(dir, fmt.Sprintf("part-%04d", p)) }

	dir := t.TempDir()
	s := full(dir)
	mustDo(t, os.Truncate(part(dir, 1), 3))
	if _, err := s.load(1); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "part-0001") {
		t.Errorf("a file that was cut: %v", err)
	}
	if got := loadStrings(t, s, 2); !slices.Equal(got, []string{"some bytes"}) {
		t.Errorf("partition 2: %q", got)
	}
	mustDo(t, s.close())
	checkEmptyDir(t, dir)

	s = full(dir)
	mustDo(t, os.Remove(part(dir, 0)))
	mustDo(t, os.Mkdir(part(dir, 0), 0o755))
	if err := s.add(0, []byte("more")); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a file that cannot be written: %v", err)
	}
	if _, err := s.load(0); err == nil {
		t.Error("a partition that was not written whole is loaded")
	}
	mustDo(t, s.close())
	checkEmptyDir(t, dir)

	mustDo(t, os.Remove(dir))
	s = newSpill(dir, 2, 0)
	if err := s.add(1, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	mustDo(t, s.close())
}
