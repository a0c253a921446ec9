package sprat

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/iopath"
)

// TestOpenCreates: a directory that is missing, empty or holds nothing but
// traces of an interrupted creation becomes a store, and opens again as one.
func TestOpenCreates(t *testing.T) {
	for name, have := range map[string][]string{
		"missing":    nil,
		"empty":      {""},
		"volume":     {"lost+found/"},
		"half made":  {"indexes/", "tmp/", "SPRAT.new"},
		"half made2": {"catalog/", "indexes/", "tmp/"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "deep", "store")
			for _, f := range have {
				if strings.HasSuffix(f, "/") || f == "" {
					mustDo(t, os.MkdirAll(filepath.Join(dir, f), 0o755))
				} else {
					mustDo(t, os.WriteFile(filepath.Join(dir, f), []byte("sprat st"), 0o644))
				}
			}
			for range 2 {
				s := openStore(t, dir, Options{CacheBytes: -1})
				if buckets, err := s.Buckets(); err != nil || len(buckets) != 0 {
					t.Errorf("a new store has buckets %v, %v", buckets, err)
				}
				mustClose(t, s)
			}
			mark, err := os.ReadFile(filepath.Join(dir, storeFile))
			if err != nil || string(mark) != "sprat store, format 1\n" {
				t.Errorf("marker %q, %v", mark, err)
			}
		})
	}
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOpenRefusesOtherDirectories: what is not a store stays as it is.
func TestOpenRefusesOtherDirectories(t *testing.T) {
	root := t.TempDir()
	foreign := filepath.Join(root, "foreign")
	mustDo(t, os.MkdirAll(filepath.Join(foreign, "indexes"), 0o755))
	mustDo(t, os.WriteFile(filepath.Join(foreign, "notes.txt"), []byte("mine"), 0o644))
	mustDo(t, os.Mkdir(filepath.Join(root, "empty"), 0o755))
	before := snapshot(t, root)
	for _, c := range []struct {
		dir  string
		opts Options
		want error
	}{
		{"foreign", Options{}, ErrNotStore},
		{"foreign", Options{ReadOnly: true}, ErrNotStore},
		{"empty", Options{ReadOnly: true}, ErrNotStore},
		{"missing", Options{ReadOnly: true}, ErrNotStore},
		{"foreign/notes.txt", Options{}, syscall.ENOTDIR},
		{"foreign/notes.txt/store", Options{}, syscall.ENOTDIR},
		{"new", Options{IOEngine: "libaio"}, ErrInvalid},
		{"new", Options{Direct: "maybe"}, ErrInvalid},
		{"new", Options{QueueDepth: -1}, ErrInvalid},
		{"new", Options{QueueDepth: 1 << 20}, ErrInvalid},
		{"new", Options{MemoryLimit: -1}, ErrMemoryLimit},
		{"new", Options{MemoryLimit: minMemoryLimit - 1}, ErrMemoryLimit},
	} {
		s, err := Open(filepath.Join(root, c.dir), c.opts)
		if !errors.Is(err, c.want) {
			t.Errorf("open %s with %+v: %v, want %v", c.dir, c.opts, err, c.want)
		}
		if err == nil {
			mustClose(t, s)
		}
		checkUnchanged(t, fmt.Sprintf("open %s with %+v", c.dir, c.opts), root, before)
	}
}

// TestMarkers: a marker of a newer program or of none is refused and left alone.
func TestMarkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustClose(t, openStore(t, dir, Options{CacheBytes: -1}))
	path := filepath.Join(dir, storeFile)
	for mark, want := range map[string]error{
		"sprat store, format 2\n":                  ErrFormat,
		"sprat store, format 99 with extensions\n": ErrFormat,
		"":                         ErrCorrupt,
		"sprat store":              ErrCorrupt,
		"sprat store, format \n":   ErrCorrupt,
		"sprat store, format 0\n":  ErrCorrupt,
		"sprat store, format -3\n": ErrCorrupt,
		"sprat store, format 99999999999999999999\n": ErrCorrupt,
		"\x00\x00\x00\x00\x00\x00\x00\x00":           ErrCorrupt,
		strings.Repeat("x", 10_000):                  ErrCorrupt,
	} {
		mustDo(t, os.WriteFile(path, []byte(mark), 0o644))
		before := snapshot(t, dir)
		for _, readOnly := range []bool{false, true} {
			_, err := Open(dir, Options{ReadOnly: readOnly})
			if !errors.Is(err, want) {
				t.Errorf("marker %.40q: %v, want %v", mark, err, want)
			}
			var ce *CorruptionError
			if want == ErrCorrupt && (!errors.As(err, &ce) || ce.Path != path) {
				t.Errorf("marker %.40q: %v does not name %s", mark, err, path)
			}
		}
		checkUnchanged(t, fmt.Sprintf("marker %.40q", mark), dir, before)
	}
}

