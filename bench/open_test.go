package bench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenBinary(t *testing.T) {
	halves := le(uint32(3), uint32(2), []uint16{0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x3555})
	for _, c := range []struct {
		name string
		data []byte
		want [][]float32
	}{
		{"a.fbin", le(uint32(2), uint32(3), []float32{1, 2, -3, 4.5, 5, 6}), [][]float32{{1, 2, -3}, {4.5, 5, 6}}},
		{"a.FBIN", le(uint32(1), uint32(1), float32(1e38)), [][]float32{{1e38}}},
		{"a.u8bin", append(le(uint32(2), uint32(2)), 0, 1, 128, 255), [][]float32{{0, 1}, {128, 255}}},
		{"a.i8bin", append(le(uint32(1), uint32(2)), 0x80, 0x7f), [][]float32{{-128, 127}}},
		{"a.ibin", le(uint32(1), uint32(2), []int32{-5, 1 << 24}), [][]float32{{-5, 1 << 24}}},
		{"a.f16bin", halves, [][]float32{{1, -2}, {0x1p-24, 65504}, {float32FromBits(1 << 31), 0x1.554p-2}}},
		{"a.fvecs", le(int32(2), []float32{1, 2}, int32(2), []float32{3, 4}), [][]float32{{1, 2}, {3, 4}}},
		{"a.bvecs", append(le(int32(3)), 1, 2, 255), [][]float32{{1, 2, 255}}},
		{"a.ivecs", le(int32(1), int32(-7), int32(1), int32(8)), [][]float32{{-7}, {8}}},
		{"empty.fbin", le(uint32(0), uint32(3)), nil},
		{"braces.fbin", le(uint32('{'), uint32(1), make([]float32, '{')), make1(t, '{')},
	} {
		r, err := Open(put(t, c.name, c.data))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		sameTable(t, c.name, readAll(t, r).vectors, c.want)
	}
}

// make1 is a column of n zeros.
func make1(t *testing.T, n int) [][]float32 {
	t.Helper()
	return table(n, 1, func(_, _ int) float32 { return 0 })
}

