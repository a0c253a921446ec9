package archive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every object of a snapshot, changed in any of several ways, is refused by
// Verify and by Restore.
func TestDamageIsRefused(t *testing.T) {
	o := newMemory()
	m, _ := mustWrite(t, o, content{"a": "1111111122222222333", "b/c": "4"}.files(), small())
	names, err := o.List(t.Context(), "")
	if err != nil || len(names) != 5 {
		t.Fatalf("objects %q, %v, want four pieces and a manifest", names, err)
	}
	for _, name := range names {
		good := o.objects[name]
		bad := [][]byte{nil, good[:len(good)-1], append(slices.Clone(good), 0)}
		for i := range good {
			b := bytes.Clone(good)
			b[i] ^= 1
			bad = append(bad, b)
		}
		for i, b := range bad {
			o.objects[name] = b
			if i%40 == 3 || i < 3 { // a restore makes folders
				_, err = restored(t, o, m.ID)
				checkDamage(t, err, name)
			}
			_, err := Verify(t.Context(), o, m.ID, Options{})
			checkDamage(t, err, name)
		}
		o.objects[name] = good
	}
	name := chunkName(digest([]byte("333")))
	delete(o.objects, name)
	_, err = restored(t, o, m.ID)
	checkDamage(t, err, name)
	_, err = Verify(t.Context(), o, "", Options{})
	checkDamage(t, err, name)
}

func checkDamage(t *testing.T, err error, name string) {
	t.Helper()
	var damage *DamageError
	if !errors.Is(err, ErrDamaged) || !errors.As(err, &damage) || damage.Object != name {
		t.Errorf("error %v, want damage of %s", err, name)
	}
}

func TestVerifyReportsAllDamage(t *testing.T) {
	o := newMemory()
	mustWrite(t, o, content{"a": "11111111222222223333"}.files(), small())
	for _, text := range []string{"11111111", "3333"} {
		o.objects[chunkName(digest([]byte(text)))] = []byte("other")
	}
	stats, err := Verify(t.Context(), o, "", Options{})
	for _, text := range []string{"11111111", "3333"} {
		if !strings.Contains(err.Error(), digest([]byte(text))) {
			t.Errorf("%v does not name the piece %q", err, text)
		}
	}
	if stats.ChunksRead != 1 || stats.BytesRead != 8 {
		t.Errorf("%+v, want one good piece of 8 bytes", stats)
	}
}

// A damaged manifest is listed as such, does not hinder a Write, and hinders a
// Prune.
func TestDamagedManifest(t *testing.T) {
	for name, damage := range map[string]struct {
		change func(o *memory, id string)
		want   error
	}{
		"flipped": {func(o *memory, id string) { o.objects[manifestName(id)][100] ^= 1 }, ErrDamaged},
		"newer": {func(o *memory, id string) {
			o.objects[manifestName(id)] = seal([]byte(`{"format":2,"files":"elsewhere"}`))
		}, ErrFormat},
		"stranger": {func(o *memory, _ string) { o.objects[snapshotPrefix+"note.txt"] = []byte("hello") }, ErrDamaged},
		"renamed": {func(o *memory, id string) {
			o.objects[manifestName("99990102T150405.000Z-00000000")] = o.objects[manifestName(id)]
		}, ErrDamaged},
	} {
		o, opts := newMemory(), small()
		first, _ := mustWrite(t, o, content{"a": "one"}.files(), opts)
		second, _ := mustWrite(t, o, content{"a": "two"}.files(), opts)
		damage.change(o, second.ID)
		before := len(o.objects)
		if _, err := Prune(t.Context(), o, 1, opts); !errors.Is(err, damage.want) {
			t.Errorf("%s: prune: error %v, want %v", name, err, damage.want)
		}
		if len(o.objects) != before {
			t.Errorf("%s: a prune that is refused removed something", name)
		}
		third, _ := mustWrite(t, o, content{"a": "three"}.files(), opts)
		if third.ID <= second.ID {
			t.Errorf("%s: id %s after %s", name, third.ID, second.ID)
		}
		list, err := List(t.Context(), o)
		faults := 0
		for _, s := range list {
			if s.Err != nil {
				faults++
				if !errors.Is(s.Err, damage.want) {
					t.Errorf("%s: listed with %v, want %v", name, s.Err, damage.want)
				}
			}
		}
		if err != nil || faults != 1 {
			t.Errorf("%s: list %+v, %v, want one fault", name, list, err)
		}
		mustRestore(t, o, first.ID, content{"a": "one"})
		mustRestore(t, o, third.ID, content{"a": "three"})
	}
}

// A Write that is cut at any of its changes of the store, by a failure or by the
// end of the process, before or after the store has done it, harms no older
// snapshot, leaves no new one, and the next Write succeeds.
func TestCutAnywhere(t *testing.T) {
	old, changed := content{"a": "1111111122222222", "b": "x"}, content{"a": "1111111133333333444", "c": "y"}
	for _, process := range []bool{false, true} {
		for _, done := range []bool{false, true} {
			for n := 1; ; n++ {
				o := newMemory()
				var now time.Time
				opts := Options{ChunkBytes: 8, Now: clock(&now), Workers: 1}
				first, _ := mustWrite(t, o, old.files(), opts)
				calls := 0
				fail := func(string, string) error {
					if calls++; calls == n || process && calls > n {
						return errors.New("cut")
					}
					return nil
				}
				if done {
					o.after = fail
				} else {
					o.before = fail
				}
				_, _, err := Write(t.Context(), o, changed.files(), opts)
				o.before, o.after = nil, nil
				if calls < n {
					if n < 6 {
						t.Fatalf("a write is done after %d changes, want more", n)
					}
					break
				}
				checkCut(t, o, first, process, err)
				now = now.Add(leaseFor) // a dead process keeps its lease that long
				second, _ := mustWrite(t, o, changed.files(), opts)
				mustRestore(t, o, first.ID, old)
				mustRestore(t, o, second.ID, changed)
				if _, err := Prune(t.Context(), o, 2, opts); err != nil {
					t.Fatal(err)
				}
				checkNoGarbage(t, o)
			}
		}
	}
}

