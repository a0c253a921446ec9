package iopath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// changeLog is an Ops that keeps what it is asked and fails on demand.
type changeLog struct {
	mu struct {
		sync.Mutex
		lines []string
		kind  OpKind // of the operation to fail once
		err   error
	}
}

// fail makes the next operation of a kind fail.
func (s *changeLog) fail(kind OpKind, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.kind, s.mu.err = kind, err
}

func (s *changeLog) ask(op Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := op.Kind.String() + " " + filepath.Base(op.Path)
	switch op.Kind {
	case OpWrite, OpPunch:
		line += fmt.Sprintf(" %d+%d", op.Off, op.N)
	case OpTruncate:
		line += fmt.Sprintf(" %d", op.N)
	case OpRename, OpLink:
		line += " " + filepath.Base(op.To)
	}
	if op.Kind == OpWrite && int64(len(op.Data)) != op.N {
		line += " with other data"
	}
	if op.Kind == s.mu.kind {
		s.mu.kind = 0
		s.mu.lines = append(s.mu.lines, line+" refused")
		return s.mu.err
	}
	s.mu.lines = append(s.mu.lines, line)
	return nil
}

// expect compares what was asked since the last time.
func (s *changeLog) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.mu.lines, want) {
		t.Errorf("asked:\n\t%s\nwant:\n\t%s", strings.Join(s.mu.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
	s.mu.lines = nil
}

func TestOpsSeeEverything(t *testing.T) {
	s := new(changeLog)
	e := openEngine(t, Config{Engine: Pread, Direct: DirectOff, Ops: s.ask})
	dir := t.TempDir()
	s.expect(t) // the probe is not reported
	sub := filepath.Join(dir, "a", "b")
	path := filepath.Join(sub, "f")
	var errs []error
	note := func(err error) { errs = append(errs, err) }

	note(e.MkdirAll(sub))
	note(e.MkdirAll(sub))
	s.expect(t, "mkdir a", "mkdir b")

	w, err := e.Create(path)
	note(err)
	_, err = w.Write(make([]byte, writerBytes+5))
	note(err)
	note(w.Preallocate(2 * writerBytes))
	note(w.Sync())
	note(w.Close())
	note(e.SyncDir(sub))
	s.expect(t, "create f", "write f 0+1048576", "write f 1048576+5", "sync f",
		"truncate f 1048581", "syncdir b")

	u, err := e.OpenUpdate(path)
	note(err)
	_, err = u.WriteAt([]byte("abc"), 7)
	note(err)
	note(u.Punch(100, 20_000))
	note(u.Truncate(1000))
	note(u.Sync())
	note(u.Close())
	s.expect(t, "write f 7+3", "punch f 4096+12288", "write f 100+3996", "write f 16384+3716",
		"truncate f 1000", "sync f")

	u, err = e.OpenUpdate(filepath.Join(sub, "g"))
	note(err)
	note(u.Close())
	note(e.Rename(path, filepath.Join(sub, "h")))
	note(e.Remove(filepath.Join(sub, "h")))
	note(e.RemoveAll(filepath.Join(dir, "a")))
	note(e.RemoveAll(filepath.Join(dir, "a")))
	s.expect(t, "create g", "rename f h", "remove h", "remove g", "remove b", "remove a")
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestOpsSeeDirectWrites: the device is given whole blocks, then the size.
func TestOpsSeeDirectWrites(t *testing.T) {
	s := new(changeLog)
	e := openEngine(t, Config{Engine: Pread, Ops: s.ask})
	if !e.Info().Direct {
		t.Skip("no direct I/O here")
	}
	u, path := openUpdate(t, e)
	block := int64(u.align)
	if _, err := u.WriteAt([]byte("abc"), block+7); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "create home", fmt.Sprintf("write home %d+%d", block, block),
		fmt.Sprintf("truncate home %d", block+10))
	w, err := e.Create(path + "2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "create home2", fmt.Sprintf("write home2 0+%d", block), "truncate home2 3")
}

// TestOpsRefuse refuses each kind once: the error comes out, typed, and nothing
// has happened; the next attempt succeeds.
func TestOpsRefuse(t *testing.T) {
	s := new(changeLog)
	e := openEngine(t, Config{Engine: Pread, Ops: s.ask})
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	u, err := e.OpenUpdate(in("u"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = u.Close() }()
	exists := func(name string) bool { _, err := os.Stat(in(name)); return err == nil }
	sized := func(n int64) bool { size, err := u.Size(); return err == nil && size == n }
	for _, c := range []struct {
		kind OpKind
		do   func() error
		done func() bool // has it happened
	}{
		{OpMkdir, func() error { return e.MkdirAll(in("d")) }, func() bool { return exists("d") }},
		{OpCreate, func() error {
			w, err := e.Create(in("w"))
			if err == nil {
				err = w.Close()
			}
			return err
		}, func() bool { return exists("w") }},
		{OpCreate, func() error {
			u, err := e.OpenUpdate(in("v"))
			if err == nil {
				err = u.Close()
			}
			return err
		}, func() bool { return exists("v") }},
		{OpRename, func() error { return e.Rename(in("v"), in("x")) }, func() bool { return exists("x") }},
		{OpRemove, func() error { return e.Remove(in("x")) }, func() bool { return !exists("x") }},
		{OpRemove, func() error { return e.RemoveAll(in("d")) }, func() bool { return !exists("d") }},
		{OpSyncDir, func() error { return e.SyncDir(dir) }, nil},
		{OpWrite, func() error { _, err := u.WriteAt(make([]byte, 9000), 0); return err }, func() bool { return sized(9000) }},
		{OpPunch, func() error { return u.Punch(0, 4096) }, nil},
		{OpTruncate, func() error { return u.Truncate(5) }, func() bool { return sized(5) }},
		{OpSync, u.Sync, nil},
	} {
		s.fail(c.kind, fmt.Errorf("refused: %w", syscall.EDQUOT))
		var we *WriteError
		if err := c.do(); !errors.Is(err, ErrNoSpace) || !errors.As(err, &we) {
			t.Errorf("%v: error %v", c.kind, err)
		}
		if c.done != nil && c.done() {
			t.Errorf("%v has happened although it was refused", c.kind)
		}
		if err := c.do(); err != nil {
			t.Errorf("%v, second time: %v", c.kind, err)
		}
		if c.done != nil && !c.done() {
			t.Errorf("%v has not happened", c.kind)
		}
	}
}

// TestWriterMeetsOps: a writer fails for good with what Ops says.
func TestWriterMeetsOps(t *testing.T) {
	for _, kind := range []OpKind{OpWrite, OpSync, OpTruncate} {
		eachWriter(t, func(t *testing.T, e *Engine) {
			s := new(changeLog)
			e.cfg.Ops = s.ask
			w, _ := create(t, e)
			if _, err := w.Write([]byte("abc")); err != nil {
				t.Fatal(err)
			}
			if err := w.Preallocate(1 << 20); err != nil {
				t.Fatal(err)
			}
			s.fail(kind, syscall.EIO)
			var first error
			if kind != OpTruncate {
				first = w.Sync()
			}
			if err := w.Close(); !errors.Is(err, syscall.EIO) || first != nil && !errors.Is(err, first) {
				t.Errorf("%v: %v, then %v", kind, first, err)
			}
		})
	}
}

func TestAsk(t *testing.T) {
	op := Op{Kind: OpWrite, Data: make([]byte, 10), N: 10}
	cause := errors.New("cause")
	for _, c := range []struct {
		name string
		ops  Ops
		kind OpKind
		n    int
		err  error
	}{
		{"nil", nil, OpWrite, 10, nil},
		{"pass", func(Op) error { return nil }, OpWrite, 10, nil},
		{"refuse", func(Op) error { return cause }, OpWrite, 0, cause},
		{"cut", func(Op) error { return &ShortWrite{N: 3, Err: cause} }, OpWrite, 3, cause},
		{"wrapped", func(Op) error { return fmt.Errorf("x: %w", &ShortWrite{N: 3, Err: cause}) }, OpWrite, 3, cause},
		{"too many", func(Op) error { return &ShortWrite{N: 30, Err: cause} }, OpWrite, 10, cause},
		{"negative", func(Op) error { return &ShortWrite{N: -3} }, OpWrite, 0, io.ErrShortWrite},
		{"no write", func(Op) error { return &ShortWrite{N: 3, Err: cause} }, OpSync, 0, cause},
	} {
		op.Kind = c.kind
		if n, err := c.ops.Ask(op); n != c.n || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
	}
}

func TestOpKindNames(t *testing.T) {
	var names []string
	for k := OpCreate; k <= OpSyncDir+1; k++ {
		names = append(names, k.String())
	}
	const want = "create write sync truncate punch rename link remove mkdir syncdir op(11)"
	if got := strings.Join(names, " "); got != want || OpKind(0).String() != "op(0)" {
		t.Errorf("%s, %v", got, OpKind(0))
	}
}

func TestNamesWithoutOps(t *testing.T) {
	e := openEngine(t, Config{Engine: Pread})
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var we *WriteError
	if err := e.MkdirAll(filepath.Join(file, "x")); !errors.As(err, &we) {
		t.Errorf("directory below a file: %v", err)
	}
	if err := e.MkdirAll(file); !errors.As(err, &we) {
		t.Errorf("directory where a file is: %v", err)
	}
	if err := e.Remove(filepath.Join(dir, "none")); !errors.As(err, &we) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove of nothing: %v", err)
	}
	if err := e.Rename(filepath.Join(dir, "none"), file); !errors.As(err, &we) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rename of nothing: %v", err)
	}
	if err := e.RemoveAll(file); err != nil {
		t.Errorf("remove of a file: %v", err)
	}
}
