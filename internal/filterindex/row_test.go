package filterindex

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// TestTermsGolden holds the form of terms and rows, which stores keep.
func TestTermsGolden(t *testing.T) {
	var b strings.Builder
	for _, doc := range []string{
		`{"a":"text","b":true,"c":false,"n":null,"o":{"x":1}}`,
		`{"n":0,"one":1,"neg":-2.5,"many":1700000001,"fine":0.1}`,
		`{"list":["x","y",3]}`,
		`{"":"\u0000","é":"` + strings.Repeat("z", 65) + `","` + strings.Repeat("k", 129) + `":1}`,
	} {
		fmt.Fprintf(&b, "%.70s\n", doc)
		for _, term := range Terms([]byte(doc), nil) {
			fmt.Fprintf(&b, "\t%x\n", term)
		}
	}
	var row Row
	for _, slot := range []uint32{8192, 8193, 8192 + 8191} {
		row.Add(slot)
	}
	fmt.Fprintf(&b, "row key %x, value %x\n", RowKey(nil, "t", 8193), row.Append(nil))
	for i := range uint32(600) {
		row.Add(3 * i)
	}
	fmt.Fprintf(&b, "value %.60x... of %d bytes\n", row.Append(nil), len(row.Append(nil)))
	const path = "testdata/terms.golden"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTermsOfNothing(t *testing.T) {
	for _, doc := range []string{"", "{}", "[]", "null", "{"} {
		if terms := Terms([]byte(doc), nil); len(terms) > 0 {
			t.Errorf("%q: terms %q", doc, terms)
		}
	}
	if terms := Terms([]byte(`{"a":1,"b":2}`), func(f string) bool { return f == "a" || f == "b" }); len(terms) > 0 {
		t.Errorf("terms of fields that are not filterable: %q", terms)
	}
}

// TestPrefixFree: no term begins another one, or one would be found in its rows.
func TestPrefixFree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		terms := append(Terms([]byte(drawDocument(rt)), nil), Terms([]byte(drawDocument(rt)), nil)...)
		for i, a := range terms {
			for _, b := range terms[i+1:] {
				if a != b && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
					rt.Fatalf("%x and %x", a, b)
				}
			}
		}
	})
}

func TestRow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var row Row
		want := map[uint32]bool{}
		for range rapid.IntRange(0, 900).Draw(rt, "n") {
			slot := uint32(rapid.IntRange(0, ChunkSlots-1).Draw(rt, "slot"))
			row.Add(slot)
			want[slot] = true
		}
		for range rapid.IntRange(0, 5).Draw(rt, "removed") {
			slot := uint32(rapid.IntRange(0, ChunkSlots-1).Draw(rt, "slot"))
			row.Remove(slot)
			delete(want, slot)
		}
		var again Row
		if value := row.Append(nil); len(want) > 0 {
			if err := again.Read(value); err != nil {
				rt.Fatal(err)
			}
		}
		if again != row || row.Len() != len(want) {
			rt.Fatalf("%d slots, want %d", again.Len(), len(want))
		}
		n := 0
		row.Each(ChunkSlots, func(slot uint32) {
			if n++; !want[slot-ChunkSlots] || !row.Has(slot) {
				rt.Fatalf("slot %d", slot)
			}
		})
		if n != len(want) {
			rt.Fatalf("%d slots, want %d", n, len(want))
		}
	})
}

func TestRowRefused(t *testing.T) {
	for _, value := range []string{"", "01", "0100", "010000ff", "0105000500", "01050004 00", "010020", "02", "0200", "03aa"} {
		b, err := hex.DecodeString(strings.ReplaceAll(value, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		var row Row
		if err := row.Read(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("value %s: %v", value, err)
		}
	}
	for _, key := range []string{"", "\x00\x00\x00\x01", "t\xff\xff\xff\xff"} {
		if _, _, err := SplitKey([]byte(key)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("key %x: %v", key, err)
		}
	}
}

func FuzzRow(f *testing.F) {
	f.Add([]byte{formList, 1, 0, 2, 0})
	f.Add(append([]byte{formBits}, make([]byte, 8*words)...))
	f.Fuzz(func(t *testing.T, value []byte) {
		var row, again Row
		if row.Read(value) != nil || row.Len() == 0 {
			return
		}
		if err := again.Read(row.Append(nil)); err != nil || again != row {
			t.Errorf("%v", err)
		}
	})
}

// TestSorter: however little memory there is, the rows are those that commits would
// have made.
func TestSorter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := table{}
		s := NewSorter(t.TempDir(), 0)
		s.limit = int64(rapid.SampledFrom([]int{200, 3000, 1 << 20}).Draw(rt, "memory"))
		seen := map[uint32]bool{}
		for range rapid.IntRange(0, 120).Draw(rt, "documents") {
			slot := uint32(rapid.IntRange(0, 20_000).Draw(rt, "slot"))
			if seen[slot] {
				continue
			}
			seen[slot] = true
			doc := drawDocument(rt)
			want.add(slot, doc)
			if err := s.Add(Terms([]byte(doc), nil), slot); err != nil {
				rt.Fatal(err)
			}
		}
		got, last := table{}, ""
		if err := s.Each(func(key, value []byte) error {
			if string(key) <= last {
				return fmt.Errorf("key %x after %x", key, last)
			}
			last = string(key)
			got[last] = bytes.Clone(value)
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		if len(got) != len(want) {
			rt.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for key := range want {
			if !bytes.Equal(got[key], want[key]) {
				rt.Fatalf("row %x: %x, want %x", key, got[key], want[key])
			}
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
		if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
			rt.Fatalf("%v left, %v", left, err)
		}
	})
}

// TestUnion: a set is the same whether its rows were collected as a list or as bits.
func TestUnion(t *testing.T) {
	var u union
	var want []uint32
	for chunk := range uint32(12) {
		var row Row
		for i := range uint32(ChunkSlots) {
			if i%(chunk%3+1) == 0 {
				row.Add(i)
				want = append(want, 5*chunk*ChunkSlots+i)
			}
		}
		if err := u.add(5*chunk*ChunkSlots, row.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if got := u.bitmap().ToArray(); !slices.Equal(got, want) {
		t.Errorf("%d slots, want %d", len(got), len(want))
	}
}
