package bench

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The formulas of testdata/make.py: exact in every float type.
func value(r, c int) float32     { return float32(r) + float32(c)/16 }
func neighbour(r, c int) float32 { return float32(7*r - c) }

// table makes rows of a formula.
func table(rows, cols int, f func(r, c int) float32) [][]float32 {
	t := make([][]float32, rows)
	for r := range t {
		t[r] = make([]float32, cols)
		for c := range t[r] {
			t[r][c] = f(r, c)
		}
	}
	return t
}

// put writes a file into the test's own directory and returns its path.
func put(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// seed returns the bytes of a file under testdata or, for HDF5, of the package that
// reads it.
func seed(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(seedPath(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func seedPath(name string) string {
	if strings.HasSuffix(name, ".hdf5") {
		return filepath.Join("hdf5", "testdata", name)
	}
	return filepath.Join("testdata", name)
}

// le encodes fixed-size values one after another.
func le(values ...any) []byte {
	var b []byte
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

// collected is what readAll found.
type collected struct {
	vectors [][]float32
	keys    []string // "-" where there is none
	meta    []string
}

// readAll reads r to its end with one Row, as callers do, and closes it.
func readAll(t testing.TB, r Reader) collected {
	t.Helper()
	var all collected
	var row Row
	for {
		err := r.Next(&row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("row %d: %v", len(all.vectors), err)
		}
		if len(row.Vector) != r.Dim() {
			t.Fatalf("row %d has %d values, Dim is %d", len(all.vectors), len(row.Vector), r.Dim())
		}
		key := "-"
		if row.HasKey {
			key = row.Key
		}
		all.vectors = append(all.vectors, append([]float32(nil), row.Vector...))
		all.keys = append(all.keys, key)
		all.meta = append(all.meta, string(row.Metadata))
	}
	if err := r.Next(&row); !errors.Is(err, io.EOF) {
		t.Errorf("Next after the end: %v, want io.EOF", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := r.Rows(); n >= 0 && n != int64(len(all.vectors)) {
		t.Errorf("%d rows read, Rows is %d", len(all.vectors), n)
	}
	return all
}

// sameTable compares bit for bit.
func sameTable(t testing.TB, name string, got, want [][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
		return
	}
	for r := range want {
		if len(got[r]) != len(want[r]) {
			t.Errorf("%s: row %d has %d values, want %d", name, r, len(got[r]), len(want[r]))
			return
		}
		for c := range want[r] {
			if math.Float32bits(got[r][c]) != math.Float32bits(want[r][c]) {
				t.Errorf("%s: value %d, %d is %v, want %v", name, r, c, got[r][c], want[r][c])
				return
			}
		}
	}
}

// drain opens a source and reads it to its end or first error.
func drain(src *source, o Options) error {
	r, err := newReader(src, o.withDefaults())
	if err != nil {
		return err
	}
	var row Row
	for {
		if err := r.Next(&row); err != nil {
			if errors.Is(err, io.EOF) {
				return r.Close()
			}
			return errors.Join(err, r.Close())
		}
	}
}

// jsonText encodes a string.
func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// ignoreEOF makes the end of a file no error.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
