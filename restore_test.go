package sprat

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// spoil changes the largest piece in a snapshot folder.
func spoil(t *testing.T, to SnapshotTarget, change func(path string, b []byte)) string {
	t.Helper()
	var largest []byte
	var where string
	paths, err := filepath.Glob(filepath.Join(to.String(), "chunks", "*", "*"))
	mustDo(t, err)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		mustDo(t, err)
		if len(b) > len(largest) {
			largest, where = b, p
		}
	}
	change(where, largest)
	return where
}

// TestRestoreRefusesDamage: a piece that is not what was written, or missing, is
// named, and no target appears.
func TestRestoreRefusesDamage(t *testing.T) {
	d := fewTexts(100)
	s := openStore(t, t.TempDir(), Options{})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	for name, change := range map[string]func(string, []byte){
		"flipped": func(p string, b []byte) {
			b = bytes.Clone(b)
			b[len(b)/2] ^= 1
			mustDo(t, os.WriteFile(p, b, 0o644))
		},
		"cut":     func(p string, b []byte) { mustDo(t, os.WriteFile(p, b[:len(b)-1], 0o644)) },
		"missing": func(p string, _ []byte) { mustDo(t, os.Remove(p)) },
	} {
		to := target(t)
		mustSnapshot(t, s, to)
		where := spoil(t, to, change)
		dir := filepath.Join(t.TempDir(), "restored")
		_, err := Restore(t.Context(), to, "", dir, SnapshotOptions{})
		checkDamage(t, name+", restore", err, where)
		if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left (%v)", name, left, err)
		}
		_, err = VerifySnapshot(t.Context(), to, "", SnapshotOptions{})
		checkDamage(t, name+", verify", err, where)
	}
}

func checkDamage(t *testing.T, what string, err error, path string) {
	t.Helper()
	var ce *CorruptionError
	if !errors.Is(err, ErrCorrupt) || !errors.As(err, &ce) || ce.Path != path {
		t.Errorf("%s: %v, want damage of %s", what, err, path)
	}
}

// killingTarget ends the process when so many objects have been read.
type killingTarget struct {
	SnapshotTarget
	left atomic.Int64
}

