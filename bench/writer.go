package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// FBinWriter streams rows into an .fbin file. The file appears under its name,
// complete and synced, when Close returns nil, and not before; until then the rows
// are in a file beside it whose name ends in ".partial". It is not safe for use by
// several goroutines at once.
type FBinWriter struct{ w binWriter }

// IBinWriter is [FBinWriter] for the int32 rows of an .ibin file.
type IBinWriter struct{ w binWriter }

// CreateFBin begins a file of rows of dim values, dim >= 1.
func CreateFBin(path string, dim int) (*FBinWriter, error) {
	w := new(FBinWriter)
	if err := w.w.create(path, dim); err != nil {
		return nil, err
	}
	return w, nil
}

// CreateIBin begins a file of rows of k values, k >= 1.
func CreateIBin(path string, k int) (*IBinWriter, error) {
	w := new(IBinWriter)
	if err := w.w.create(path, k); err != nil {
		return nil, err
	}
	return w, nil
}

// Write appends one row. Its length must be the writer's dimension.
func (w *FBinWriter) Write(row []float32) error {
	b, err := w.w.room(len(row))
	if err != nil {
		return err
	}
	for i, v := range row {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return w.w.put(b)
}

// Write appends one row. Its length must be the writer's.
func (w *IBinWriter) Write(row []int32) error {
	b, err := w.w.room(len(row))
	if err != nil {
		return err
	}
	for i, v := range row {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
	}
	return w.w.put(b)
}

// Close completes the file and moves it into place. After a failed Write it
// discards the file and returns that failure. A second Close does nothing.
func (w *FBinWriter) Close() error { return w.w.finish() }

// Close is [FBinWriter.Close].
func (w *IBinWriter) Close() error { return w.w.finish() }

// Abort discards the file unless Close was called before.
func (w *FBinWriter) Abort() error { return w.w.abort() }

// Abort is [FBinWriter.Abort].
func (w *IBinWriter) Abort() error { return w.w.abort() }

// WriteFBin writes a whole matrix, e.g. distances, as [FBinWriter] does.
func WriteFBin(path string, m *Matrix) error {
	w, err := CreateFBin(path, m.Cols)
	if err != nil {
		return err
	}
	for i := range m.Rows {
		if err := w.Write(m.Row(i)); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Close()
}

// WriteIBin writes a whole table of neighbours as [IBinWriter] does.
func WriteIBin(path string, n *Neighbors) error {
	w, err := CreateIBin(path, n.K)
	if err != nil {
		return err
	}
	for i := range n.Rows {
		if err := w.Write(n.Row(i)); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Close()
}

// binWriter writes the rows behind a header whose row count is filled in last.
type binWriter struct {
	path string
	dim  int
	rows uint32
	f    *os.File // nil once closed
	buf  *bufio.Writer
	row  []byte
	err  error // first failure, kept
}

func (w *binWriter) create(path string, dim int) error {
	if dim < 1 || dim > math.MaxInt32/4 {
		return fmt.Errorf("bench: create %s: dimension %d outside 1 to %d", path, dim, math.MaxInt32/4)
	}
	// The finished file is renamed into place, which would replace a device.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("bench: create %s: it exists and is not a regular file", path)
	}
	f, err := os.Create(path + ".partial")
	if err != nil {
		return fmt.Errorf("bench: create %s: %w", path, err)
	}
	*w = binWriter{path: path, dim: dim, f: f, buf: bufio.NewWriterSize(f, bufferBytes), row: make([]byte, 4*dim)}
	// Rows unknown yet: zero, with which the file is invalid by its trailing bytes.
	return w.put(binary.LittleEndian.AppendUint32(make([]byte, 4, 8), uint32(dim)))
}

// room checks a row's length and returns the bytes to put it into.
func (w *binWriter) room(n int) ([]byte, error) {
	switch {
	case w.f == nil:
		return nil, fmt.Errorf("bench: write %s: %w", w.path, os.ErrClosed)
	case w.err != nil:
		return nil, w.err
	case n != w.dim:
		return nil, fmt.Errorf("bench: write %s: row of %d values, want %d", w.path, n, w.dim)
	case w.rows == math.MaxUint32:
		return nil, fmt.Errorf("bench: write %s: more than %d rows", w.path, uint32(math.MaxUint32))
	}
	w.rows++
	return w.row, nil
}

func (w *binWriter) put(b []byte) error {
	if _, err := w.buf.Write(b); err != nil {
		w.err = fmt.Errorf("bench: write %s: %w", w.path, err)
	}
	return w.err
}

func (w *binWriter) finish() error {
	if w.f == nil {
		return nil
	}
	if w.err == nil {
		w.err = w.commit()
	}
	if w.err != nil {
		return errors.Join(w.err, w.abort())
	}
	return nil
}

// commit writes the header and makes the file durable before it takes its name, so
// that the name never refers to a part of it.
func (w *binWriter) commit() error {
	if err := w.buf.Flush(); err != nil {
		return fmt.Errorf("bench: write %s: %w", w.path, err)
	}
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], w.rows)
	if _, err := w.f.WriteAt(head[:], 0); err != nil {
		return fmt.Errorf("bench: write %s: %w", w.path, err)
	}
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("bench: sync %s: %w", w.path, err)
	}
	if err := os.Rename(w.f.Name(), w.path); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	f := w.f
	w.f = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("bench: close %s: %w", w.path, err)
	}
	return nil
}

func (w *binWriter) abort() error {
	if w.f == nil {
		return nil
	}
	f := w.f
	w.f = nil
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
