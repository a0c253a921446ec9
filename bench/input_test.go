package bench

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
)

// loaded is what a test keeps of a record.
func loaded(rec sprat.Record) string {
	return fmt.Sprintf("%s %v %s", rec.Key, rec.Vector, rec.Metadata)
}

// load runs an input to its end or first error.
func load(t *testing.T, files InputFiles) ([]string, error) {
	t.Helper()
	in, err := OpenInput(files)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}()
	var got []string
	for rec, err := range in.Records() {
		if err != nil {
			return got, err
		}
		got = append(got, loaded(rec))
	}
	return got, nil
}

func TestInput(t *testing.T) {
	rows := put(t, "rows.fbin", le(uint32(2), uint32(2), float32(1), float32(2), float32(3), float32(4)))
	lines := put(t, "rows.jsonl", []byte(`{"vector":[1,2],"key":"a","metadata":{"n":1}}`+"\n"+`{"vector":[3,4]}`+"\n"))
	keys := put(t, "keys.txt", []byte("k1\r\nk 2"))
	meta := put(t, "meta.jsonl", []byte("{\"m\": 1}\n{}\n"))
	for _, c := range []struct {
		name  string
		files InputFiles
		want  []string
	}{
		{"row numbers", InputFiles{Vectors: rows}, []string{"0 [1 2] ", "1 [3 4] "}},
		{"keys", InputFiles{Vectors: rows, Keys: keys}, []string{"k1 [1 2] ", "k 2 [3 4] "}},
		{"metadata", InputFiles{Vectors: rows, Metadata: meta}, []string{`0 [1 2] {"m": 1}`, "1 [3 4] {}"}},
		{"its own", InputFiles{Vectors: lines}, []string{`a [1 2] {"n":1}`, "1 [3 4] "}},
		{"files come first", InputFiles{Vectors: lines, Keys: keys, Metadata: meta}, []string{`k1 [1 2] {"m": 1}`, "k 2 [3 4] {}"}},
	} {
		if got, err := load(t, c.files); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q (%v), want %q", c.name, got, err, c.want)
		}
	}
}

func TestInputFilesMustFit(t *testing.T) {
	rows := put(t, "rows.fbin", le(uint32(2), uint32(1), float32(1), float32(2)))
	lines := put(t, "rows.jsonl", []byte("[1]\n[2]\n[3]\n"))
	text := func(s string) string { return put(t, "lines.txt", []byte(s)) }
	for _, c := range []struct {
		name  string
		files InputFiles
		want  string // in the error
	}{
		{"few keys", InputFiles{Vectors: rows, Keys: text("a\n")}, "want 2 keys, one for each row of " + rows + ", got 1"},
		{"no keys", InputFiles{Vectors: rows, Keys: text("")}, "want 2 keys, one for each row of " + rows + ", got 0"},
		{"many keys", InputFiles{Vectors: rows, Keys: text("a\nb\nc\nd\n")}, "want 2 keys, one for each row of " + rows + ", got 4"},
		{"rows not known before", InputFiles{Vectors: lines, Keys: text("a\n")}, "want 3 keys, one for each row of " + lines + ", got 1"},
		{"few objects", InputFiles{Vectors: rows, Metadata: text("{}\n")}, "want 2 objects, one for each row of " + rows + ", got 1"},
		{"many objects", InputFiles{Vectors: rows, Metadata: text("{}\n{}\n{}\n")}, "want 2 objects"},
		{"not an object", InputFiles{Vectors: rows, Metadata: text("{}\n[1]\n")}, "lines.txt:2: want one JSON object, got \"[1]\""},
		{"not JSON", InputFiles{Vectors: rows, Metadata: text("{}\n{\n")}, "lines.txt:2: want one JSON object"},
		{"blank", InputFiles{Vectors: rows, Metadata: text("\n{}\n")}, "lines.txt:1: want one JSON object"},
		{"long line", InputFiles{Vectors: rows, Keys: text("a\n" + strings.Repeat("x", maxLineBytes+1))}, "lines.txt:2: want at most"},
	} {
		_, err := load(t, c.files)
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a format error with %q", c.name, err, c.want)
		}
	}
}

func TestOpenInputFails(t *testing.T) {
	rows := put(t, "rows.fbin", le(uint32(1), uint32(1), float32(1)))
	none := filepath.Join(t.TempDir(), "none")
	for _, files := range []InputFiles{{Vectors: none}, {Vectors: rows, Keys: none}, {Vectors: rows, Metadata: none}} {
		if in, err := OpenInput(files); err == nil {
			t.Errorf("%+v: no error", files)
			_ = in.Close()
		}
	}
}

func TestNewMemoryReader(t *testing.T) {
	r, err := NewMemoryReader(2, []float32{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	sameTable(t, "memory", readAll(t, r).vectors, [][]float32{{1, 2}, {3, 4}})
	for _, dim := range []int{0, 3} {
		if _, err := NewMemoryReader(dim, make([]float32, 4)); err == nil {
			t.Errorf("4 values in rows of %d: no error", dim)
		}
	}
}
