package iopath

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestBackgroundHasAShare: background reads wait for their share while the
// foreground's go on, and a share that a batch holds is given back by Release.
func TestBackgroundHasAShare(t *testing.T) {
	dir, hold := t.TempDir(), make(chan struct{})
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	stuck := func(op ReadOp) Fault {
		if op.Path == path && op.Off < 512<<10 {
			return Fault{Until: hold}
		}
		return Fault{}
	}
	e, err := Open(dir, Config{Engine: Pread, Direct: DirectOff, Background: 4, Faults: stuck})
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context, n int, off int64, background bool) (*Batch, error) {
		b := e.NewBatch()
		if background {
			b.SetClass(Maintenance)
		}
		for i := range n {
			b.Read(f, off+int64(i)*4096, 4096, uint64(i))
		}
		return b, b.Submit(ctx)
	}
	held, err := read(t.Context(), 10, 0, true) // more than the share: takes all of it
	if err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if b, err := read(late, 1, 512<<10, true); !errors.Is(err, why) {
		t.Errorf("a background read past the share: %v", err)
	} else {
		b.Release()
	}
	front, err := read(t.Context(), 1, 512<<10, false)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := front.Next(t.Context()); err != nil || c.Err != nil {
		t.Errorf("a foreground read meanwhile: %v, %v", err, c.Err)
	}
	front.Release()
	close(hold)
	for range 10 {
		if c, err := held.Next(t.Context()); err != nil || c.Err != nil {
			t.Fatal(err, c.Err)
		}
	}
	held.Release()
	again, err := read(t.Context(), 4, 512<<10, true)
	if err != nil {
		t.Error(err)
	}
	again.Release()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
