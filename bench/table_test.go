package bench

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func float32FromBits(u uint32) float32 { return math.Float32frombits(u) }

func TestReadInts(t *testing.T) {
	want := []int32{0, -1, 1<<31 - 1, -1 << 31}
	for name, data := range map[string][]byte{
		"a.ibin":  le(uint32(2), uint32(2), want),
		"a.ivecs": le(int32(2), want[:2], int32(2), want[2:]),
	} {
		n, err := ReadInts(put(t, name, data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n.Rows != 2 || n.K != 2 || !slices.Equal(n.IDs, want) || !slices.Equal(n.Row(1), want[2:]) {
			t.Errorf("%s: %+v, want %v", name, n, want)
		}
	}
	n, err := ReadInts(seedPath("gzip-shuffle.hdf5"))
	if err != nil || n.Rows != 3 || n.K != 4 || n.IDs[7] != 7-3 {
		t.Errorf("hdf5: %+v, %v", n, err)
	}
	if n, err := ReadInts(seedPath("i8.npy")); err != nil || n.IDs[14] != 4*7-2 {
		t.Errorf("npy: %+v, %v", n, err)
	}
}

func TestReadIntsRefuses(t *testing.T) {
	for name, data := range map[string][]byte{
		"floats.fbin": le(uint32(1), uint32(1), float32(1)),
		"wide.npy": append([]byte("\x93NUMPY\x01\x00\x38\x00{'descr': '<i8', 'fortran_order': False, 'shape': (1,1)}"),
			le(int64(1<<31))...),
		"text.jsonl": []byte("[1]"),
		"short.ibin": le(uint32(2), uint32(1), int32(1)),
	} {
		if _, err := ReadInts(put(t, name, data)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, want ErrFormat", name, err)
		}
	}
}

func TestReadFloats(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, data := range map[string][]byte{
		"a.fbin":  le(uint32(1), uint32(2), []float32{1.5, inf}),
		"a.fvecs": le(int32(2), []float32{1.5, inf}),
	} {
		m, err := ReadFloats(put(t, name, data))
		if err != nil || m.Rows != 1 || m.Cols != 2 || !slices.Equal(m.Row(0), []float32{1.5, inf}) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	m, err := ReadFloats(seedPath("plain.hdf5"))
	if err != nil || m.Rows != 3 || m.Cols != 4 || m.Row(2)[3] != value(2, 3) {
		t.Errorf("hdf5: %+v, %v", m, err)
	}
	nan := float32(math.NaN())
	if _, err := ReadFloats(put(t, "nan.fbin", le(uint32(1), uint32(1), nan))); !errors.Is(err, ErrFormat) {
		t.Errorf("NaN: %v, want ErrFormat", err)
	}
}

// What is written is read back, by whichever way.
func TestWriteRead(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(1, 20).Draw(t, "cols")
		m := &Matrix{Rows: rows, Cols: cols, Values: rapid.SliceOfN(rapid.Float32(), rows*cols, rows*cols).Draw(t, "floats")}
		n := &Neighbors{Rows: rows, K: cols, IDs: rapid.SliceOfN(rapid.Int32(), rows*cols, rows*cols).Draw(t, "ints")}
		fbin, ibin := filepath.Join(dir, "a.fbin"), filepath.Join(dir, "a.ibin")
		if err := errors.Join(WriteFBin(fbin, m), WriteIBin(ibin, n)); err != nil {
			t.Fatal(err)
		}
		gotM, errM := ReadFloats(fbin)
		gotN, errN := ReadInts(ibin)
		if err := errors.Join(errM, errN); err != nil {
			t.Fatal(err)
		}
		if gotM.Rows != rows || gotM.Cols != cols || !slices.Equal(gotM.Values, m.Values) {
			t.Fatalf("read %+v, wrote %+v", gotM, m)
		}
		if gotN.Rows != rows || gotN.K != cols || !slices.Equal(gotN.IDs, n.IDs) {
			t.Fatalf("read %+v, wrote %+v", gotN, n)
		}
		vectors, err := ReadVectors(fbin, Options{})
		if err != nil || len(vectors) != rows {
			t.Fatalf("%d vectors, %v", len(vectors), err)
		}
	})
}

// A file has its name only when it is complete.
func TestWriterIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.fbin")
	w, err := CreateFBin(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before Close: %v, want no file", err)
	}
	if err := errors.Join(w.Close(), w.Close(), w.Abort()); err != nil {
		t.Errorf("Close twice, then Abort: %v", err)
	}
	if err := w.Write([]float32{1, 2}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: %v, want os.ErrClosed", err)
	}
	if m, err := ReadFloats(path); err != nil || m.Rows != 1 {
		t.Errorf("after Close: %+v, %v", m, err)
	}

	iw, err := CreateIBin(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := iw.Write([]int32{1}); err == nil {
		t.Error("a row of another length was accepted")
	}
	if err := iw.Abort(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("after Abort: %v, %v, want the first file only", left, err)
	}
	if m, err := ReadFloats(path); err != nil || m.Rows != 1 {
		t.Errorf("the file from before: %+v, %v", m, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	if _, err := CreateFBin(filepath.Join(t.TempDir(), "a.fbin"), 0); err == nil {
		t.Error("dimension 0 was accepted")
	}
	if _, err := CreateIBin(filepath.Join(t.TempDir(), "no", "a.ibin"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory that is not there: %v", err)
	}
}
