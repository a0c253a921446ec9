package iopath

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// openUpdate opens a new file for changes in place, to be closed at the end.
func openUpdate(t *testing.T, e *Engine) (*Updater, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "home")
	u, err := e.OpenUpdate(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() }) // ErrClosed where the test did it
	return u, path
}

// model is what the file of an Updater must hold.
type model []byte

func (m *model) grow(n int) {
	if n > len(*m) {
		*m = append(*m, make([]byte, n-len(*m))...)
	}
}

func (m *model) write(p []byte, off int) {
	if len(p) > 0 {
		m.grow(off + len(p))
		copy((*m)[off:], p)
	}
}

func (m *model) truncate(n int) {
	m.grow(n)
	*m = (*m)[:n:n]
}

func (m *model) punch(off, n int) {
	if off < len(*m) {
		clear((*m)[off:min(off+n, len(*m))])
	}
}

// same fails when the file differs from the model.
func (m *model) same(t tb, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(*m) {
		t.Fatalf("the file has %d bytes, want %d", len(got), len(*m))
	}
	for i := range got {
		if got[i] != (*m)[i] {
			t.Fatalf("byte %d of %d is %#x, want %#x", i, len(got), got[i], (*m)[i])
		}
	}
}

// drawSpan draws a range: short ones around block edges, and long ones that take
// more than one piece.
func drawSpan(t *rapid.T) (off, n int) {
	off = rapid.OneOf(rapid.IntRange(0, 20_000), rapid.IntRange(0, 2<<20),
		rapid.Map(rapid.IntRange(0, 40), func(i int) int { return i * 512 })).Draw(t, "off")
	n = rapid.OneOf(rapid.IntRange(0, 9000), rapid.SampledFrom([]int{1, 512, 4096, 8192}),
		rapid.IntRange(0, 5<<19)).Draw(t, "n")
	return off, n
}

// TestUpdaterAnySequence compares a file under random changes with a slice of
// bytes, read back by the system and by the engine's own File.
func TestUpdaterAnySequence(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		path := filepath.Join(t.TempDir(), "home")
		all := content(6 << 20)
		rapid.Check(t, func(t *rapid.T) {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			u, err := e.OpenUpdate(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = u.Close() }()
			u.mu.unpunched = rapid.Bool().Draw(t, "unpunched")
			f, err := e.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			var m model
			for range rapid.IntRange(1, 8).Draw(t, "changes") {
				off, n := drawSpan(t)
				changeBoth(t, u, &m, all, off, n)
				m.same(t, path)
				if size, err := u.Size(); err != nil || size != int64(len(m)) {
					t.Fatalf("size %d, %v; want %d", size, err, len(m))
				}
				if len(m) > 0 {
					b := e.NewBatch()
					readAll(t, b, f, m, []span{{0, len(m)}, {int64(len(m) / 3), 1}})
					b.Release()
				}
			}
		})
	})
}

