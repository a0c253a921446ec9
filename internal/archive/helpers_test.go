package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is a store in memory whose calls can be made to fail.
type memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	// before, when set, is asked before each call that changes something, and
	// after once it has been done.
	before, after func(op, name string) error
	puts          []string
}

func newMemory() *memory { return &memory{objects: map[string][]byte{}} }

func (m *memory) change(op, name string, do func()) error {
	if m.before != nil {
		if err := m.before(op, name); err != nil {
			return err
		}
	}
	m.mu.Lock()
	do()
	m.mu.Unlock()
	if m.after != nil {
		return m.after(op, name)
	}
	return nil
}

func (m *memory) Put(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.change("put", name, func() {
		m.objects[name] = bytes.Clone(data)
		m.puts = append(m.puts, name)
	})
}

func (m *memory) Get(ctx context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.objects[name]
	if !ok {
		return nil, fmt.Errorf("get %s: %w", name, fs.ErrNotExist)
	}
	return bytes.Clone(data), ctx.Err()
}

func (m *memory) Has(ctx context.Context, name string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.objects[name]
	return ok, ctx.Err()
}

func (m *memory) List(ctx context.Context, prefix string) (names []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, ctx.Err()
}

func (m *memory) Delete(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.change("delete", name, func() { delete(m.objects, name) })
}

func (m *memory) String() string { return "memory" }

// content is files to keep, by path.
type content map[string]string

// files returns c as Write takes it. Each file's version is its content.
func (c content) files() (list []File) {
	for path, text := range c {
		list = append(list, File{Path: path, Size: int64(len(text)), Version: "v" + digest([]byte(text)),
			Open: func() (io.ReaderAt, io.Closer, error) { return strings.NewReader(text), nil, nil }})
	}
	return list
}

// unversioned returns c as files that are always read.
func (c content) unversioned() []File {
	list := c.files()
	for i := range list {
		list[i].Version = ""
	}
	return list
}

// clock returns a clock that stands still until the value is moved.
func clock(t *time.Time) func() time.Time {
	*t = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	return func() time.Time { return *t }
}

// small are options that cut files small.
func small() Options {
	var t time.Time
	return Options{ChunkBytes: 8, Now: clock(&t)}
}

func mustWrite(t *testing.T, o Objects, files []File, opts Options) (Manifest, Stats) {
	t.Helper()
	m, stats, err := Write(t.Context(), o, files, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m, stats
}

// restored returns what a snapshot holds, by way of a Restore.
func restored(t testing.TB, o Objects, id string) (content, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "target")
	_, err := Restore(context.Background(), o, id, dir, Options{})
	if err != nil {
		if _, missing := os.Lstat(dir); !errors.Is(missing, fs.ErrNotExist) {
			t.Errorf("the target exists after %v", err)
		}
		if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) > 0 {
			t.Errorf("%s is left after %v", left[0].Name(), err)
		}
		return nil, err
	}
	return readTree(t, dir), nil
}

func readTree(t testing.TB, dir string) content {
	t.Helper()
	c := content{}
	err := filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		name, _ := filepath.Rel(dir, p)
		c[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustRestore(t testing.TB, o Objects, id string, want content) {
	t.Helper()
	got, err := restored(t, o, id)
	if err != nil {
		t.Fatalf("restore %q: %v", id, err)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("restore %q: got %q, want %q", id, got, want)
	}
}
