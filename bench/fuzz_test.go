package bench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Every target holds three things for any bytes: no panic, no error but a
// *FormatError, and no more memory than the number of bytes justifies.

// allocated returns the bytes that run allocates. Nothing else may be running.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// hold runs read on data and checks the three; each byte may cost perByte.
func hold(t *testing.T, data []byte, perByte int, read func(src *source) error) {
	t.Helper()
	var err error
	got := allocated(func() { err = read(newSource("fuzz", bytes.NewReader(data), int64(len(data)), nil)) })
	if err != nil && !errors.Is(err, ErrFormat) {
		t.Errorf("error %v, want a *FormatError", err)
	}
	if most := uint64(perByte*len(data) + 1<<20); got > most {
		t.Errorf("%d bytes allocated for a file of %d, want at most %d", got, len(data), most)
	}
}

// addSeeds adds the files that match a pattern.
func addSeeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds %s: %v", pattern, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// drainRaw reads all rows both ways.
func drainRaw(open func() (rawRows, error)) error {
	raw, err := open()
	if err != nil {
		return err
	}
	rows, dim := raw.shape()
	r := newFloatReader("fuzz", raw)
	ints := make([]int32, min(dim, 1<<20))
	var row Row
	for range rows {
		if err := r.Next(&row); err != nil {
			return err
		}
		if e := raw.element(); e.isInt() && dim == len(ints) {
			e.ints(ints, make([]byte, dim*e.size()))
		}
	}
	return nil
}

func FuzzBin(f *testing.F) {
	f.Add(le(uint32(2), uint32(3), make([]float32, 6)), uint8(elemF32))
	f.Add(append(le(uint32(2), uint32(2)), 1, 2, 3, 4), uint8(elemU8))
	f.Add(le(uint32(2), uint32(1), []uint16{0x3c00, 0x7c00}), uint8(elemF16))
	f.Add(le(uint32(1<<31), uint32(4096)), uint8(elemI32))
	f.Fuzz(func(t *testing.T, data []byte, elem uint8) {
		hold(t, data, 64, func(src *source) error {
			return drainRaw(func() (rawRows, error) {
				return openBin(src, element(elem)%element(len(elementSizes)), Options{}.withDefaults())
			})
		})
	})
}

func FuzzVecs(f *testing.F) {
	f.Add(le(int32(2), []float32{1, 2}, int32(2), []float32{3, 4}), uint8(elemF32))
	f.Add(append(le(int32(3)), 1, 2, 3), uint8(elemU8))
	f.Add(le(int32(1), int32(5), int32(2), int32(6)), uint8(elemI32))
	f.Fuzz(func(t *testing.T, data []byte, elem uint8) {
		hold(t, data, 64, func(src *source) error {
			return drainRaw(func() (rawRows, error) {
				return openVecs(src, element(elem)%element(len(elementSizes)), Options{}.withDefaults())
			})
		})
	})
}

func FuzzNpy(f *testing.F) {
	addSeeds(f, filepath.Join("testdata", "*.npy"))
	f.Fuzz(func(t *testing.T, data []byte) {
		hold(t, data, 64, func(src *source) error {
			return drainRaw(func() (rawRows, error) { return openNpy(src, Options{}.withDefaults()) })
		})
	})
}

func FuzzHDF5(f *testing.F) {
	addSeeds(f, filepath.Join("hdf5", "testdata", "*.hdf5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		// 1032 is what deflate can reach, in three buffers and a table.
		hold(t, data, 4*1032, func(src *source) error {
			return drainRaw(func() (rawRows, error) { return openHDF5(src, Options{}.withDefaults()) })
		})
	})
}

func FuzzParquet(f *testing.F) {
	addSeeds(f, filepath.Join("testdata", "*.parquet"))
	f.Fuzz(func(t *testing.T, data []byte) {
		// Pages may expand to 64 values a byte, of up to 24 bytes as slices in Go,
		// in three columns; the structures of the footer are some hundred bytes
		// each.
		hold(t, data, 3*64*(24+8+4+2+1)+1024, func(src *source) error {
			r, err := openParquet(src, Options{}.withDefaults())
			if err != nil {
				return err
			}
			var row Row
			for err == nil {
				err = r.Next(&row)
			}
			return errors.Join(ignoreEOF(err), r.Close())
		})
	})
}

func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		`[1,2]` + "\n" + `[3e5,-4.25E-3]`,
		`{"key":"a","vector":[1],"metadata":{"a":[{"b":null}]}}` + "\n\n" + `{"id":7,"values":[0.1]}`,
		`{"key":"\u00e9","data":{"float32":[1e38, 12345678901234567890]},"x":"\"{"}`,
		"\xef\xbb\xbf[1]\r\n[2]", `{"vector":[1],"metadata":null}`, `{"vector":[1,]}`, `[1e400]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hold(t, []byte(text), 64, func(src *source) error {
			r, err := openJSONL(src, Options{MaxLine: 1 << 16}.withDefaults())
			if err != nil {
				return err
			}
			var row Row
			for lines := strings.Count(text, "\n") + 1; lines >= 0; lines-- {
				if err := r.Next(&row); err != nil {
					return ignoreEOF(err)
				}
				if len(row.Vector) != r.Dim() || row.Metadata != nil && !isJSONObject(row.Metadata) {
					return errors.New("a row that is not one")
				}
			}
			return errors.New("more rows than lines")
		})
	})
}