// changeBoth makes one random change in the file and in the model.
func changeBoth(t *rapid.T, u *Updater, m *model, all []byte, off, n int) {
	var err error
	switch rapid.SampledFrom([]string{"write", "write", "write", "punch", "truncate", "sync"}).Draw(t, "change") {
	case "write":
		p := all[off:][:n]
		var got int
		got, err = u.WriteAt(p, int64(off))
		if got != n {
			t.Fatalf("wrote %d of %d: %v", got, n, err)
		}
		m.write(p, off)
	case "punch":
		err = u.Punch(int64(off), int64(n))
		m.punch(off, n)
	case "truncate":
		err = u.Truncate(int64(off))
		m.truncate(off)
	case "sync":
		err = u.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUpdaterKeepsContent opens a file that exists.
func TestUpdaterKeepsContent(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		m := model(content(10_001))
		path := filepath.Join(t.TempDir(), "home")
		if err := os.WriteFile(path, m, 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := e.OpenUpdate(path)
		if err != nil {
			t.Fatal(err)
		}
		m.same(t, path)
		p := content(77)
		if _, err := u.WriteAt(p, 4090); err != nil {
			t.Fatal(err)
		}
		m.write(p, 4090)
		m.same(t, path)
		if err := u.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestUpdaterIsSeenByReads changes a file under a File of the same engine, in
// every mode.
func TestUpdaterIsSeenByReads(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, data := openContent(t, e, 50_001)
		u, err := e.OpenUpdate(f.Path())
		if err != nil {
			t.Fatal(err)
		}
		m := model(data)
		for i := range 50 {
			off, p := 997*i, bytes.Repeat([]byte{byte(i)}, 100+7*i)
			if _, err := u.WriteAt(p, int64(off)); err != nil {
				t.Fatal(err)
			}
			m.write(p, off)
			b := e.NewBatch()
			readAll(t, b, f, m[:50_001], []span{{int64(off), 900}, {0, 50_001}})
			b.Release()
		}
		if err := u.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestUpdaterNeighbours has goroutines write records that share blocks.
func TestUpdaterNeighbours(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		u, path := openUpdate(t, e)
		const writers, each, size = 8, 40, 100
		m := model(content(writers * each * size))
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := range each {
					off := (i*writers + w) * size
					if _, err := u.WriteAt(m[off:][:size], int64(off)); err != nil {
						t.Error(err)
					}
					if i%10 == 0 {
						if err := u.Sync(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Wait()
		m.same(t, path)
		if s := e.Stats(); s.BufferInUse != 0 {
			t.Errorf("%d bytes of buffers not given back", s.BufferInUse)
		}
	})
}

func TestUpdaterRefusesBadRanges(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		u, path := openUpdate(t, e)
		_, negative := u.WriteAt([]byte("x"), -1)
		_, far := u.WriteAt([]byte("x"), maxOffset)
		for what, err := range map[string]error{
			"negative offset": negative, "far offset": far, "negative size": u.Truncate(-1),
			"negative punch": u.Punch(-1, 5), "punch of negative length": u.Punch(5, -1),
		} {
			var we *WriteError
			if !errors.Is(err, ErrInvalidWrite) || !errors.As(err, &we) || we.Path != path {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestUpdaterAfterClose(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		u, _ := openUpdate(t, e)
		if err := u.Close(); err != nil {
			t.Fatal(err)
		}
		_, werr := u.WriteAt([]byte("x"), 0)
		_, serr := u.Size()
		for what, err := range map[string]error{
			"WriteAt": werr, "Size": serr, "Sync": u.Sync(), "Truncate": u.Truncate(1),
			"Punch": u.Punch(0, 1), "Close": u.Close(),
		} {
			var we *WriteError
			if !errors.Is(err, ErrClosed) || !errors.As(err, &we) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.OpenUpdate(filepath.Join(t.TempDir(), "x")); !errors.Is(err, ErrClosed) {
			t.Errorf("open on a closed engine: %v", err)
		}
	})
}

func TestOpenUpdateInMissingDirectory(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		_, err := e.OpenUpdate(filepath.Join(t.TempDir(), "none", "x"))
		var we *WriteError
		if !errors.As(err, &we) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}

// TestUpdaterErrorIsNotSticky fails the write in the middle of a range once, and
// lets it through the second time.
func TestUpdaterErrorIsNotSticky(t *testing.T) {
	for _, direct := range []string{Auto, DirectOff} {
		for _, keep := range []int{0, 1, 5000} {
			t.Run(fmt.Sprintf("direct=%s/keep=%d", direct, keep), func(t *testing.T) {
				s := new(changeLog)
				e := openEngine(t, Config{Engine: Pread, Direct: direct, Ops: s.ask})
				u, path := openUpdate(t, e)
				m := model(content(20_001))
				if _, err := u.WriteAt(m, 0); err != nil {
					t.Fatal(err)
				}
				p := bytes.Repeat([]byte{0xEE}, 9000)
				s.fail(OpWrite, &ShortWrite{N: keep, Err: syscall.ENOSPC})
				n, err := u.WriteAt(p, 15_003)
				var we *WriteError
				if !errors.Is(err, ErrNoSpace) || !errors.As(err, &we) || we.Path != path || we.Off != 15_003 {
					t.Fatalf("error %v", err)
				}
				if n > keep {
					t.Fatalf("%d bytes written, %d were let through", n, keep)
				}
				m.write(p[:n], 15_003)
				m.same(t, path)
				if n, err := u.WriteAt(p, 15_003); n != len(p) || err != nil {
					t.Fatalf("second attempt: %d, %v", n, err)
				}
				m.write(p, 15_003)
				m.same(t, path)
			})
		}
	}
}