// TestNewerCatalogSchema: a catalog that a newer program wrote is refused.
func TestNewerCatalogSchema(t *testing.T) {
	dir := t.TempDir()
	mustClose(t, openStore(t, dir, Options{CacheBytes: -1}))
	db := openCatalog(t, dir)
	mustDo(t, db.Set([]byte{1}, binary.LittleEndian.AppendUint32(nil, 1<<20), pebble.Sync))
	mustDo(t, db.Close())
	for _, readOnly := range []bool{false, true} {
		if _, err := Open(dir, Options{ReadOnly: readOnly}); !errors.Is(err, ErrFormat) {
			t.Errorf("newer schema, read-only %v: %v, want %v", readOnly, err, ErrFormat)
		}
	}
}

// TestOpenTwice: a directory has at most one writer, in one process or several,
// and no readers beside it.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	link := filepath.Join(t.TempDir(), "link")
	mustDo(t, os.Symlink(dir, link))
	for _, path := range []string{dir, dir + "/.", link} {
		for _, readOnly := range []bool{false, true} {
			if _, err := Open(path, Options{ReadOnly: readOnly}); !errors.Is(err, ErrInUse) {
				t.Errorf("second open of %s: %v, want %v", path, err, ErrInUse)
			}
		}
	}
	if out, err := child(t, "open", dir); err == nil || !strings.Contains(out, ErrInUse.Error()) {
		t.Errorf("another process: %v, %s", err, out)
	}
	if err := s.CreateBucket("b"); err != nil {
		t.Errorf("the store after others were refused: %v", err)
	}
	mustClose(t, s)
	if out, err := child(t, "open", dir); err != nil {
		t.Errorf("another process after Close: %v, %s", err, out)
	}
	readers := []*Store{openStore(t, dir, Options{ReadOnly: true}), openStore(t, dir, Options{ReadOnly: true})}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("a writer beside readers: %v, want %v", err, ErrInUse)
	}
	for _, r := range readers {
		if buckets, err := r.Buckets(); err != nil || !slices.Equal(buckets, []string{"b"}) {
			t.Errorf("a reader sees buckets %q, %v", buckets, err)
		}
		mustClose(t, r)
	}
	mustClose(t, openStore(t, dir, Options{CacheBytes: -1}))
}

// TestCloseGivesTheLockUp: even while another process, forked in the meantime,
// has a copy of its descriptor.
func TestCloseGivesTheLockUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	inherited, err := unix.Dup(int(s.lock.Fd()))
	mustDo(t, err)
	mustClose(t, s)
	mustClose(t, openStore(t, dir, Options{CacheBytes: -1}))
	mustDo(t, unix.Close(inherited))
}

// helperOpen opens and closes the store of its first argument.
func helperOpen(args []string) error {
	s, err := Open(args[0], Options{CacheBytes: -1})
	if err != nil {
		return err
	}
	return s.Close()
}