func TestOpenStored(t *testing.T) {
	byteTable := table(5, 3, func(r, c int) float32 { return float32(3*r + c) })
	for name, want := range map[string][][]float32{
		"f2.npy": table(5, 3, value), "f4.npy": table(5, 3, value), "f8.npy": table(5, 3, value),
		"v2.npy": table(5, 3, value), "v3.npy": table(5, 3, value),
		"i1.npy": table(5, 3, neighbour), "i2.npy": table(5, 3, neighbour),
		"i4.npy": table(5, 3, neighbour), "i8.npy": table(5, 3, neighbour), "u1.npy": byteTable,
		"plain.hdf5": table(20, 6, value), "gzip-shuffle.hdf5": table(20, 6, value),
		"list.parquet": table(10, 4, value), "fixed.parquet": table(10, 4, value),
		"double.parquet": table(10, 4, value), "two.parquet": table(10, 4, value),
		"encoded.parquet": table(10, 4, value),
	} {
		r, err := Open(seedPath(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameTable(t, name, readAll(t, r).vectors, want)
	}
}

// Content decides over the name.
func TestOpenByContent(t *testing.T) {
	for name, as := range map[string]string{
		"f4.npy": "a.fbin", "plain.hdf5": "a.npy", "list.parquet": "a.jsonl",
	} {
		r, err := Open(put(t, as, seed(t, name)))
		if err != nil {
			t.Errorf("%s as %s: %v", name, as, err)
			continue
		}
		readAll(t, r)
	}
	r, err := Open(put(t, "a.fbin", []byte(" \n[1,2]\n[3,4]")))
	if err != nil {
		t.Fatal(err)
	}
	sameTable(t, "JSON as a.fbin", readAll(t, r).vectors, [][]float32{{1, 2}, {3, 4}})
}

func TestHDF5Dataset(t *testing.T) {
	r, err := OpenOptions(seedPath("plain.hdf5"), Options{Dataset: "test"})
	if err != nil {
		t.Fatal(err)
	}
	sameTable(t, "test", readAll(t, r).vectors, table(3, 6, value))
}

func TestMalformed(t *testing.T) {
	nan := []byte{0, 0, 0xc0, 0x7f}
	inf := []byte{0, 0, 0x80, 0xff}
	npy := func(header string) []byte {
		return append(append([]byte(magicNpy), 1, 0, byte(len(header)), 0), header...)
	}
	for _, c := range []struct {
		name string
		data []byte
		off  int64
		want string // in the message
	}{
		{"empty.fbin", nil, 0, "want a data file, got an empty file"},
		{"header.fbin", le(uint32(1)), 0, "want 8 bytes of header"},
		{"zero-dim.fbin", le(uint32(1), uint32(0)), 4, "want a dimension of 1 to 4096, got 0"},
		{"wide.fbin", le(uint32(1), uint32(4097)), 4, "got 4097"},
		{"wider.fbin", le(uint32(1<<31), uint32(1<<31)), 4, "got 2147483648"},
		{"short.fbin", le(uint32(3), uint32(1), []float32{1, 2}), 8, "want 3 rows of 4 bytes as the header says, got 8 bytes, room for 2 rows"},
		{"huge.fbin", le(uint32(1<<32-1), uint32(4096)), 8, "want 4294967295 rows of 16384 bytes"},
		{"cut.fbin", le(uint32(1), uint32(2), float32(1)), 8, "room for 0 rows"},
		{"long.fbin", le(uint32(1), uint32(1), float32(1), uint8(0)), 12, "want the end of the file after the last row, got 1 more bytes"},
		{"nan.fbin", append(le(uint32(2), uint32(2), []float32{1, 2, 3}), nan...), 20, "got NaN in row 1, column 1"},
		{"inf.fbin", append(le(uint32(1), uint32(1)), inf...), 8, "got -Inf in row 0, column 0"},
		{"inf.f16bin", le(uint32(1), uint32(2), []uint16{0, 0x7c00}), 10, "want a finite value"},
		{"short.u8bin", append(le(uint32(2), uint32(2)), 1, 2, 3), 8, "room for 1 rows"},
		{"empty.fvecs", nil, 0, "got an empty file"},
		{"dim.fvecs", []byte{1, 0}, 0, "end of file after 2 bytes"},
		{"zero-dim.fvecs", le(int32(0)), 0, "want a dimension of 1 to 4096, got 0"},
		{"negative.fvecs", le(int32(-1), int32(0)), 0, "got -1"},
		{"cut.fvecs", le(int32(1), float32(1), int32(1)), 8, "want a whole row of 8 bytes (dimension 1), got 4 bytes"},
		{"varies.fvecs", le(int32(1), float32(1), int32(2), float32(1)), 8, "want dimension 1 as in the first row, got 2 in row 1"},
		{"nan.fvecs", append(le(int32(1)), nan...), 4, "got NaN in row 0"},
		{"magic.npy", []byte("\x93NUMPX\x01\x00"), 0, "want the NumPy magic"},
		{"version.npy", []byte("\x93NUMPY\x04\x00"), 6, "want NumPy format version 1, 2 or 3, got 4"},
		{"length.npy", []byte("\x93NUMPY\x01\x00\xff\x7f"), 8, "want a header length of at most"},
		{"cut.npy", []byte("\x93NUMPY\x01"), 0, "end of file after 7"},
		{"dict.npy", npy("{'descr': '<f4'}"), 10, "got 1 of 3 keys"},
		{"twice.npy", npy("{'descr': '<f4', 'descr': '<f4', 'shape': (1,1)}"), 10, "got descr twice"},
		{"key.npy", npy("{'dtype': '<f4'}"), 10, `key "dtype"`},
		{"tail.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1)}x"), 10, "after the dictionary"},
		{"size.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,1)}"), 10, "where a size belongs"},
		{"overflow.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,4)}"), 84, "want 4611686018427387905 rows"},
		{"record.npy", npy("{'descr': [('a','<f4')], 'fortran_order': False, 'shape': (1,1)}"), 10, "where a quoted text belongs"},
		{"short.npy", append(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,1)}"), 1, 2, 3, 4), 66, "room for 1 rows"},
		{"magic.hdf5", []byte("\x89HDF\r\n\x1a\r........"), 0, "want the signature"},
		{"cut.hdf5", []byte(magicHDF5), 8, "superblock"},
		{"magic.parquet", []byte("PAR2....PAR1"), 0, `want "PAR1" at the start`},
		{"tail.parquet", []byte("PAR1....PAR2"), 8, `want "PAR1" at the end of the file`},
		{"cut.parquet", []byte("PAR1.PAR1"), 9, "want a file of at least 12 bytes"},
		{"footer.parquet", []byte("PAR1\x01\x00\x00\x00PAR1"), 4, "want a footer of at most 0 bytes, got 1"},
	} {
		r, err := Open(put(t, c.name, c.data))
		if err == nil {
			for row := new(Row); err == nil; {
				err = r.Next(row)
			}
		}
		checkFault(t, c.name, err, c.off, c.want)
	}
}

