package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func open(t *testing.T, dir string, cfg Config) *Catalog {
	t.Helper()
	c, err := Open(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fill commits one index with rows of every table.
func fill(t *testing.T, c *Catalog, dir string, id uint32, name string) {
	t.Helper()
	g := c.NewIngester(id, dir)
	for _, i := range hashed() {
		if err := g.Add(OrderedKey(nil, fmt.Appendf(nil, "key%04d", i)), Placement{Slot: i, Generation: uint8(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.Commit(context.Background()), g.Abort()); err != nil {
		t.Fatal(err)
	}
	b := c.NewBatch()
	b.PutBucket(Bucket{Name: "b"})
	b.PutIndex(Index{ID: id, Bucket: "b", Name: name, Dimension: 3})
	b.PutExtent(id, 7, []byte("extent"))
	b.PutLongKey(id, 9, 4, []byte("long key"))
	b.PutLongMetadata(id, 9, 4, []byte(`{"a":1}`))
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

// hashed are the numbers of the keys that fill writes, in the order of the table.
func hashed() []uint32 {
	order := make([]uint32, 500)
	for i := range order {
		order[i] = uint32(i)
	}
	ordered := func(i uint32) []byte { return OrderedKey(nil, fmt.Appendf(nil, "key%04d", i)) }
	slices.SortFunc(order, func(a, b uint32) int { return bytes.Compare(ordered(a), ordered(b)) })
	return order
}

// check reads back what fill wrote.
func check(c *Catalog, id uint32, name string) error {
	ix, err := c.Index("b", name)
	if err != nil || ix.ID != id || ix.Dimension != 3 {
		return fmt.Errorf("index %+v, %w", ix, err)
	}
	p, err := c.Placement(id, []byte("key0300"))
	if err != nil || p != (Placement{Slot: 300, Generation: 300 & 255}) {
		return fmt.Errorf("placement %+v, %w", p, err)
	}
	n := 0
	order := hashed()
	if err := c.Placements(id, func(key []byte, p Placement) error {
		if want := fmt.Sprintf("key%04d", order[n]); string(key) != want || p.Slot != order[n] {
			return fmt.Errorf("row %d is %q, %+v", n, key, p)
		}
		n++
		return nil
	}); err != nil || n != 500 {
		return fmt.Errorf("%d placements, %w", n, err)
	}
	k, err1 := c.LongKey(id, 9, 4)
	m, err2 := c.LongMetadata(id, 9, 4)
	err3 := c.Extents(id, func(posting uint32, v []byte) error {
		if posting != 7 || string(v) != "extent" {
			return fmt.Errorf("extent %d %q", posting, v)
		}
		return nil
	})
	if string(k) != "long key" || string(m) != `{"a":1}` {
		return fmt.Errorf("long key %q, metadata %q", k, m)
	}
	return errors.Join(err1, err2, err3)
}

func TestRowsSurviveReopening(t *testing.T) {
	dir := t.TempDir()
	c := open(t, filepath.Join(dir, "c"), Config{})
	fill(t, c, dir, 1, "one")
	fill(t, c, dir, 2, "two")
	for range 2 {
		if err := errors.Join(check(c, 1, "one"), check(c, 2, "two")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Index("b", "three"); !errors.Is(err, ErrNotFound) {
			t.Errorf("an index that does not exist: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = open(t, filepath.Join(dir, "c"), Config{ReadOnly: true})
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDeletedRowsTakeNoOthersAlong(t *testing.T) {
	dir := t.TempDir()
	c := open(t, filepath.Join(dir, "c"), Config{})
	fill(t, c, dir, 0x00ffffff, "one") // the next id differs in every byte
	fill(t, c, dir, 0x01000000, "two")
	b := c.NewBatch()
	b.DeleteIndexRows(0x00ffffff)
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := check(c, 0x01000000, "two"); err != nil {
		t.Error(err)
	}
	if _, err := c.Placement(0x00ffffff, []byte("key0001")); !errors.Is(err, ErrNotFound) {
		t.Errorf("a deleted key: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIndexIDsAreNeverReused(t *testing.T) {
	dir := t.TempDir()
	last := uint32(0)
	for range 3 {
		c := open(t, dir, Config{})
		for range 3 {
			id, err := c.NextIndexID()
			if err != nil || id != last+1 {
				t.Fatalf("id %d after %d, %v", id, last, err)
			}
			last = id
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamageIsAnError: a flipped bit in a table fails the read that meets it,
// with ErrCorrupt, and ends nothing else.
func TestDamageIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	c := open(t, path, Config{})
	fill(t, c, dir, 1, "one")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(path, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, name := range tables {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/3] ^= 4
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err = Open(path, Config{})
	if err == nil {
		err = check(c, 1, "one")
		defer c.Close()
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, Config{})
	b := c.NewBatch()
	if err := b.b.Set([]byte{tableVersion}, []byte{Version + 1, 0, 0, 0}, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Commit(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Config{}); !errors.Is(err, ErrVersion) {
		t.Errorf("error %v, want ErrVersion", err)
	}
}

// TestSorter: keys come out in the order of the table, each with the row added last.
func TestSorter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := NewSorter(filepath.Join(t.TempDir(), "s"), 1<<20)
		if err != nil {
			rt.Fatal(err)
		}
		want := map[string]uint64{}
		for row, key := range rapid.SliceOf(rapid.StringMatching(`[ab\x00é]{1,4}`)).Draw(rt, "keys") {
			if err := s.Add(key, uint64(row)); err != nil {
				rt.Fatal(err)
			}
			want[string(OrderedKey(nil, []byte(key)))] = uint64(row)
		}
		for range 2 {
			keys := slices.Sorted(maps.Keys(want))
			if err := s.Each(func(key []byte, row uint64) error {
				if string(key) != keys[0] || row != want[keys[0]] {
					return fmt.Errorf("%q at row %d, want %q at %d", key, row, keys[0], want[keys[0]])
				}
				keys = keys[1:]
				return nil
			}); err != nil || len(keys) > 0 {
				rt.Fatalf("%v, %d keys missing", err, len(keys))
			}
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			rt.Fatal(err)
		}
		if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
			rt.Fatalf("left its files: %v", err)
		}
	})
}

func TestSuccessor(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "\xff\xff": "", "\x20\x00\x00\x00\x01": "\x20\x00\x00\x00\x02"} {
		if got := string(successor([]byte(in))); got != want {
			t.Errorf("after %q comes %q, want %q", in, got, want)
		}
		if want != "" && strings.Compare(want, in+"\xff\xff") <= 0 {
			t.Errorf("%q is not above every key that starts with %q", want, in)
		}
	}
}

func FuzzRun(f *testing.F) {
	row := RunRow{Owner: 7, Live: 0b111, Landed: 0b101, Generations: [RunSlots]uint8{1, 2, 255}}
	row.Landings[2] = Landing{Segment: 3, Offset: 4096}
	f.Add(row.append(nil))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, v []byte) {
		got, err := decodeRun(v)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error %v is not ErrCorrupt", err)
			}
			return
		}
		if back := got.append(nil); !bytes.Equal(back, v) {
			t.Fatalf("%x became %x", v, back)
		}
	})
}

func FuzzState(f *testing.F) {
	s := State{Vectors: 1, Slots: 2, Postings: 3, Entries: 4, Deaths: 5, Seq: 6, Calibrated: 7, Changes: 8, Overflows: 9, Untidy: 12, NextPosting: 10, NextSegment: 11}
	f.Add(s.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, v []byte) {
		got, err := decodeState(v)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error %v is not ErrCorrupt", err)
			}
			return
		}
		if back := got.append(nil); !bytes.Equal(back, v) {
			t.Fatalf("%x became %x", v, back)
		}
	})
}

func FuzzPlacement(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePlacement(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if string(p.AppendValue(nil)) != string(b) {
			t.Fatalf("%x comes back as %x", b, p.AppendValue(nil))
		}
	})
}
