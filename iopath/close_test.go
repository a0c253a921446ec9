package iopath

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

// TestCloseWithReadsPending closes an engine whose device hangs.
func TestCloseWithReadsPending(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		h := hold(1)
		cfg.Faults = h.ask
		cfg.Depth = 1
		cfg.Rings = 1
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 5000)
		hung, queued := e.NewBatch(), e.NewBatch()
		hung.Read(f, 0, 10, 0)
		if err := hung.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-h.arrived
		queued.Read(f, 10, 10, 0)
		queued.Read(f, 20, 10, 0)
		if err := queued.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.close(time.Nanosecond); !errors.Is(err, ErrBusy) {
			t.Fatalf("Close over a hung device: %v", err)
		}
		for queued.Pending() > 0 {
			if err := nextErr(t, queued); !errors.Is(err, ErrClosed) {
				t.Errorf("queued read: %v", err)
			}
		}
		refuseAll(t, e, f)
		close(h.release)
		c, err := hung.Next(t.Context())
		if err != nil || c.Err != nil || !bytes.Equal(c.Data, want[:10]) {
			t.Errorf("the read that hung: %+v, %v", c, err)
		}
		queued.Release()
		hung.Release()
		if s := e.Stats(); s.BufferMapped != 0 || s.Cancelled != 2 {
			t.Errorf("left behind: %+v", s)
		}
	})
}

// refuseAll checks that a closed engine says so.
func refuseAll(t *testing.T, e *Engine, f *File) {
	t.Helper()
	b := e.NewBatch()
	defer b.Release()
	b.Read(f, 0, 10, 0)
	if err := b.Submit(t.Context()); err == nil {
		err = nextErr(t, b) // a closed file fails its reads, not the wave
		if !errors.Is(err, ErrClosed) {
			t.Errorf("read: %v", err)
		}
	} else if !errors.Is(err, ErrClosed) {
		t.Errorf("Submit: %v", err)
	}
	if _, err := e.OpenFile(f.Path()); !errors.Is(err, ErrClosed) {
		t.Errorf("OpenFile: %v", err)
	}
	if _, err := e.Create(t.TempDir() + "/x"); !errors.Is(err, ErrClosed) {
		t.Errorf("Create: %v", err)
	}
	if err := e.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

// TestCloseKeepsDataOfBatches closes an engine under batches that nobody has
// read yet and whose reads are on their way.
func TestCloseKeepsDataOfBatches(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 300_001)
		var batches []*Batch
		for range 4 {
			b := e.NewBatch()
			for i := range 16 {
				b.Read(f, int64(i)*10_000, 9000, uint64(i)*10_000)
			}
			if err := b.Submit(t.Context()); err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			for b.Pending() > 0 {
				c, err := b.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if errors.Is(c.Err, ErrClosed) {
					continue // was still queued
				}
				if c.Err != nil || !bytes.Equal(c.Data, want[c.Tag:][:9000]) {
					t.Errorf("read at %d after Close: %v", c.Tag, c.Err)
				}
			}
			b.Release()
		}
		if s := e.Stats(); s.BufferMapped != 0 || s.InFlight != 0 {
			t.Errorf("left behind: %+v", s)
		}
	})
}
