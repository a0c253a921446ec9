package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// load returns the bytes of a file that testdata/make.py of package bench made.
func load(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// number decodes value i of a row.
func number(k Kind, row []byte, i int) float64 {
	p := row[i*k.Size():]
	switch k {
	case Float16:
		h := binary.LittleEndian.Uint16(p) // normal and not negative in the test data, or zero
		if h == 0 {
			return 0
		}
		return math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10)-15)
	case Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(p))
	case Int8:
		return float64(int8(p[0]))
	case Int16:
		return float64(int16(binary.LittleEndian.Uint16(p)))
	case Int32:
		return float64(int32(binary.LittleEndian.Uint32(p)))
	case Int64:
		return float64(int64(binary.LittleEndian.Uint64(p)))
	}
	return float64(p[0])
}

// The formulas of make.py.
func value(r, c int) float64     { return float64(r) + float64(c)/16 }
func neighbour(r, c int) float64 { return float64(7*r - c) }

func TestRead(t *testing.T) {
	type set struct {
		name       string
		rows, cols int64
		kind       Kind
		want       func(r, c int) float64
	}
	ann := func(rows, queries, k int64) []set {
		return []set{
			{"train", rows, 6, Float32, value}, {"test", queries, 6, Float32, value},
			{"neighbors", queries, k, Int32, neighbour}, {"distances", queries, k, Float32, value},
		}
	}
	train := func(rows, cols int64, kind Kind, want func(r, c int) float64) []set {
		return []set{{"train", rows, cols, kind, want}}
	}
	counter := func(cols int) func(r, c int) float64 {
		return func(r, c int) float64 { return float64(byte(r*cols + c)) }
	}
	for file, sets := range map[string][]set{
		"plain.hdf5":              ann(20, 3, 4),
		"plain-v108.hdf5":         ann(20, 3, 4),
		"plain-v110.hdf5":         ann(20, 3, 4),
		"plain-latest.hdf5":       ann(20, 3, 4),
		"ordered.hdf5":            ann(20, 3, 4),
		"chunked.hdf5":            ann(20, 3, 4),
		"gzip.hdf5":               ann(20, 3, 4),
		"gzip-shuffle.hdf5":       ann(20, 3, 4),
		"shuffle.hdf5":            ann(20, 3, 4),
		"fixed.hdf5":              ann(20, 3, 4),
		"fixed-gzip.hdf5":         ann(20, 3, 4),
		"single.hdf5":             ann(20, 3, 6),
		"single-gzip.hdf5":        ann(3, 3, 6),
		"single-gzip-latest.hdf5": ann(3, 3, 6),
		"fixed-gzip-latest.hdf5":  ann(20, 3, 4),
		"deep.hdf5":               train(150, 2, Float32, value),
		"resized.hdf5":            train(11, 5, Float32, value),
		"implicit.hdf5":           train(20, 6, Float32, value),
		"compact.hdf5":            train(4, 3, Float32, value),
		"paged.hdf5":              train(1100, 1, Uint8, counter(1)),
		"type-f2.hdf5":            train(4, 3, Float16, value),
		"type-f8.hdf5":            train(4, 3, Float64, value),
		"type-i1.hdf5":            train(4, 3, Int8, neighbour),
		"type-i2.hdf5":            train(4, 3, Int16, neighbour),
		"type-i8.hdf5":            train(4, 3, Int64, neighbour),
		"type-u1.hdf5":            train(4, 3, Uint8, counter(3)),
	} {
		data := load(t, file)
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, s := range sets {
			d, err := f.Dataset(s.name)
			if err != nil {
				t.Errorf("%s: %s: %v", file, s.name, err)
				continue
			}
			if d.Rows != s.rows || d.Cols != s.cols || d.Kind != s.kind {
				t.Errorf("%s: %s: %d x %d %v, want %d x %d %v", file, s.name, d.Rows, d.Cols, d.Kind, s.rows, s.cols, s.kind)
				continue
			}
			checkRows(t, file+": "+s.name, d, s.want)
		}
	}
}

// checkRows compares all rows with a formula.
func checkRows(t *testing.T, name string, d *Dataset, want func(r, c int) float64) {
	t.Helper()
	scan := d.Scan()
	for r := range int(d.Rows) {
		row, err := scan.Next()
		if err != nil {
			t.Errorf("%s: row %d: %v", name, r, err)
			return
		}
		for c := range int(d.Cols) {
			if got := number(d.Kind, row, c); got != want(r, c) {
				t.Errorf("%s: value %d, %d is %v, want %v", name, r, c, got, want(r, c))
				return
			}
		}
	}
	if _, err := scan.Next(); err != io.EOF {
		t.Errorf("%s: after the last row: %v, want io.EOF", name, err)
	}
}

