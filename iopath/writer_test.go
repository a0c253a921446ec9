package iopath

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// eachWriter runs a test with and without direct I/O.
func eachWriter(t *testing.T, test func(t *testing.T, e *Engine)) {
	for _, direct := range []string{Auto, DirectOff} {
		t.Run("direct="+direct, func(t *testing.T) {
			test(t, openEngine(t, Config{Engine: Pread, Direct: direct}))
		})
	}
}

// create makes a writer of a new file.
func create(t *testing.T, e *Engine) (*Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	w, err := e.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return w, path
}

// TestWriterAnySequence writes pieces of any size with Syncs between them:
// after each Sync the file has exactly what was written.
func TestWriterAnySequence(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		path := filepath.Join(t.TempDir(), "out")
		all := content(5 << 20)
		rapid.Check(t, func(t *rapid.T) {
			w, err := e.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			same := func(when string) {
				got, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, all[:size]) {
					t.Fatalf("%s the file has %d bytes, %d were written, or others", when, len(got), size)
				}
			}
			for range rapid.IntRange(0, 6).Draw(t, "writes") {
				n := rapid.OneOf(rapid.IntRange(0, 5000), rapid.IntRange(0, 700_000)).Draw(t, "n")
				if got, err := w.Write(all[size:][:n]); got != n || err != nil {
					t.Fatalf("wrote %d of %d: %v", got, n, err)
				}
				size += n
				if w.Size() != int64(size) {
					t.Fatalf("size %d after %d bytes", w.Size(), size)
				}
				switch rapid.IntRange(0, 4).Draw(t, "then") {
				case 0:
					if err := w.Sync(); err != nil {
						t.Fatal(err)
					}
					same("after Sync")
				case 1:
					if err := w.Preallocate(int64(size + 100_000)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			same("after Close")
		})
	})
}

func TestWriterReplacesFile(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, content(100_000), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := e.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Size() != 0 {
			t.Errorf("%v, %v", st.Size(), err)
		}
	})
}

func TestWriterAfterClose(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		w, _ := create(t, e)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, werr := w.Write([]byte("x"))
		for what, err := range map[string]error{
			"Write": werr, "Sync": w.Sync(), "Preallocate": w.Preallocate(10), "Close": w.Close(),
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestWriterGivesItsBufferBack(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		w, _ := create(t, e)
		if s := e.Stats(); s.BufferInUse < writerBytes {
			t.Errorf("%d bytes in use by a writer", s.BufferInUse)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if s := e.Stats(); s.BufferInUse != 0 {
			t.Errorf("%d bytes still in use", s.BufferInUse)
		}
	})
}

func TestCreateInMissingDirectory(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		_, err := e.Create(filepath.Join(t.TempDir(), "none", "x"))
		var we *WriteError
		if !errors.As(err, &we) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}

func TestSyncDir(t *testing.T) {
	if err := SyncDir(t.TempDir()); err != nil {
		t.Error(err)
	}
	var we *WriteError
	if err := SyncDir(filepath.Join(t.TempDir(), "none")); !errors.As(err, &we) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