// TestBucketsAndNames: buckets and indexes are listed in order, exist once, and
// their names are checked at every door.
func TestBucketsAndNames(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	cfg := IndexConfig{Dimension: 4, Metric: Euclidean}
	s := openStore(t, dir, Options{CacheBytes: -1})
	for _, name := range []string{"c", "a", "päckchen", "..", strings.Repeat("n", 255)} {
		if err := s.CreateBucket(name); err != nil {
			t.Errorf("bucket %q: %v", name, err)
		}
		if err := s.CreateBucket(name); !errors.Is(err, ErrExists) {
			t.Errorf("bucket %q again: %v, want %v", name, err, ErrExists)
		}
	}
	for _, name := range []string{"", "a b", "a/b", "a\x00b", "a\nb", "\x7f", "a\xffb", strings.Repeat("n", 256)} {
		_, inBucket := s.CreateIndex(ctx, name, "i", cfg)
		_, inIndex := s.CreateIndex(ctx, "a", name, cfg)
		for door, err := range map[string]error{"CreateBucket": s.CreateBucket(name), "bucket": inBucket, "index": inIndex} {
			var in *InputError
			if !errors.Is(err, ErrInvalid) || !errors.As(err, &in) {
				t.Errorf("%s with name %.20q: %v, want %v", door, name, err, ErrInvalid)
			}
		}
		if _, err := s.Index(name, name); !errors.Is(err, ErrNotFound) {
			t.Errorf("index %.20q: %v, want %v", name, err, ErrNotFound)
		}
	}
	for _, full := range [][2]string{{"c", "x"}, {"a", "y"}, {"a", "x"}, {"new", "x"}} {
		if _, err := s.CreateIndex(ctx, full[0], full[1], cfg); err != nil {
			t.Errorf("index %v: %v", full, err)
		}
		if _, err := s.CreateIndex(ctx, full[0], full[1], cfg); !errors.Is(err, ErrExists) {
			t.Errorf("index %v again: %v, want %v", full, err, ErrExists)
		}
	}
	for range 2 {
		buckets, err := s.Buckets()
		if want := []string{"..", "a", "c", "new", strings.Repeat("n", 255), "päckchen"}; err != nil ||
			!slices.IsSorted(buckets) || !sameSet(buckets, want) {
			t.Errorf("buckets %.60q, %v", buckets, err)
		}
		indexes, err := s.Indexes()
		if want := []string{"a/x", "a/y", "c/x", "new/x"}; err != nil || !slices.Equal(indexes, want) {
			t.Errorf("indexes %q, %v", indexes, err)
		}
		mustClose(t, s)
		s = openStore(t, dir, Options{CacheBytes: -1})
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// TestIndexConfigIsChecked: what is out of range is named, and nothing is made.
func TestIndexConfigIsChecked(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	good := IndexConfig{Dimension: 8, Metric: Dot}
	for field, change := range map[string][]func(*IndexConfig){
		"dimension": {
			func(c *IndexConfig) { c.Dimension = 0 }, func(c *IndexConfig) { c.Dimension = -1 },
			func(c *IndexConfig) { c.Dimension = MaxDimension + 1 },
		},
		"metric":       {func(c *IndexConfig) { c.Metric = 0 }, func(c *IndexConfig) { c.Metric = 77 }},
		"postingBytes": {func(c *IndexConfig) { c.PostingBytes = 4<<10 - 1 }, func(c *IndexConfig) { c.PostingBytes = 64<<10 + 1 }},
		"copies":       {func(c *IndexConfig) { c.Copies = -1 }, func(c *IndexConfig) { c.Copies = maxCopies + 1 }},
		"bits":         {func(c *IndexConfig) { c.Bits = -1 }, func(c *IndexConfig) { c.Bits = 9 }},
	} {
		for _, f := range change {
			cfg := good
			f(&cfg)
			_, err := s.CreateIndex(context.Background(), "b", "i", cfg)
			var in *InputError
			if !errors.As(err, &in) || in.Field != field {
				t.Errorf("%+v: %v, want an error about %s", cfg, err, field)
			}
		}
	}
	checkNothingOf(t, s, "i")
	if buckets, err := s.Buckets(); err != nil || len(buckets) != 0 {
		t.Errorf("buckets %q, %v", buckets, err)
	}
}

// TestLeftoversOfAKilledBuild: open removes what a build that never committed
// left in the store, and nothing else.
func TestLeftoversOfAKilledBuild(t *testing.T) {
	t.Parallel()
	d, dir := fewTexts(60), t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	want, err := answersOf(ix, d, everything)
	mustDo(t, err)
	const dead = 7 // index id of the killed build
	b := s.catalog.NewBatch()
	b.PutExtent(dead, 0, make([]byte, 8))
	b.PutLongKey(dead, 3, 0, []byte("key"))
	b.PutLongMetadata(dead, 3, 0, []byte("{}"))
	mustDo(t, b.Commit())
	mustClose(t, s)

	gone := []string{
		"indexes/00000007/postings", "tmp/build-00000007/rows", "tmp/build-00000008/keys/000001.sst",
		"tmp/build-00000001/routes", // of a build killed right after its commit
	}
	kept := []string{"indexes/7", "indexes/notes", "indexes/0000000g", "indexes/00000007.bak", "indexes/00000001/postings"}
	for _, f := range slices.Concat(gone, kept[:4]) {
		mustDo(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755))
		mustDo(t, os.WriteFile(filepath.Join(dir, f), []byte("half"), 0o644))
	}
	s = openStore(t, dir, Options{CacheBytes: -1})
	left := snapshot(t, dir)
	for _, f := range gone {
		if _, ok := left[f]; ok {
			t.Errorf("%s is still there", f)
		}
	}
	for _, f := range kept {
		if _, ok := left[f]; !ok {
			t.Errorf("%s is gone", f)
		}
	}
	checkNoRows(t, s, dead)
	mustAnswer(t, "after the clean-up", mustIndex(t, s, "i"), d, want)
}

// TestForgottenIndex: the files of an index that the catalog has lost are the
// only copy of its data. They are kept, and no build writes over them.
func TestForgottenIndex(t *testing.T) {
	t.Parallel()
	d, dir := fewTexts(60), t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	b := s.catalog.NewBatch()
	b.DeleteIndex(ix.row)
	mustDo(t, b.Commit())
	mustClose(t, s)
	db := openCatalog(t, dir)
	mustDo(t, db.Delete([]byte{2}, pebble.Sync)) // the last index id given out
	mustDo(t, db.Close())

	before := snapshot(t, ix.dir)
	s = openStore(t, dir, Options{CacheBytes: -1})
	if _, err := s.Index("b", "i"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want %v", err, ErrNotFound)
	}
	next := mustBuild(t, s, "i", fewConfig(d), d.rows)
	mustVerify(t, next)
	if next.dir == ix.dir {
		t.Errorf("the new index has the files of the old one")
	}
	checkUnchanged(t, "forgotten index", ix.dir, before)
}

// openCatalog opens the catalog of a closed store beneath the engine.
func openCatalog(t *testing.T, dir string) *pebble.DB {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, catalogDir), &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest, Logger: quiet{t},
	})
	mustDo(t, err)
	return db
}

