package parquetpage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A list that claims more elements than there are bytes is refused, as are
// structures without end.
func TestThriftRefuses(t *testing.T) {
	for name, data := range map[string][]byte{
		"list":   {0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0},
		"binary": {0x18, 0xff, 0xff, 0x7f, 0},
		"map":    {0x1b, 0xff, 0x7f, 0x55, 0},
		"deep":   bytes.Repeat([]byte{0x1c}, 1000),
		"nested": bytes.Repeat([]byte{0x19}, 1000),
		"open":   {0x15, 2},
		"varint": append(bytes.Repeat([]byte{0xff}, 11), 0x15),
		"type":   {0x1e, 0},
		"double": {0x17, 1, 2, 3},
	} {
		r := thriftReader{b: data}
		if err := r.structure(0, nil); err == nil {
			t.Errorf("%s: %x was accepted", name, data)
		}
	}
}

func TestThriftWalks(t *testing.T) {
	sound := []byte{
		0x11, 0x12, // true, false
		0x13, 1, 0x14, 2, 0x15, 4, 0x16, 0x80, 1, // integers
		0x17, 0, 0, 0, 0, 0, 0, 0, 0, // double
		0x18, 1, 'x', 0x19, 0x21, 1, 2, 0x1a, 0x13, 7, // text, list of truth values, set
		0x1b, 1, 0x35, 9, 2, 0x1b, 0, // map, empty map
		0x1c, 0, // structure
		0x05, 0x20, 2, // field number not as a difference
		0,
	}
	r := thriftReader{b: sound}
	if err := r.structure(0, nil); err != nil || r.pos != len(sound) {
		t.Errorf("%v at %d of %d", err, r.pos, len(sound))
	}
}

// A header whose statistics exceed the first read is found by a longer one.
func TestLongHeader(t *testing.T) {
	b := fields(nil, int64(pageData), 4, 4)
	b = fields(append(b, (fieldDataV1-3)<<4|thriftStruct), 1, encPlain, encHybrid, encHybrid)
	b = append(b, 1<<4|thriftStruct, 1<<4|thriftBinary, 0xe8, 0x07) // statistics with a text of 1,000 bytes
	b = append(b, make([]byte, 1000)...)
	b = append(b, thriftStop, thriftStop, thriftStop, 1, 2, 3, 4)
	pages, err := read(b, Column{Kind: Float})
	if err != nil || len(pages) != 1 || !slices.Equal(pages[0].Raw, []byte{1, 2, 3, 4}) {
		t.Errorf("%+v, %v", pages, err)
	}
}

func TestCheckFooter(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"PAR1\x00\x01\x00\x00\x00PAR1", ""},
		{"PAR1PAR1", "want a file of at least 12 bytes"},
		{"PAR2\x00\x01\x00\x00\x00PAR1", `want "PAR1" at the start`},
		{"PAR1\x00\x01\x00\x00\x00PAR2", `want "PAR1" at the end`},
		{"PAR1\x00\x02\x00\x00\x00PAR1", "want a footer of at most 1 bytes, got 2"},
		{"PAR1\x15\x01\x00\x00\x00PAR1", "structure longer than its bytes"},
	} {
		err := CheckFooter(strings.NewReader(c.file), int64(len(c.file)))
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.file, err, c.want)
		}
	}
}

func FuzzFooter(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "*.parquet"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := CheckFooter(bytes.NewReader(data), int64(len(data))); err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("error %v, want an *Error", err)
		}
	})
}

// Any bytes as a column of any kind give pages that fit together or an *Error.
func FuzzPages(f *testing.F) {
	four := []byte{1, 2, 3, 4}
	f.Add(v1(1, encPlain, four), byte(None), byte(Float), byte(0))
	f.Add(append(dictionary(1, four), v1(2, encDictionary, []byte{1, 4, 0})...), byte(None), byte(Float), byte(0))
	f.Add(v1(2, encDeltaLength, append([]byte{8, 1, 2, 2, 2, 0}, "abc"...)), byte(None), byte(Text), byte(0))
	f.Add(v1(3, encDelta, []byte{8, 1, 3, 2, 1, 8, 0, 3, 0, 0, 0, 0, 0, 0}), byte(None), byte(Int32), byte(0))
	f.Add(v1(4, encPlain, slices.Concat(levels(1, 0, 1, 1, 0), levels(2, 3, 3, 3, 1), make([]byte, 24))), byte(None), byte(Double), byte(3))
	f.Add(page(pageDataV2, 10, fieldDataV2, []int64{1, 0, 1, encPlain, 2, 0}, []byte{2, 1, 8, 28, 1, 2, 3, 4, 5, 6, 7, 8}), byte(Snappy), byte(Int64), byte(1))
	f.Fuzz(func(t *testing.T, data []byte, codec, kind, level byte) {
		col := Column{Codec: Codec(codec % 7), Kind: Kind(kind % 6), MaxRep: int(level & 1), MaxDef: int(level)}
		pages, err := read(data, col)
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("error %v, want an *Error", err)
		}
		for _, p := range pages {
			present := p.N
			for _, d := range p.Def {
				if int(d) != col.MaxDef {
					present--
				}
			}
			if got := len(p.Texts); col.Kind == Text && got != present {
				t.Errorf("%d texts, want %d", got, present)
			}
			if got := len(p.Raw); col.Kind != Text && got != present*col.Kind.size() {
				t.Errorf("%d bytes of values, want %d values", got, present)
			}
			if col.MaxRep > 0 && len(p.Rep) != p.N || col.MaxDef > 0 && len(p.Def) != p.N {
				t.Errorf("%d and %d levels of %d entries", len(p.Rep), len(p.Def), p.N)
			}
		}
	})
}
