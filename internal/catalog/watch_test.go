package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/spratdb/sprat/internal/crashdisk"
	"github.com/spratdb/sprat/iopath"
)

// record makes a recorder of a new directory.
func record(t *testing.T) (*crashdisk.Recorder, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := crashdisk.NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// TestEveryChangeIsSeen makes each change once through the file system that
// Pebble is given, and replays the record.
func TestEveryChangeIsSeen(t *testing.T) {
	r, dir := record(t)
	fsys := newFS(Config{Ops: r.Ops})
	in := func(name string) string { return filepath.Join(dir, name) }
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	file := func(f vfs.File, err error) vfs.File {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	write := func(f vfs.File, text string) {
		n, err := f.Write([]byte(text))
		if n != len(text) {
			t.Errorf("wrote %d of %d", n, len(text))
		}
		note(err)
	}
	note(fsys.MkdirAll(in("a/b"), 0o755))
	note(fsys.MkdirAll(in("a/b"), 0o755))
	f := file(fsys.Create(in("a/f"), vfs.WriteCategoryUnspecified))
	write(f, "hello ")
	write(f, "world")
	note(f.Preallocate(0, 4096))
	_, err := f.SyncTo(4)
	note(err)
	note(f.SyncData())
	f = file(fsys.Create(in("a/f"), vfs.WriteCategoryUnspecified))
	write(f, "again")
	note(f.Sync())
	note(fsys.Link(in("a/f"), in("a/g")))
	note(fsys.Rename(in("a/f"), in("a/b/f")))
	write(file(fsys.ReuseForWrite(in("a/g"), in("a/h"), vfs.WriteCategoryUnspecified)), "new")
	for range 2 {
		f = file(fsys.OpenReadWrite(in("a/rw"), vfs.WriteCategoryUnspecified))
		_, err = f.WriteAt([]byte("xyz"), 7)
		note(err)
	}
	note(file(fsys.OpenDir(in("a"))).Sync())
	note(file(fsys.Open(in("a/h"))).Sync())
	lock, err := fsys.Lock(in("LOCK"))
	note(err)
	note(lock.Close())
	note(fsys.Remove(in("a/rw")))
	note(fsys.RemoveAll(in("a")))
	note(fsys.RemoveAll(in("a")))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	const want = `mkdir a
mkdir a/b
create a/f
write a/f [0,+11)
sync a/f
remove a/f
create a/f
write a/f [0,+5)
sync a/f
link a/f -> a/g
rename a/f -> a/b/f
remove a/g
create a/h
write a/h [0,+3)
create a/rw
write a/rw [7,+3) [7,+3)
syncdir a
sync a/h
create LOCK
remove a/rw
remove a/h
remove a/b/f
remove a/b
remove a
`
	if got := r.Script(true); got != want {
		t.Errorf("seen:\n%s", got)
	}
	if vfs.Root(fsys) != vfs.Default {
		t.Error("the file system underneath is hidden")
	}
}

// TestRefusedChangesDoNotHappen refuses every change.
func TestRefusedChangesDoNotHappen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var on atomic.Bool
	fsys := newFS(Config{Ops: func(op iopath.Op) error {
		if on.Load() {
			return &iopath.ShortWrite{N: 2, Err: syscall.EIO}
		}
		return nil
	}})
	f, err := fsys.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := fsys.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	on.Store(true)
	other := filepath.Join(dir, "g")
	_, created := fsys.Create(path, vfs.WriteCategoryUnspecified)
	_, createdNew := fsys.Create(other, vfs.WriteCategoryUnspecified)
	_, reused := fsys.ReuseForWrite(path, other, vfs.WriteCategoryUnspecified)
	_, opened := fsys.OpenReadWrite(other, vfs.WriteCategoryUnspecified)
	_, locked := fsys.Lock(other)
	for what, err := range map[string]error{
		"Create": created, "Create of a new file": createdNew, "ReuseForWrite": reused, "OpenReadWrite": opened, "Lock": locked,
		"Remove": fsys.Remove(path), "RemoveAll": fsys.RemoveAll(dir), "Rename": fsys.Rename(path, other),
		"Link": fsys.Link(path, other), "MkdirAll": fsys.MkdirAll(other, 0o755),
		"Sync": f.Sync(), "SyncData": f.SyncData(), "Sync of a directory": d.Sync(),
	} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n, err := f.WriteAt([]byte("new"), 0); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Errorf("a write cut after 2 bytes: %d, %v", n, err)
	}
	if got, err := os.ReadFile(path); string(got) != "ned" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if list, err := os.ReadDir(dir); len(list) != 1 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

// TestNoOldLogsAreWrittenOver: what was deleted does not live on in the tail of
// a recycled log.
func TestNoOldLogsAreWrittenOver(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, Config{})
	secret := []byte("do not keep this")
	flush := func() {
		if err := c.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	put := func(value []byte) {
		b := c.NewBatch()
		b.PutExtent(1, 1, value)
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	holders := func() (n int) {
		logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("no logs: %v", err)
		}
		for _, path := range logs {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, secret) {
				n++
			}
		}
		return n
	}
	put([]byte("first")) // a log that is there on opening is not recycled
	flush()
	put(bytes.Repeat(secret, 1000))
	if holders() == 0 {
		t.Fatal("the log does not hold what was put; the test tests nothing")
	}
	for range 8 { // more than Pebble keeps to recycle
		put([]byte("short"))
		flush()
	}
	if n := holders(); n > 0 {
		t.Errorf("%d logs hold what was written over long ago", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReuseTwice: the second attempt, after a full volume, finds the old log gone.
func TestReuseTwice(t *testing.T) {
	dir := t.TempDir()
	full := true
	fsys := newFS(Config{
		Ops: func(op iopath.Op) error {
			if op.Kind == iopath.OpCreate && full {
				return fmt.Errorf("refused: %w", syscall.ENOSPC)
			}
			return nil
		},
		OnDiskFull: func() { full = false },
	})
	from, to := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	if err := os.WriteFile(from, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.ReuseForWrite(from, to, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := os.Stat(to)
	if _, gone := os.Stat(from); err != nil || st.Size() != 0 || !errors.Is(gone, fs.ErrNotExist) {
		t.Errorf("old: %v, new: %v", gone, err)
	}
}

// TestFullVolumeIsFreedOnce: a commit that meets a full volume succeeds when the
// callback frees space.
func TestFullVolumeIsFreedOnce(t *testing.T) {
	dir := t.TempDir()
	var full atomic.Bool
	var calls atomic.Int32
	c := open(t, dir, Config{
		Ops: func(op iopath.Op) error {
			if op.Kind == iopath.OpWrite && full.Load() {
				return &iopath.ShortWrite{N: len(op.Data) / 2, Err: syscall.ENOSPC}
			}
			return nil
		},
		OnDiskFull: func() {
			calls.Add(1)
			full.Store(false)
		},
	})
	full.Store(true)
	b := c.NewBatch()
	b.PutExtent(1, 2, []byte("value"))
	if err := b.Commit(); err != nil || calls.Load() != 1 {
		t.Fatalf("commit: %v, %d calls", err, calls.Load())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir, Config{ReadOnly: true})
	defer c.Close()
	if got := extents(t, c); got != 1 {
		t.Errorf("%d rows after the crash of a half-written log", got)
	}
}

// extents counts the rows of index 1 and checks them.
func extents(t *testing.T, c *Catalog) (n int) {
	t.Helper()
	it, err := c.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.SeekGE(idPrefix(tableExtent, 1)); ok && bytes.HasPrefix(it.Key(), idPrefix(tableExtent, 1)); ok = it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCommitsSurviveCrashes records a catalog at work and opens what crashes
// leave of it: every commit that was acknowledged is there, and they are a
// prefix of those made.
func TestCommitsSurviveCrashes(t *testing.T) {
	r, dir := record(t)
	sub := filepath.Join(dir, "catalog")
	c := open(t, sub, Config{Ops: r.Ops})
	const commits = 24
	for i := range commits {
		b := c.NewBatch()
		b.PutExtent(1, uint32(i), bytes.Repeat([]byte{byte(i)}, 3000))
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		r.Mark("commit")
		if i%7 == 6 {
			if err := c.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	g := c.NewIngester(2, dir)
	for i := range 100 {
		if err := g.Add(fmt.Appendf(nil, "key%03d", i), Placement{Slot: uint32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.Mark("ingest")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	marks := r.Marks()
	for n := marks[0].Pos; n <= r.Len(); n += 1 + r.Len()/60 {
		least, ingested := 0, false
		for _, m := range marks {
			if m.Pos <= n {
				least += strings.Count(m.Label, "commit")
				ingested = m.Label == "ingest"
			}
		}
		for seed := range uint64(3) {
			into := filepath.Join(t.TempDir(), "into")
			if err := r.Cut(n, seed, into); err != nil {
				t.Fatal(err)
			}
			after := open(t, filepath.Join(into, "catalog"), Config{})
			if got := extents(t, after); got < least || got > least+1 {
				t.Errorf("cut %d, seed %d: %d commits, %d were acknowledged", n, seed, got, least)
			}
			if _, err := after.get(append(idPrefix(tableKey, 2), "key099"...)); ingested && err != nil {
				t.Errorf("cut %d, seed %d: ingested keys are gone: %v", n, seed, err)
			}
			if err := after.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
