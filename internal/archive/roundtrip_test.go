package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// Files change between snapshots in every way; each snapshot stays what it was,
// and the pieces of those that are pruned go.
func TestEverySnapshotIsItsOwn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o, opts := newMemory(), small()
		paths := []string{"a", "b/c", "b/d", "e.x"}
		text := rapid.StringOfN(rapid.SampledFrom([]rune{'x', 'y', 0}), 0, 40, 40)
		now, kept := content{}, map[string]content{}
		var ids []string
		for range rapid.IntRange(1, 4).Draw(rt, "snapshots") {
			for range rapid.IntRange(0, 3).Draw(rt, "edits") {
				path := rapid.SampledFrom(paths).Draw(rt, "path")
				switch old, ok := now[path]; {
				case ok && rapid.Bool().Draw(rt, "remove"):
					delete(now, path)
				case ok && len(old) > 0 && rapid.Bool().Draw(rt, "in place"):
					i := rapid.IntRange(0, len(old)-1).Draw(rt, "at")
					now[path] = old[:i] + "z" + old[i+1:]
				default:
					now[path] = text.Draw(rt, "text")
				}
			}
			files := now.files()
			if rapid.Bool().Draw(rt, "read all") {
				files = now.unversioned()
			}
			m, _, err := Write(context.Background(), o, files, opts)
			if err != nil {
				rt.Fatal(err)
			}
			ids = append(ids, m.ID)
			kept[m.ID] = content{}
			for path, text := range now {
				kept[m.ID][path] = text
			}
		}
		if !slices.IsSorted(ids) {
			rt.Fatalf("ids do not grow: %q", ids)
		}
		keep := rapid.IntRange(1, len(ids)).Draw(rt, "keep")
		if _, err := Prune(context.Background(), o, keep, opts); err != nil {
			rt.Fatal(err)
		}
		for _, id := range ids[len(ids)-keep:] {
			if _, err := Verify(context.Background(), o, id, Options{}); err != nil {
				rt.Fatal(err)
			}
			mustRestore(t, o, id, kept[id])
		}
		checkNoGarbage(t, o)
	})
}

// checkNoGarbage requires that the store holds manifests and what they name.
func checkNoGarbage(t *testing.T, o Objects) {
	t.Helper()
	names, err := o.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := snapshotIDs(t.Context(), o)
	named := map[string]bool{}
	for _, id := range ids {
		m, err := load(t.Context(), o, id)
		if err != nil {
			t.Fatal(err)
		}
		named[manifestName(id)] = true
		for _, f := range m.Files {
			for _, sum := range f.Chunks {
				if sum != "" {
					named[chunkName(sum)] = true
				}
			}
		}
	}
	for _, name := range names {
		if !named[name] {
			t.Errorf("%s is in the store, and no snapshot names it", name)
		}
	}
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	o, opts := newMemory(), small()
	zeros := strings.Repeat("\x00", 8)
	for _, step := range []struct {
		name  string
		files []File
		want  Stats
	}{
		{"first", content{"a": "11111111" + zeros + "222", "b": ""}.files(),
			Stats{Files: 2, Bytes: 19, ChunksNew: 2, BytesNew: 11}},
		{"the same", content{"a": "11111111" + zeros + "222", "b": ""}.files(),
			Stats{Files: 2, Bytes: 19, ChunksShared: 2, FilesUnchanged: 2}},
		{"the same, read", content{"a": "11111111" + zeros + "222", "b": ""}.unversioned(),
			Stats{Files: 2, Bytes: 19, ChunksShared: 2}},
		{"changed in place", content{"a": "11111111" + zeros + "223", "b": ""}.files(),
			Stats{Files: 2, Bytes: 19, ChunksNew: 1, ChunksShared: 1, BytesNew: 3}},
		{"an old piece again, twice in one file", content{"c": "11111111" + "11111111" + "444", "a": "444"}.files(),
			Stats{Files: 2, Bytes: 22, ChunksNew: 1, ChunksShared: 3, BytesNew: 3}},
		{"none", nil, Stats{}},
	} {
		if _, stats := mustWrite(t, o, step.files, opts); stats != step.want {
			t.Errorf("%s:\n got %+v\nwant %+v", step.name, stats, step.want)
		}
	}
}

// A piece that went missing is sent again even when its file did not change.
func TestUnchangedFileMendsWhatIsMissing(t *testing.T) {
	o, opts := newMemory(), small()
	want := content{"a": "1111111122222222"}
	mustWrite(t, o, want.files(), opts)
	delete(o.objects, chunkName(digest([]byte("22222222"))))
	_, stats := mustWrite(t, o, want.files(), opts)
	if stats.ChunksNew != 1 || stats.FilesUnchanged != 0 {
		t.Errorf("%+v, want one new piece and no file unread", stats)
	}
	mustRestore(t, o, "", want)
}

