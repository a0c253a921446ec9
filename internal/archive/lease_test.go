package archive

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestOneWriterAtATime(t *testing.T) {
	var now time.Time
	opts := Options{ChunkBytes: 8, Now: clock(&now)}
	o := newMemory()
	files := content{"a": "text"}.files()
	open := files[0].Open
	var inside []error
	files[0].Open = func() (io.ReaderAt, io.Closer, error) {
		_, _, err := Write(t.Context(), o, content{"b": ""}.files(), opts)
		_, pruneErr := Prune(t.Context(), o, 1, opts)
		inside = append(inside, err, pruneErr)
		return open()
	}
	mustWrite(t, o, files, opts)
	if len(inside) != 2 {
		t.Fatalf("%d attempts, want 2", len(inside))
	}
	for _, err := range inside {
		var busy *BusyError
		if !errors.Is(err, ErrBusy) || !errors.As(err, &busy) || !busy.Renewed.Equal(now) ||
			!busy.Stale.Equal(now.Add(time.Hour)) || !strings.Contains(err.Error(), "process") {
			t.Errorf("error %v, want busy since %v", err, now)
		}
	}
	if o.objects[leaseName] != nil {
		t.Error("the lease is not given back")
	}
}

// TestLeaseOfACancelledWriter: a writer that is cancelled, or meets a fault, just
// when it has taken the lease gives it back.
func TestLeaseOfACancelledWriter(t *testing.T) {
	var now time.Time
	opts := Options{Now: clock(&now)}
	for _, fault := range []error{nil, io.ErrUnexpectedEOF} {
		o := newMemory()
		ctx, cancel := context.WithCancel(t.Context())
		o.after = func(_, name string) error {
			if name != leaseName || ctx.Err() != nil {
				return nil
			}
			cancel()
			return fault
		}
		if _, err := acquire(ctx, o, opts.Now); err == nil {
			t.Errorf("fault %v: the lease is taken", fault)
		}
		if o.objects[leaseName] != nil {
			t.Errorf("fault %v: the lease is not given back", fault)
		}
		cancel()
	}
}

func TestStaleLease(t *testing.T) {
	var now time.Time
	o := newMemory()
	opts := Options{Now: clock(&now)}
	if _, err := acquire(t.Context(), o, opts.Now); err != nil { // by a writer that dies
		t.Fatal(err)
	}
	now = now.Add(time.Hour - time.Millisecond)
	if _, _, err := Write(t.Context(), o, nil, opts); !errors.Is(err, ErrBusy) {
		t.Errorf("before an hour: error %v", err)
	}
	now = now.Add(time.Millisecond)
	mustWrite(t, o, nil, opts)
	if _, err := acquire(t.Context(), o, opts.Now); err != nil {
		t.Fatal(err)
	}
	if err := Unlock(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, o, nil, opts)
}

// A writer that was taken for dead writes no manifest, and leaves the lease of
// the one that took over alone.
func TestLostLease(t *testing.T) {
	var now time.Time
	o := newMemory()
	opts := Options{Now: clock(&now)}
	files := content{"a": "text"}.files()
	open := files[0].Open
	files[0].Open = func() (io.ReaderAt, io.Closer, error) {
		now = now.Add(2 * time.Hour)
		if _, err := acquire(t.Context(), o, opts.Now); err != nil {
			return nil, nil, err
		}
		return open()
	}
	if _, _, err := Write(t.Context(), o, files, opts); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v, want %v", err, ErrBusy)
	}
	if list, err := List(t.Context(), o); err != nil || len(list) > 0 {
		t.Errorf("snapshots %v, %v, want none", list, err)
	}
	if o.objects[leaseName] == nil {
		t.Error("the lease of the other writer is gone")
	}
}