func TestRefused(t *testing.T) {
	for name, want := range map[string]string{
		"big-endian": "want little-endian", "rank1": "want 2 dimensions, got 1", "rank3": "want 2 dimensions, got 3",
		"uint32": "class 0", "text": "class 9", "lzf": `filter 32000 "lzf`, "fletcher32": "filter 3",
		"extensible": "want a chunk index of type 1 to 3, got 4", "btree2": "want a chunk index of type 1 to 3, got 5",
		"unwritten": "want values stored in the file, got none", "hole": "want 2 x 1 chunks, got 1",
		"group": "an object without them", "dense": "dense links",
	} {
		data := load(t, "refused-"+name+".hdf5")
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err == nil {
			_, err = f.Dataset("train")
		}
		var fe *Error
		if !errors.As(err, &fe) || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want an *Error with %q", name, err, want)
		}
	}
}

func TestMissingDatasetNamesOthers(t *testing.T) {
	data := load(t, "plain.hdf5")
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Dataset("absent")
	if err == nil || !strings.Contains(err.Error(), `"absent"`) || !strings.Contains(err.Error(), `"train"`) {
		t.Errorf("error %v, want the wanted and the present names", err)
	}
}

// readAll opens every data set of a file and reads it to its end.
func readAll(data []byte, verify bool) error {
	f, err := open(bytes.NewReader(data), int64(len(data)), verify)
	if err != nil {
		return err
	}
	var names []string
	if err := f.links(func(name []byte, _ int64) { names = append(names, string(name)) }); err != nil {
		return err
	}
	var first error
	for _, name := range names {
		d, err := f.Dataset(name)
		if err == nil {
			scan := d.Scan()
			for err == nil {
				_, err = scan.Next()
			}
		}
		if err != io.EOF && first == nil {
			first = err
		}
	}
	return first
}

// No prefix of a file is a file, and none crashes the reader.
func TestTruncated(t *testing.T) {
	for _, name := range []string{"plain.hdf5", "gzip-shuffle.hdf5", "fixed-gzip.hdf5", "single-gzip.hdf5"} {
		data := load(t, name)
		if err := readAll(data, true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := 0; n < len(data); n += 1 + n/64 {
			if err := readAll(data[:n:n], true); !errors.Is(err, ErrFormat) {
				t.Fatalf("%s: the first %d of %d bytes: %v, want ErrFormat", name, n, len(data), err)
			}
		}
	}
}

// A flipped bit in a structure with a checksum is found.
func TestChecksums(t *testing.T) {
	data := load(t, "fixed-gzip.hdf5")
	for _, sign := range []string{signature, "OHDR", "FAHD", "FADB"} {
		at := bytes.LastIndex(data, []byte(sign))
		if at < 0 {
			t.Fatalf("no %q in the file", sign)
		}
		bad := bytes.Clone(data)
		bad[at+len(sign)+4] ^= 0x40
		if err := readAll(bad, true); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v, want ErrFormat", sign, err)
		}
	}
}

func TestLookup3(t *testing.T) {
	// Both are from the author's own test, driver5 of lookup3.c.
	for in, want := range map[string]uint32{
		"": 0xdeadbeef, "Four score and seven years ago": 0x17770551,
	} {
		if got := lookup3([]byte(in)); got != want {
			t.Errorf("lookup3(%q) = %#x, want %#x", in, got, want)
		}
	}
}

// shrinking is a file that ends before the size it was opened with.
type shrinking struct {
	io.ReaderAt
	end int64
}

func (s shrinking) ReadAt(p []byte, off int64) (int, error) {
	if off >= s.end {
		return 0, io.EOF
	}
	n, err := s.ReaderAt.ReadAt(p[:min(int64(len(p)), s.end-off)], off)
	if n < len(p) && err == nil {
		err = io.EOF
	}
	return n, err
}

// No failure passes for the sound end of the rows: neither a stream that is cut
// short within a chunk nor a file that shrinks.
func TestFailureIsNotEOF(t *testing.T) {
	for _, name := range []string{"gzip.hdf5", "plain.hdf5"} {
		data := load(t, name)
		size := int64(len(data))
		f, err := Open(bytes.NewReader(data), size)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Dataset("train")
		if err != nil {
			t.Fatal(err)
		}
		if d.layout.chunked {
			// A zlib stream of no blocks: header, final empty block, checksum.
			copy(data[d.layout.chunks[0].addr:], "\x78\x9c\x03\x00\x00\x00\x00\x01")
			if _, err := d.Scan().Next(); errors.Is(err, io.EOF) || !errors.Is(err, ErrFormat) {
				t.Errorf("%s: empty stream: %v, want ErrFormat and not io.EOF", name, err)
			}
		}
		f.at = shrinking{bytes.NewReader(data), 64}
		if _, err := d.Scan().Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: shrunk: %v, want an error that is not io.EOF", name, err)
		}
	}
}