func (k *killingTarget) Get(ctx context.Context, name string) ([]byte, error) {
	if k.left.Add(-1) < 0 {
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return k.SnapshotTarget.Get(ctx, name)
}

// helperRestore restores a snapshot and is killed in the middle.
func helperRestore(args []string) error {
	from, err := SnapshotDir(args[0])
	if err != nil {
		return err
	}
	k := &killingTarget{SnapshotTarget: from}
	k.left.Store(4)
	_, err = Restore(context.Background(), k, "", args[1], SnapshotOptions{Workers: 1})
	return err
}

// TestKilledRestore: a restore that loses its process leaves no target, and the
// next one is not disturbed.
func TestKilledRestore(t *testing.T) {
	d, to := fewTexts(100), target(t)
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	want, err := answersOf(ix, d, everything)
	mustDo(t, err)
	mustSnapshot(t, s, to)
	dir := filepath.Join(t.TempDir(), "restored")
	out, err := child(t, "restore", to.String(), dir)
	if err == nil || out != "" {
		t.Fatalf("the restore was not killed: %v %s", err, out)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	mustDo(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".restored.restore-") {
			t.Errorf("%s is there after a restore that was killed", e.Name())
		}
	}
	if len(entries) == 0 {
		t.Error("the restore had not begun")
	}
	_, err = Restore(t.Context(), to, "", dir, SnapshotOptions{})
	mustDo(t, err)
	mustAnswer(t, "restored", mustIndex(t, openStore(t, dir, Options{}), "i"), d, want)
}

// TestSnapshotRefuses: what cannot be is refused with what to test for, and
// changes nothing.
func TestSnapshotRefuses(t *testing.T) {
	d, to, dir, ctx := fewTexts(50), target(t), t.TempDir(), t.Context()
	s := openStore(t, dir, Options{})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	link := filepath.Join(t.TempDir(), "link")
	mustDo(t, os.Symlink(filepath.Join(dir, indexesDir), link))
	st := mustSnapshot(t, s, to)
	before := snapshot(t, dir)
	errs := map[string]error{}
	for _, path := range []string{"", dir, filepath.Join(dir, "a", "b"), filepath.Join(link, "c")} {
		_, errs["SnapshotDir "+path] = SnapshotDir(path)
	}
	_, errs["a target in the store"] = s.Snapshot(ctx, namedTarget{to, filepath.Join(link, "c")}, SnapshotOptions{})
	_, errs["no target"] = s.Snapshot(ctx, nil, SnapshotOptions{})
	_, errs["workers"] = s.Snapshot(ctx, to, SnapshotOptions{Workers: 257})
	_, errs["label"] = s.Snapshot(ctx, to, SnapshotOptions{Label: "\xff"})
	_, errs["keep"] = PruneSnapshots(ctx, to, 0, SnapshotOptions{})
	_, errs["restore to nowhere"] = Restore(ctx, to, "", "", SnapshotOptions{})
	_, errs["restore into a store"] = Restore(ctx, to, "", filepath.Join(dir, "x"), SnapshotOptions{})
	_, errs["restore into the snapshots"] = Restore(ctx, to, "", filepath.Join(to.String(), "x"), SnapshotOptions{})
	for what, err := range errs {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want %v", what, err, ErrInvalid)
		}
	}
	checkUnchanged(t, "refused", dir, before)
	if _, err := Restore(ctx, to, "", dir, SnapshotOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("restore over a store: %v, want %v", err, ErrExists)
	}
	none := filepath.Join(t.TempDir(), "none")
	for _, id := range []string{"x", "20260102T150405.000Z-0123abcd"} {
		if _, err := Restore(ctx, to, id, none, SnapshotOptions{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("restore of %q: %v, want %v", id, err, ErrNotFound)
		}
	}
	if _, err := VerifySnapshot(ctx, target(t), "", SnapshotOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("verify of nothing: %v, want %v", err, ErrNotFound)
	}
	mustClose(t, s)
	if _, err := s.Snapshot(ctx, to, SnapshotOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("snapshot of a closed store: %v", err)
	}
	s = openStore(t, dir, Options{ReadOnly: true})
	if _, err := s.Snapshot(ctx, to, SnapshotOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("snapshot of a read-only store: %v", err)
	}
	if list, err := ListSnapshots(ctx, to); err != nil || len(list) != 1 || list[0].ID != st.ID {
		t.Errorf("list %v, %v", list, err)
	}
}

// namedTarget is a target that says to be elsewhere.
type namedTarget struct {
	SnapshotTarget
	name string
}

func (n namedTarget) String() string { return n.name }

// TestOneSnapshotAtATime: while one is written another is refused, until the lock
// is taken away.
func TestOneSnapshotAtATime(t *testing.T) {
	d, ctx := fewTexts(50), t.Context()
	s := openStore(t, t.TempDir(), Options{})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	to := &hookedTarget{SnapshotTarget: target(t)}
	to.hook = func() {
		if _, err := s.Snapshot(ctx, to.SnapshotTarget, SnapshotOptions{}); !errors.Is(err, ErrInUse) {
			t.Errorf("a second snapshot: %v, want %v", err, ErrInUse)
		}
		if err := UnlockSnapshots(ctx, to.SnapshotTarget); err != nil {
			t.Error(err)
		}
		if _, err := s.Snapshot(ctx, to.SnapshotTarget, SnapshotOptions{}); err != nil {
			t.Errorf("a second snapshot, unlocked: %v", err)
		}
	}
	if _, err := s.Snapshot(ctx, to, SnapshotOptions{}); !errors.Is(err, ErrInUse) {
		t.Errorf("the snapshot whose lock was taken away: %v, want %v", err, ErrInUse)
	}
	checkNoTemporary(t, s)
}

// TestCloseEndsSnapshot: Close cancels a snapshot under way and waits for it.
func TestCloseEndsSnapshot(t *testing.T) {
	d := fewTexts(50)
	s := openStore(t, t.TempDir(), Options{})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	closed := make(chan error, 1)
	to := &hookedTarget{SnapshotTarget: target(t), hook: func() {
		go func() { closed <- s.Close() }()
		<-s.ending.Done()
	}}
	if _, err := s.Snapshot(t.Context(), to, SnapshotOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want %v", err, ErrClosed)
	}
	mustDo(t, <-closed)
	checkNoTemporary(t, s)
	if list, err := ListSnapshots(t.Context(), to); err != nil || len(list) > 0 {
		t.Errorf("list %v, %v", list, err)
	}
}
