package iopath

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// mode is a configuration that must keep the contract.
type mode struct {
	name string
	cfg  Config
}

// modes are all engines, each with and without the page cache, with everything
// a read can take a different way by.
func modes() []mode {
	out := []mode{
		{"pread", Config{Engine: Pread}},
		{"pread_buffered", Config{Engine: Pread, Direct: DirectOff}},
	}
	if linux {
		out = append(out,
			mode{"io_uring", Config{Engine: IOUring}},
			mode{"io_uring_buffered", Config{Engine: IOUring, Direct: DirectOff}},
			mode{"io_uring_2rings", Config{Engine: IOUring, Rings: 2}},
			mode{"mmap", Config{Engine: Mmap}},
		)
	}
	return out
}

// eachMode runs a test on every mode.
func eachMode(t *testing.T, test func(t *testing.T, cfg Config)) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) { test(t, m.cfg) })
	}
}

// openEngine opens an engine for a test and closes it at its end.
func openEngine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := Open(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e.pool.mu.Lock()
	e.pool.spoil = true
	e.pool.mu.Unlock()
	t.Cleanup(func() {
		if err := e.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// content is n bytes in which no two offsets look alike.
func content(n int) []byte {
	rng := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	p := make([]byte, n)
	_, _ = rng.Read(p)
	return p
}

// openContent makes a file of n bytes and opens it.
func openContent(t testing.TB, e *Engine, n int) (*File, []byte) {
	t.Helper()
	want := content(n)
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := e.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // ErrClosed where the test did it
	return f, want
}

// span is one read of a test.
type span struct {
	off int64
	n   int
}

// tb is what rapid.T and testing.T have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// readAll submits spans as one wave and checks every completion: the right
// bytes, or past the end of the file the right error.
func readAll(t tb, b *Batch, f *File, want []byte, spans []span) {
	t.Helper()
	for i, s := range spans {
		b.Read(f, s.off, s.n, uint64(i))
	}
	ctx := t.Context()
	if err := b.Submit(ctx); err != nil {
		t.Fatal(err)
	}
	seen := make(map[uint64]bool)
	for b.Pending() > 0 {
		c, err := b.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if seen[c.Tag] || c.Tag >= uint64(len(spans)) {
			t.Fatalf("tag %d came twice or was never given", c.Tag)
		}
		seen[c.Tag] = true
		checkCompletion(t, c, f, want, spans[c.Tag])
	}
	if len(seen) != len(spans) {
		t.Fatalf("%d of %d reads completed", len(seen), len(spans))
	}
	if _, err := b.Next(ctx); !errors.Is(err, ErrDrained) {
		t.Fatalf("Next of a drained batch: %v", err)
	}
}

// checkCompletion compares a completion with the content of its file.
func checkCompletion(t tb, c Completion, f *File, want []byte, s span) {
	t.Helper()
	if s.off+int64(s.n) > int64(len(want)) {
		var re *ReadError
		if !errors.Is(c.Err, io.ErrUnexpectedEOF) || !errors.As(c.Err, &re) {
			t.Fatalf("read past the end: error %v", c.Err)
		}
		if re.Path != f.Path() || re.Off != s.off || re.Len != s.n || c.Data != nil {
			t.Fatalf("read past the end: %+v, data %d", re, len(c.Data))
		}
		return
	}
	if c.Err != nil {
		t.Fatalf("read at %d length %d: %v", s.off, s.n, c.Err)
	}
	if !bytes.Equal(c.Data, want[s.off:][:s.n]) {
		t.Fatalf("read at %d length %d returned other bytes", s.off, s.n)
	}
	if cap(c.Data) != s.n {
		t.Fatalf("read at %d length %d: capacity %d reaches into foreign bytes", s.off, s.n, cap(c.Data))
	}
}

// nextErr takes one completion and returns its error.
func nextErr(t testing.TB, b *Batch) error {
	t.Helper()
	c, err := b.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.Err
}

// readOne reads one span in a batch of its own and returns its error.
func readOne(t testing.TB, e *Engine, f *File, s span) error {
	t.Helper()
	b := e.NewBatch()
	defer b.Release()
	b.Read(f, s.off, s.n, 0)
	if err := b.Submit(t.Context()); err != nil {
		return err
	}
	return nextErr(t, b)
}

// nth is a hook that gives the numbered attempts their fates and lets the
// others pass.
func nth(fates map[uint64]Fault) Faults {
	return func(op ReadOp) Fault { return fates[op.Attempt] }
}

// contexts are the two kinds of context that waits treat differently: one that
// never ends and one that can.
func contexts(t *testing.T) map[string]context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return map[string]context.Context{"background": context.Background(), "cancellable": ctx}
}

// String is how a span looks in failures.
func (s span) String() string { return fmt.Sprintf("[%d,+%d)", s.off, s.n) }

// textLogger writes log lines to w.
func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
