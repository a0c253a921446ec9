package posting

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spratdb/sprat/rq"
)

func TestEntriesRoundTrip(t *testing.T) {
	f := makeFixture(t, 64, 2, 9, 1)
	for n := range f.entries {
		row := AppendEntries([]byte("prefix"), &f.layout, f.entries[:n])
		got, err := DecodeEntries(&f.layout, row[len("prefix"):])
		if err != nil || len(got) != n {
			t.Fatalf("%d entries, %v, want %d", len(got), err, n)
		}
		for i := range got {
			if want := stored(f.entries[i]); !reflect.DeepEqual(got[i], want) {
				t.Errorf("entry %d is %+v, want %+v", i, got[i], want)
			}
		}
	}
}

func TestEntriesRefuseDamage(t *testing.T) {
	f := makeFixture(t, 64, 2, 2, 1)
	good := AppendEntries(nil, &f.layout, f.entries)
	change := func(at int, to byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = to
		return b
	}
	cases := map[string][]byte{
		"empty":   nil,
		"version": change(0, 2),
		"flags":   change(1+5, 2),
		"short":   good[:len(good)-1],
		"long":    append(append([]byte(nil), good...), 0),
	}
	for name, b := range cases {
		if _, err := DecodeEntries(&f.layout, b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestEntriesGolden pins the bytes of version 1.
func TestEntriesGolden(t *testing.T) {
	l := mustLayout(t, 16, 1, 4)
	got := hex.Dump(AppendEntries(nil, &l, []Entry{
		{Slot: 0x01020304, Generation: 9, Factors: rq.Factors{Add: 1, Rescale: -2, Error: 0.5}, Code: []byte{0xaa, 0x55}},
		{Slot: 0x0a0b0c0d, Generation: 1, Primary: true, Factors: rq.Factors{Add: 3, Rescale: 4, Error: 0.1}, Code: []byte{0xf0, 0x0f}},
	}))
	path := filepath.Join("testdata", "entries.v1.hex")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the rows of version %d changed:\n%s", entriesVersion, got)
	}
}

func FuzzDecodeEntries(f *testing.F) {
	fx := makeFixture(f, 16, 1, 3, 1)
	f.Add(AppendEntries(nil, &fx.layout, fx.entries))
	f.Add([]byte{1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := DecodeEntries(&fx.layout, b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error %v is not ErrCorrupt", err)
			}
			return
		}
		for i := range entries {
			// A damaged row may hold a quiet or signalling NaN; its bits may change.
			if e := entries[i].Factors.Error; e != e {
				return
			}
		}
		if again := AppendEntries(nil, &fx.layout, entries); string(again) != string(b) {
			t.Fatalf("%x comes back as %x", b, again)
		}
	})
}
