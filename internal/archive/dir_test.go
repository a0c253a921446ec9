package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

func newDir(t *testing.T) (Objects, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "deep", "store")
	o, err := Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	return o, root
}

func TestDirKeepsObjects(t *testing.T) {
	o, root := newDir(t)
	ctx := t.Context()
	if o.String() != root {
		t.Errorf("calls itself %s, want %s", o, root)
	}
	for _, name := range []string{"a/b/c", "a/b.c", "a/bc", "d"} {
		for _, text := range []string{"old", name} {
			if err := o.Put(ctx, name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		data, err := o.Get(ctx, name)
		if has, hasErr := o.Has(ctx, name); string(data) != name || err != nil || !has || hasErr != nil {
			t.Errorf("%s: %q, %v, %v, %v", name, data, err, has, hasErr)
		}
	}
	for prefix, want := range map[string][]string{
		"": {"a/b.c", "a/b/c", "a/bc", "d"}, "a/": {"a/b.c", "a/b/c", "a/bc"}, "a/b": {"a/b.c", "a/b/c", "a/bc"},
		"a/b/": {"a/b/c"}, "x": nil, "x/y": nil, "d": {"d"},
	} {
		if got, err := o.List(ctx, prefix); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("list %q: %q, %v, want %q", prefix, got, err, want)
		}
	}
	for range 2 {
		if err := o.Delete(ctx, "d"); err != nil {
			t.Error(err)
		}
	}
	if _, err := o.Get(ctx, "d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get what is deleted: %v", err)
	}
	if has, err := o.Has(ctx, "d"); has || err != nil {
		t.Errorf("has what is deleted: %v, %v", has, err)
	}
	if has, err := o.Has(ctx, "a/b"); has || err != nil {
		t.Errorf("a folder is an object: %v, %v", has, err)
	}
}

func TestDirNamesStayInside(t *testing.T) {
	o, root := newDir(t)
	outside := filepath.Join(filepath.Dir(root), "out")
	if err := os.WriteFile(outside, []byte("out"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../out", "a/../../out", "/out", "a//b", "a/", `..\out`, "c:x", "a\x00",
		"\xff", incoming, incoming + "/put-1"} {
		_, getErr := o.Get(t.Context(), name)
		_, hasErr := o.Has(t.Context(), name)
		for _, err := range []error{getErr, hasErr, o.Put(t.Context(), name, nil), o.Delete(t.Context(), name),
			o.(Creator).Create(t.Context(), name, nil)} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: error %v, want %v", name, err, ErrInvalid)
			}
		}
	}
	if names, err := o.List(t.Context(), "../"); !errors.Is(err, ErrInvalid) {
		t.Errorf("list ../: %q, %v", names, err)
	}
	if data, err := os.ReadFile(outside); string(data) != "out" || err != nil {
		t.Errorf("the file outside: %q, %v", data, err)
	}
	if _, err := Dir(""); !errors.Is(err, ErrInvalid) {
		t.Errorf("no path: error %v", err)
	}
}

func TestDirCreate(t *testing.T) {
	o, _ := newDir(t)
	if err := o.(Creator).Create(t.Context(), "lock", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := o.(Creator).Create(t.Context(), "lock", []byte("2")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second: error %v", err)
	}
	if data, err := o.Get(t.Context(), "lock"); string(data) != "1" || err != nil {
		t.Errorf("holds %q, %v", data, err)
	}
}

// A file system that has no links gets a rename, but never over a file.
func TestDirCreateWithoutLinks(t *testing.T) {
	for _, cause := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS} {
		link := func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: cause} }
		dir := t.TempDir()
		to := filepath.Join(dir, "to")
		for i, want := range []error{nil, fs.ErrExist} {
			from := filepath.Join(dir, "from")
			if err := os.WriteFile(from, []byte{byte(i)}, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := linkOrRename(from, to, link); !errors.Is(err, want) {
				t.Errorf("%v, attempt %d: error %v, want %v", cause, i, err, want)
			}
		}
		if data, err := os.ReadFile(to); err != nil || data[0] != 0 {
			t.Errorf("%v: holds %q, %v", cause, data, err)
		}
	}
}

// What a writer leaves that dies in the middle of a Put is no object and is gone
// after the next Write.
func TestDirLeftovers(t *testing.T) {
	o, root := newDir(t)
	left := filepath.Join(root, incoming, "put-123")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := o.List(t.Context(), ""); err != nil || len(names) > 0 {
		t.Errorf("list %q, %v", names, err)
	}
	mustWrite(t, o, content{"a": "text"}.files(), small())
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover: %v, want it gone", err)
	}
}

func TestDirEndToEnd(t *testing.T) {
	o, root := newDir(t)
	opts := small()
	old, now := content{"a": "1111111122222222", "b/c": "", "b/d": "x"}, content{"a": "1111111133333333"}
	first, _ := mustWrite(t, o, old.files(), opts)
	again, err := Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	second, stats := mustWrite(t, again, now.files(), opts)
	if stats.ChunksNew != 1 || stats.ChunksShared != 1 {
		t.Errorf("second snapshot: %+v", stats)
	}
	mustRestore(t, again, first.ID, old)
	mustRestore(t, o, second.ID, now)
	if _, err := Prune(t.Context(), again, 1, opts); err != nil {
		t.Fatal(err)
	}
	mustRestore(t, o, "", now)
	checkNoGarbage(t, o)
}

func TestDirStopsWhenCancelled(t *testing.T) {
	o, _ := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, getErr := o.Get(ctx, "a")
	_, hasErr := o.Has(ctx, "a")
	for _, err := range []error{o.Put(ctx, "a", nil), o.Delete(ctx, "a"), o.(Syncer).Sync(ctx), getErr, hasErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}