// A version alone does not make a file the same, nor do pieces of another size.
func TestUnchangedNeedsSizeAndPieces(t *testing.T) {
	o, opts := newMemory(), small()
	same := func(c content) []File { list := c.files(); list[0].Version = "same"; return list }
	mustWrite(t, o, same(content{"a": "1111111122222222"}), opts)
	longer := content{"a": "11111111222222223333"}
	_, stats := mustWrite(t, o, same(longer), opts)
	if stats.FilesUnchanged != 0 || stats.ChunksNew != 1 {
		t.Errorf("longer: %+v, want it read and one new piece", stats)
	}
	mustRestore(t, o, "", longer)
	opts.ChunkBytes = 4
	if _, stats = mustWrite(t, o, same(longer), opts); stats.FilesUnchanged != 0 {
		t.Errorf("other pieces: %+v, want it read", stats)
	}
	mustRestore(t, o, "", longer)
}

// counted is a file that counts what is done with it.
type counted struct {
	text           string
	opened, closed atomic.Int32
	reads          atomic.Int32
}

func (c *counted) open() (io.ReaderAt, io.Closer, error) { c.opened.Add(1); return c, c, nil }
func (c *counted) Close() error                          { c.closed.Add(1); return nil }
func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	c.reads.Add(1)
	return strings.NewReader(c.text).ReadAt(b, off)
}

func TestRangesAreAllThatIsKept(t *testing.T) {
	const text = "aaaaaaaabbbbbbbbccccccccdddddddd"
	for _, c := range []struct {
		name   string
		ranges []Range
		want   string
		reads  int32
	}{
		{"all", nil, text, 4},
		{"none", []Range{}, strings.Repeat("\x00", 32), 0},
		{"empty", []Range{{5, 0}}, strings.Repeat("\x00", 32), 0},
		{"part of a piece", []Range{{9, 2}}, strings.Repeat("\x00", 9) + "bb" + strings.Repeat("\x00", 21), 1},
		{"unsorted, across pieces, overlapping: read once", []Range{{22, 4}, {6, 3}, {7, 1}},
			"\x00\x00\x00\x00\x00\x00aab" + strings.Repeat("\x00", 13) + "ccdd" + strings.Repeat("\x00", 6), 4},
		{"beyond the end of what is there", []Range{{0, 4}}, "aaaa" + strings.Repeat("\x00", 36), 1},
	} {
		o, f := newMemory(), &counted{text: text}
		mustWrite(t, o, []File{{Path: "f", Size: int64(len(c.want)), Ranges: c.ranges, Open: f.open}}, small())
		mustRestore(t, o, "", content{"f": c.want})
		if f.reads.Load() != c.reads || f.opened.Load() != f.closed.Load() || (f.opened.Load() == 1) != (c.reads > 0) {
			t.Errorf("%s: opened %d times, closed %d, read %d times, want %d", c.name,
				f.opened.Load(), f.closed.Load(), f.reads.Load(), c.reads)
		}
	}
}

