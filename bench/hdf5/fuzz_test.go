package hdf5

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// allocated returns the bytes that run allocates. Nothing else may be running.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Any bytes give rows or an *Error, and cost memory in proportion to their number:
// what deflate can make of them, in three buffers, and the index.
func FuzzDataset(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.hdf5"))
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
		var err error
		got := allocated(func() { err = readTrain(data) })
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("error %v, want an *Error", err)
		}
		if most := uint64(4*maxDeflate*len(data) + 1<<20); got > most {
			t.Errorf("%d bytes allocated for a file of %d, want at most %d", got, len(data), most)
		}
	})
}

// readTrain reads the data set train without looking at checksums, which would stop
// the fuzzer at the door.
func readTrain(data []byte) error {
	f, err := open(bytes.NewReader(data), int64(len(data)), false)
	if err != nil {
		return err
	}
	d, err := f.Dataset("train")
	if err != nil {
		return err
	}
	scan := d.Scan()
	for rows := int64(0); ; rows++ {
		row, err := scan.Next()
		if errors.Is(err, io.EOF) && rows == d.Rows {
			return nil
		}
		if err != nil {
			return err
		}
		if int64(len(row)) != d.rowBytes() {
			return errors.New("a row of another length")
		}
	}
}