// quiet passes only the end of the world on.
type quiet struct{ t *testing.T }

func (quiet) Infof(string, ...any)             {}
func (quiet) Errorf(string, ...any)            {}
func (q quiet) Fatalf(format string, a ...any) { q.t.Fatalf(format, a...) }

// TestMemoryLimits: a limit too small is refused with the number that would do,
// and that number does.
func TestMemoryLimits(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	needed := func(what string, err error) int64 {
		t.Helper()
		var me *MemoryLimitError
		if !errors.Is(err, ErrMemoryLimit) || !errors.As(err, &me) || me.Needed <= me.Limit {
			t.Fatalf("%s: %v, want %v with the number needed", what, err, ErrMemoryLimit)
		}
		return me.Needed
	}

	_, err := Open(dir, Options{MemoryLimit: 1 << 20})
	s := openStore(t, dir, Options{MemoryLimit: needed("open", err), CacheBytes: -1})

	// A build of the largest dimension needs more than the smallest store has.
	cfg := IndexConfig{Dimension: MaxDimension, Metric: Euclidean}
	rows := make([][]float32, 5)
	for i := range rows {
		rows[i] = make([]float32, MaxDimension)
		rows[i][i] = 1
	}
	before := snapshot(t, filepath.Join(dir, indexesDir))
	_, _, err = s.Build(ctx, "b", "i", cfg, rowsOf(rows), BuildOptions{})
	limit := needed("build", err)
	checkUnchanged(t, "build", filepath.Join(dir, indexesDir), before)
	mustClose(t, s)
	s, err = openWith(dir, Options{MemoryLimit: limit, CacheBytes: -1}, hooks{manual: true}) // the limit is changed below
	mustDo(t, err)
	ix := mustBuild(t, s, "i", cfg, rows)

	// Indexes that outgrow the limit keep the store from opening.
	s.opts.MemoryLimit = baseMemory + ix.MemoryBytes() - 1
	s.opts.MemoryLimit = needed("the indexes", s.checkMemory())
	if err := s.checkMemory(); err != nil {
		t.Errorf("with the number needed: %v", err)
	}
	mustClose(t, s)

	_, err = Open(dir, Options{MemoryLimit: 64 << 20, CacheBytes: 30 << 20})
	s = openStore(t, dir, Options{MemoryLimit: needed("cache", err), CacheBytes: 30 << 20})
	if s.cache == nil {
		t.Error("no cache although one was asked for")
	}
}

// TestIOInfo: the store says how it reads, and a mode asked for by name is had
// or refused.
func TestIOInfo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, o := range []Options{{}, {IOEngine: iopath.Pread}, {IOEngine: iopath.Pread, Direct: iopath.DirectOff, QueueDepth: 3}, {IOEngine: iopath.Mmap}} {
		o.CacheBytes = -1
		s := openStore(t, dir, o)
		info := s.IOInfo()
		if o.IOEngine != "" && info.Engine != o.IOEngine || o.Direct == iopath.DirectOff && info.Direct || o.QueueDepth != 0 && info.Depth != o.QueueDepth {
			t.Errorf("asked for %+v, got %+v", o, info)
		}
		st, err := s.Stats()
		if err != nil || !reflect.DeepEqual(st.IO, info) || st.Directory != dir {
			t.Errorf("stats %+v, %v", st, err)
		}
		mustClose(t, s)
	}
	if _, err := Open(dir, Options{IOEngine: iopath.Mmap, Direct: iopath.DirectOn}); !errors.Is(err, iopath.ErrUnavailable) {
		t.Errorf("mmap with direct I/O: %v, want %v", err, iopath.ErrUnavailable)
	}
}