// checkFault checks the type, the place and the message of an error.
func checkFault(t *testing.T, name string, err error, off int64, want string) {
	t.Helper()
	var fe *FormatError
	if !errors.As(err, &fe) || !errors.Is(err, ErrFormat) {
		t.Errorf("%s: error %v, want a *FormatError", name, err)
		return
	}
	if filepath.Base(fe.Path) != name || off >= 0 && fe.Offset != off || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %q at %d, want offset %d and %q", name, err, fe.Offset, off, want)
	}
}

func TestRefusedStored(t *testing.T) {
	for name, want := range map[string]string{
		"refused-fortran.npy": "want C order", "refused-big-endian.npy": `">f4"`,
		"refused-rank1.npy": "want a shape of two dimensions, got [3]", "refused-u4.npy": `"<u4"`,
		"refused-rank3.hdf5": "want 2 dimensions, got 3", "refused-lzf.hdf5": "filter 32000",
		"refused-ragged.parquet":           "want a vector of 4 values as in the first row, got 3 in row 7",
		"refused-null.parquet":             "a missing or empty one, or a missing value in it in row 7",
		"refused-lz4.parquet":              "want codec 0, 1, 2 or 6 (none, snappy, gzip, zstd), got 7 in column \"vector\"",
		"refused-delta-byte-array.parquet": "in column \"key\": encoding 7 is not read",
		"refused-none.parquet":             `got the columns ["vector"]`,
		"refused-which.parquet":            `got the columns ["a" "b"]`,
	} {
		r, err := Open(seedPath(name))
		if err == nil {
			for row := new(Row); err == nil; {
				err = r.Next(row)
			}
		}
		checkFault(t, name, err, -1, want)
	}
}

// Every file that is cut anywhere is an error, never a shorter data set.
func TestTruncated(t *testing.T) {
	for _, name := range []string{"f4.npy", "gzip.hdf5", "list.parquet", "fixed.parquet", "encoded.parquet"} {
		data := seed(t, name)
		for n := 0; n < len(data); n += 1 + n/50 {
			src := newSource(name, bytes.NewReader(data[:n]), int64(n), nil)
			if err := drain(src, Options{}); !errors.Is(err, ErrFormat) {
				t.Fatalf("%s: the first %d of %d bytes: %v, want ErrFormat", name, n, len(data), err)
			}
		}
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "absent.fbin")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v, want os.ErrNotExist", err)
	}
	if _, err := Open(t.TempDir()); err == nil || errors.Is(err, ErrFormat) {
		t.Errorf("directory: %v, want an error that is not of format", err)
	}
	if _, err := Open(put(t, "a.csv", []byte("1,2,3"))); !errors.Is(err, ErrUnknownFormat) {
		t.Errorf("csv: %v, want ErrUnknownFormat", err)
	}
	if _, err := OpenOptions(put(t, "a.fbin", le(uint32(1), uint32(5), make([]float32, 5))), Options{MaxDim: 4}); !errors.Is(err, ErrFormat) {
		t.Errorf("MaxDim: %v, want ErrFormat", err)
	}
}