func TestFilesAreClosedWhateverHappens(t *testing.T) {
	o := newMemory()
	o.before = func(op, name string) error {
		if strings.HasPrefix(name, chunkPrefix) {
			return io.ErrShortWrite
		}
		return nil
	}
	files := make([]File, 9)
	sources := make([]counted, len(files))
	for i := range files {
		sources[i].text = strings.Repeat(string(rune('a'+i)), 30)
		files[i] = File{Path: sources[i].text, Size: 30, Open: sources[i].open}
	}
	if _, _, err := Write(t.Context(), o, files, small()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
	for i := range sources {
		if sources[i].opened.Load() != sources[i].closed.Load() {
			t.Errorf("file %d: opened %d times, closed %d", i, sources[i].opened.Load(), sources[i].closed.Load())
		}
	}
}

// However many files there are, few are open at once: one for each piece in work
// and the one whose pieces are fed.
func TestFewFilesAreOpen(t *testing.T) {
	opts := small()
	opts.Workers = 2
	var now, most atomic.Int32
	files := make([]File, 50)
	for i := range files {
		files[i] = File{Path: fmt.Sprintf("%02d", i), Size: 20, Open: func() (io.ReaderAt, io.Closer, error) {
			most.Store(max(most.Load(), now.Add(1)))
			return strings.NewReader(strings.Repeat(string(rune('A'+i)), 20)), closer(func() { now.Add(-1) }), nil
		}}
	}
	mustWrite(t, newMemory(), files, opts)
	if now.Load() != 0 || most.Load() > 3 {
		t.Errorf("%d files were open at once, %d still are, want at most 3 and 0", most.Load(), now.Load())
	}
}

type closer func()

func (c closer) Close() error { c(); return nil }

func TestWriteRefuses(t *testing.T) {
	ok := content{"a": "text"}.files()[0]
	with := func(change func(*File)) []File { f := ok; change(&f); return []File{f} }
	for name, c := range map[string]struct {
		files []File
		opts  Options
		want  error
	}{
		"path up":         {with(func(f *File) { f.Path = "../a" }), Options{}, ErrInvalid},
		"path absolute":   {with(func(f *File) { f.Path = "/a" }), Options{}, ErrInvalid},
		"path twice":      {[]File{ok, ok}, Options{}, ErrInvalid},
		"file and folder": {append(content{"a/b/c": ""}.files(), ok, content{"a.x": ""}.files()[0]), Options{}, ErrInvalid},
		"negative size":   {with(func(f *File) { f.Size = -1 }), Options{}, ErrInvalid},
		"mode":            {with(func(f *File) { f.Mode = fs.ModeDir }), Options{}, ErrInvalid},
		"range":           {with(func(f *File) { f.Ranges = []Range{{3, 2}} }), Options{}, ErrInvalid},
		"range overflow":  {with(func(f *File) { f.Ranges = []Range{{1 << 62, 1 << 62}} }), Options{}, ErrInvalid},
		"version":         {with(func(f *File) { f.Version = "\xff" }), Options{}, ErrInvalid},
		"no open":         {with(func(f *File) { f.Open = nil }), Options{}, ErrInvalid},
		"shorter":         {with(func(f *File) { f.Size = 5 }), Options{}, io.ErrUnexpectedEOF},
		"open fails": {with(func(f *File) {
			f.Open = func() (io.ReaderAt, io.Closer, error) { return nil, nil, fs.ErrPermission }
		}), Options{}, fs.ErrPermission},
		"label":       {nil, Options{Label: "\xff"}, ErrInvalid},
		"meta":        {nil, Options{Meta: map[string]string{"a": "\xff"}}, ErrInvalid},
		"workers":     {nil, Options{Workers: -1}, ErrInvalid},
		"piece size":  {nil, Options{ChunkBytes: MaxChunkBytes + 1}, ErrInvalid},
		"piece size-": {nil, Options{ChunkBytes: -1}, ErrInvalid},
	} {
		o := newMemory()
		if _, _, err := Write(t.Context(), o, c.files, c.opts); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if len(o.objects) > 0 {
			t.Errorf("%s: objects are left: %v", name, o.puts)
		}
	}
}

func TestManifestSaysWhatWasGiven(t *testing.T) {
	o, opts := newMemory(), small()
	opts.Label, opts.Meta = "nightly", map[string]string{"rows": "7"}
	m, _ := mustWrite(t, o, []File{{Path: "f", Size: 4, Mode: 0o444, Version: "v1", Open: (&counted{text: "text"}).open}}, opts)
	loaded, err := load(t.Context(), o, m.ID)
	if err != nil || !reflect.DeepEqual(loaded, m) {
		t.Errorf("written %+v, loaded %+v, %v", m, loaded, err)
	}
	list, err := List(t.Context(), o)
	want := []Summary{{ID: m.ID, Created: opts.Now(), Label: "nightly", Meta: opts.Meta, Files: 1, Bytes: 4}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("list %+v, %v, want %+v", list, err, want)
	}
	dir := filepath.Join(t.TempDir(), "new", "target")
	stats, err := Restore(t.Context(), o, m.ID, dir, Options{})
	if want := (Stats{Files: 1, Bytes: 4, ChunksRead: 1, BytesRead: 4}); err != nil || stats != want {
		t.Errorf("restore: %+v, %v, want %+v", stats, err, want)
	}
	info, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("restored as %v, %v, want mode 0444", info, err)
	}
}

func TestProgressAndBounds(t *testing.T) {
	o, opts := newMemory(), small()
	opts.Workers = 3
	var inPut, most atomic.Int32
	o.before = func(string, string) error {
		n := inPut.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		return nil
	}
	o.after = func(string, string) error { inPut.Add(-1); return nil }
	var last, total int64
	opts.Progress = func(done, of int64) {
		if done < last || done > of {
			t.Errorf("progress %d of %d after %d", done, of, last)
		}
		last, total = done, of
	}
	text := make([]byte, 800)
	for i := range text {
		text[i] = byte(i / 16)
	}
	mustWrite(t, o, content{"a": string(text), "b": "tail"}.files(), opts)
	if last != 804 || total != 804 {
		t.Errorf("progress ends at %d of %d, want 804", last, total)
	}
	if most.Load() > 3 {
		t.Errorf("%d pieces in work, want at most 3", most.Load())
	}
	last = 0
	if _, err := Verify(t.Context(), o, "", opts); err != nil || last != total {
		t.Errorf("verify: progress ends at %d of %d, %v", last, total, err)
	}
	last = 0
	if _, err := Restore(t.Context(), o, "", filepath.Join(t.TempDir(), "x"), opts); err != nil || last != 804 {
		t.Errorf("restore: progress ends at %d of %d, %v", last, total, err)
	}
}

func TestZero(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 2000} {
		b := make([]byte, n)
		if !zero(b) {
			t.Errorf("%d zeros are not zeros", n)
		}
		for i := range b {
			b[i] = 1
			if zero(b) {
				t.Errorf("a one at %d of %d is not seen", i, n)
			}
			b[i] = 0
		}
	}
	if !bytes.Equal(zeros[:], make([]byte, len(zeros))) {
		t.Error("the zeros are not zeros")
	}
}