// A long Write renews its lease.
func TestLeaseIsRenewed(t *testing.T) {
	var now time.Time
	o := newMemory()
	opts := Options{ChunkBytes: 1, Now: clock(&now), Workers: 1}
	l, err := acquire(t.Context(), o, opts.Now)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		now = now.Add(leaseRenew)
		if err := l.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		held, err := readLease(t.Context(), o)
		if err != nil || !held.Time.Equal(now) {
			t.Errorf("renewed at %v, %v, want %v", held.Time, err, now)
		}
	}
	puts := len(o.puts)
	if err := l.renew(t.Context()); err != nil || len(o.puts) != puts {
		t.Errorf("renewed too early, %v", err)
	}
	l.release(t.Context())
	if err := l.confirm(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("confirmed after it was given back: %v", err)
	}
}

func TestDamagedLease(t *testing.T) {
	o, opts := newMemory(), small()
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"noise": {[]byte("noise"), ErrDamaged},
		"empty": {nil, ErrDamaged},
		"list":  {seal([]byte(`{"time":7}`)), ErrDamaged},
		"newer": {seal([]byte(`{"format":2}`)), ErrFormat},
	} {
		o.objects[leaseName] = c.data
		if _, _, err := Write(t.Context(), o, nil, opts); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if err := Unlock(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, o, nil, opts)
}

func TestPrune(t *testing.T) {
	o, opts := newMemory(), small()
	var ids []string
	for _, text := range []string{"onlyone1", "shared11", "shared11onlythre", "shared11last"} {
		m, _ := mustWrite(t, o, content{"a": text}.files(), opts)
		ids = append(ids, m.ID)
	}
	o.objects[chunkName(digest([]byte("orphan")))] = []byte("orphan")
	for _, keep := range []int{0, -1} {
		if _, err := Prune(t.Context(), o, keep, opts); !errors.Is(err, ErrInvalid) {
			t.Errorf("keep %d: error %v", keep, err)
		}
	}
	for _, c := range []struct {
		keep int
		want Stats
	}{
		{9, Stats{Files: 4, Bytes: 44, ChunksRemoved: 1}},
		{2, Stats{Files: 2, Bytes: 28, SnapshotsRemoved: 2, ChunksRemoved: 1}},
		{1, Stats{Files: 1, Bytes: 12, SnapshotsRemoved: 1, ChunksRemoved: 1}},
		{1, Stats{Files: 1, Bytes: 12}},
	} {
		var last, total int64
		opts.Progress = func(done, of int64) { last, total = done, of }
		stats, err := Prune(t.Context(), o, c.keep, opts)
		if err != nil || stats != c.want {
			t.Errorf("keep %d: %+v, %v, want %+v", c.keep, stats, err, c.want)
		}
		if want := int64(stats.SnapshotsRemoved + stats.ChunksRemoved); last != want || total != want {
			t.Errorf("keep %d: progress ends at %d of %d, want %d", c.keep, last, total, want)
		}
		checkNoGarbage(t, o)
	}
	mustRestore(t, o, ids[3], content{"a": "shared11last"})
}

// A Prune that is cut anywhere harms nothing that stays, and the next completes
// it.
func TestPruneCutAnywhere(t *testing.T) {
	for n := 1; ; n++ {
		o, opts := newMemory(), small()
		opts.Workers = 1
		mustWrite(t, o, content{"a": "11111111222222223"}.files(), opts)
		mustWrite(t, o, content{"a": "444"}.files(), opts)
		mustWrite(t, o, content{"a": "11111111"}.files(), opts)
		calls := 0
		o.before = func(string, string) error {
			if calls++; calls == n {
				return errors.New("cut")
			}
			return nil
		}
		_, err := Prune(t.Context(), o, 1, opts)
		o.before = nil
		if calls < n {
			if n < 6 {
				t.Fatalf("a prune is done after %d changes, want more", n)
			}
			return
		}
		if err == nil && o.objects[leaseName] == nil {
			t.Fatalf("cut at change %d: no error", n)
		}
		if err := Unlock(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		list, err := List(t.Context(), o)
		if err != nil || len(list) == 0 {
			t.Fatalf("list %v, %v", list, err)
		}
		for _, s := range list {
			if _, err := Verify(t.Context(), o, s.ID, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Prune(t.Context(), o, 1, opts); err != nil {
			t.Fatal(err)
		}
		mustRestore(t, o, "", content{"a": "11111111"})
		checkNoGarbage(t, o)
	}
}