// checkCut requires that there is a new snapshot when and only when a Write said
// so. A dead process cannot take back what the store has after all, but what is
// there must be whole.
func checkCut(t *testing.T, o *memory, first Manifest, process bool, err error) {
	t.Helper()
	list, listErr := List(t.Context(), o)
	if listErr != nil || list[0].ID != first.ID {
		t.Fatalf("list %v, %v", list, listErr)
	}
	if err == nil && len(list) != 2 || err != nil && !process && len(list) != 1 {
		t.Fatalf("%d snapshots after a write that ended with %v", len(list), err)
	}
	for _, s := range list {
		if _, err := Verify(t.Context(), o, s.ID, Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelledWriteLeavesNoManifest(t *testing.T) {
	for n := 1; n <= 5; n++ { // the lease, three pieces, the manifest
		o := newMemory()
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		o.after = func(op, _ string) error {
			if calls++; calls == n {
				cancel()
				return ctx.Err()
			}
			return nil
		}
		opts := small()
		opts.Workers = 1
		_, _, err := Write(ctx, o, content{"a": "11111111222222223"}.files(), opts)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cut at change %d: error %v", n, err)
		}
		o.after = nil
		if list, err := List(t.Context(), o); err != nil || len(list) > 0 {
			t.Errorf("cut at change %d: snapshots %v, %v", n, list, err)
		}
		if n > 1 && o.objects[leaseName] != nil {
			t.Errorf("cut at change %d: the lease is not given back", n)
		}
		cancel()
	}
}

// A manifest with a good checksum is still not trusted with paths.
func TestManifestCannotLeadOut(t *testing.T) {
	o := newMemory()
	m, _ := mustWrite(t, o, content{"a": "text"}.files(), small())
	good := o.objects[manifestName(m.ID)]
	for _, path := range []string{"../a", "..", ".", "", "/a", "b/../../a", "b//a", "b/", "./a", `b\\..\\..\\a`, "c:a", `a\u0000`} {
		object, _ := unseal(good)
		object = bytes.Replace(object, []byte(`"path":"a"`), []byte(`"path":"`+path+`"`), 1)
		o.objects[manifestName(m.ID)] = seal(object)
		_, err := restored(t, o, m.ID)
		checkDamage(t, err, manifestName(m.ID))
	}
	for _, id := range []string{"../" + m.ID, "x", "..", m.ID + "/../" + m.ID, strings.ToUpper(m.ID[:21])} {
		if _, err := restored(t, o, id); !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("id %q: error %v, want %v", id, err, ErrNoSnapshot)
		}
	}
}

func TestRestoreTarget(t *testing.T) {
	o := newMemory()
	if _, err := restored(t, o, ""); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("nothing there: error %v", err)
	}
	m, _ := mustWrite(t, o, content{"a": "text"}.files(), small())
	if _, err := restored(t, o, newID(m.Created, m.ID)); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("unknown id: error %v", err)
	}
	top := t.TempDir()
	empty, full, file := filepath.Join(top, "empty"), filepath.Join(top, "full"), filepath.Join(top, "file")
	linked := filepath.Join(top, "linked")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(empty, 0o700))
	must(os.Mkdir(full, 0o755))
	must(os.WriteFile(filepath.Join(full, "mine"), []byte("mine"), 0o644))
	must(os.WriteFile(file, []byte("mine"), 0o644))
	for _, dir := range []string{full, file} {
		if _, err := Restore(t.Context(), o, "", dir, Options{}); !errors.Is(err, ErrOccupied) {
			t.Errorf("%s: error %v, want %v", dir, err, ErrOccupied)
		}
	}
	if _, err := Restore(t.Context(), o, "", "", Options{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no path: error %v", err)
	}
	must(os.Symlink(empty, linked))
	_, err := Restore(t.Context(), o, "", linked, Options{})
	must(err)
	if got := readTree(t, empty); got["a"] != "text" {
		t.Errorf("through a link: %q", got)
	}
	info, err := os.Stat(empty)
	must(err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, want that of the empty one before", info.Mode())
	}
	entries, err := os.ReadDir(top)
	if err != nil || len(entries) != 4 {
		t.Errorf("beside the target: %v, %v", entries, err)
	}
}

func TestStoreErrorsAreNoDamage(t *testing.T) {
	o := newMemory()
	mustWrite(t, o, content{"a": "text"}.files(), small())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Restore(ctx, o, "", filepath.Join(t.TempDir(), "x"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("restore: error %v", err)
	}
	if _, err := Verify(ctx, o, "", Options{}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrDamaged) {
		t.Errorf("verify: error %v", err)
	}
	if _, err := List(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("list: error %v", err)
	}
	if _, err := Prune(ctx, o, 1, Options{}); !errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("prune: error %v", err)
	}
}
