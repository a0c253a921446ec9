package crashdisk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/iopath"
)

// program makes random changes below a directory through an engine.
type program struct {
	t      *rapid.T
	dir    string
	engine *iopath.Engine
	names  []string // of files that it may touch
}

func (p *program) path(label string) string {
	return filepath.Join(p.dir, rapid.SampledFrom(p.names).Draw(p.t, label))
}

// must fails on errors other than a missing file.
func (p *program) must(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
}

// update changes a file in place.
func (p *program) update(path string, do func(u *iopath.Updater) error) {
	u, err := p.engine.OpenUpdate(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.must(errors.Join(do(u), u.Close()))
}

// step makes one random change.
func (p *program) step() {
	path := p.path("file")
	off := rapid.Int64Range(0, 6000).Draw(p.t, "off")
	n := rapid.IntRange(0, 5000).Draw(p.t, "n")
	switch rapid.IntRange(0, 8).Draw(p.t, "change") {
	case 0, 1, 2:
		data := []byte(strings.Repeat(string(rune('a'+n%26)), n))
		p.update(path, func(u *iopath.Updater) error { _, err := u.WriteAt(data, off); return err })
	case 3:
		p.update(path, func(u *iopath.Updater) error { return u.Truncate(off) })
	case 4:
		p.update(path, func(u *iopath.Updater) error { return u.Punch(off, int64(n)) })
	case 5:
		p.update(path, (*iopath.Updater).Sync)
	case 6:
		p.must(p.engine.Rename(path, p.path("to")))
	case 7:
		p.must(p.engine.Remove(path))
	case 8:
		p.must(p.engine.SyncDir(filepath.Dir(path)))
	}
}

// barrier makes everything durable.
func (p *program) barrier() {
	for _, name := range p.names {
		path := filepath.Join(p.dir, name)
		if _, err := os.Stat(path); err == nil {
			p.update(path, (*iopath.Updater).Sync)
		}
		p.must(p.engine.SyncDir(filepath.Dir(path)))
	}
}

// start makes a program with some files and directories that are there already.
func start(t *rapid.T, direct string) (*program, *Recorder, func()) {
	root, err := os.MkdirTemp("", "crashdisk")
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, dir: filepath.Join(root, "dir"), names: []string{"a", "b", "d/a", "d/b", "e/c"}}
	err = errors.Join(os.MkdirAll(filepath.Join(p.dir, "d"), 0o700), os.Mkdir(filepath.Join(p.dir, "e"), 0o700),
		os.WriteFile(filepath.Join(p.dir, "a"), []byte("before"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRecorder(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if p.engine, err = iopath.Open(root, iopath.Config{Engine: iopath.Pread, Direct: direct, Ops: r.Ops}); err != nil {
		t.Fatal(err)
	}
	return p, r, func() {
		if err := errors.Join(p.engine.Close(), os.RemoveAll(root)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestModelIsTheFileSystem: when nothing is lost, replaying leaves what is there.
func TestModelIsTheFileSystem(t *testing.T) {
	for _, direct := range []string{iopath.Auto, iopath.DirectOff} {
		t.Run("direct="+direct, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, r, end := start(t, direct)
				defer end()
				for range rapid.IntRange(0, 12).Draw(t, "steps") {
					p.step()
				}
				model, err := replay(r.base, r.recorded())
				if err != nil {
					t.Fatal(err)
				}
				into := filepath.Join(filepath.Dir(p.dir), "into")
				if err := os.Mkdir(into, 0o700); err != nil {
					t.Fatal(err)
				}
				for _, d := range model.dirs {
					for len(d.pending) > 0 {
						d.pending[0].settle()
					}
				}
				w := writer{keep: 1, at: make(map[*node]string)}
				if err := w.write(model.root.dir, into); err != nil {
					t.Fatal(err)
				}
				same(t, contents(t, into), contents(t, p.dir), "the model")
			})
		})
	}
}

func same(t *rapid.T, got, want map[string]string, what string) {
	if !maps.Equal(got, want) {
		t.Fatalf("%s has %v, want %v", what, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestSyncedSurvives: after a barrier every crash leaves everything, and later
// changes take nothing from files that they do not touch.
func TestSyncedSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r, end := start(t, iopath.DirectOff)
		defer end()
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			p.step()
		}
		p.barrier()
		at, want := r.Len(), contents(t, p.dir)
		into := filepath.Join(filepath.Dir(p.dir), "into")
		cut := func(n int) map[string]string {
			if err := errors.Join(os.RemoveAll(into), r.Cut(n, rapid.Uint64().Draw(t, "seed"), into)); err != nil {
				t.Fatal(err)
			}
			return contents(t, into)
		}
		for range 3 {
			same(t, cut(at), want, "a crash after the barrier")
		}
		p.names = p.names[:2]
		for range rapid.IntRange(0, 8).Draw(t, "later steps") {
			p.step()
		}
		p.update(filepath.Join(p.dir, "a"), func(u *iopath.Updater) error {
			_, err := u.WriteAt(make([]byte, 3000), 0)
			return err
		})
		got := cut(rapid.IntRange(at, r.Len()).Draw(t, "cut"))
		for name, data := range want {
			if strings.Contains(name, "/") && got[name] != data {
				t.Fatalf("%s was synced and not touched since, and is gone or other", name)
			}
		}
	})
}

// TestRecorder: what is recorded, and under which names.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	r, err := NewRecorder(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := iopath.Open(dir, iopath.Config{Engine: iopath.Pread, Direct: iopath.DirectOff, Ops: r.Ops})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	in := func(name string) string { return filepath.Join(dir, "store", name) }
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	note(e.MkdirAll(in("landing")))
	note(e.MkdirAll(in("landing")))
	u, err := e.OpenUpdate(in("landing/000001"))
	note(err)
	r.Mark("first")
	for i := range 4 {
		_, err := u.WriteAt(make([]byte, 2048), int64(i)*2048)
		note(err)
	}
	_, err = u.WriteAt([]byte("x"), 100_000)
	note(err)
	note(u.Sync())
	note(u.Punch(0, 4096))
	note(u.Truncate(5))
	note(u.Close())
	r.Mark("acknowledged put 17")
	note(e.Rename(in("landing/000001"), in("landing/000002")))
	for _, name := range []string{"catalog/000012.log", "catalog/000013.log", "MANIFEST-000001", "OPTIONS-000003",
		"marker.format-version.000001.013", "temporary.000003.dbtmp", "000004.sst"} {
		note(r.Ops(iopath.Op{Kind: iopath.OpWrite, Path: in(name), Data: []byte("xy"), N: 2}))
	}
	note(e.Remove(in("landing/000002")))
	if err := e.Remove(in("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	note(e.SyncDir(in("landing")))
	note(e.MkdirAll(filepath.Join(dir, "elsewhere")))
	r.Mark("end")
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	const want = `mkdir .
mkdir landing
create landing/000001
-- first
write landing/000001 [0,+8192) [100000,+1)
sync landing/000001
punch landing/000001 [0,+4096)
truncate landing/000001 5
-- acknowledged put 17
rename landing/000001 -> landing/000002
write catalog/*.log
write MANIFEST-*
write OPTIONS-*
write marker.format-version.*
write temporary.*.dbtmp
write *.sst
remove landing/000002
syncdir landing
-- end
`
	if got := r.Script(true); got != want {
		t.Errorf("script:\n%s", got)
	}
	if got := r.Script(false); !strings.HasPrefix(got, "mkdir "+in("")+"\nmkdir "+in("landing")+"\n") {
		t.Errorf("script with whole paths:\n%s", got)
	}
	marks := []Mark{{3, "first"}, {11, "acknowledged put 17"}, {r.Len(), "end"}}
	if got := r.Marks(); !slices.Equal(got, marks) {
		t.Errorf("marks %v", got)
	}
	if err := e.Rename(filepath.Join(dir, "elsewhere"), in("x")); err == nil {
		t.Error("a rename into what is recorded")
	}
}

// TestRecorderConcurrently records from several goroutines: nothing is lost, and
// the bytes are copies.
func TestRecorderConcurrently(t *testing.T) {
	dir := t.TempDir()
	r, err := NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			path, data := filepath.Join(dir, fmt.Sprint(w)), make([]byte, 8)
			note := func(op iopath.Op) {
				if err := r.Ops(op); err != nil {
					t.Error(err)
				}
			}
			note(iopath.Op{Kind: iopath.OpCreate, Path: path})
			for i := range 50 {
				copy(data, fmt.Sprintf("%8d", i))
				note(iopath.Op{Kind: iopath.OpWrite, Path: path, Off: int64(i) * 8, Data: data, N: 8})
			}
			note(iopath.Op{Kind: iopath.OpSync, Path: path})
			r.Mark("done")
		})
	}
	group.Wait()
	into := filepath.Join(t.TempDir(), "into")
	if err := r.Cut(r.Len(), 1, into); err != nil {
		t.Fatal(err)
	}
	for name, data := range contents(t, into) {
		for i := range 50 {
			if got := data[i*8:][:8]; got != fmt.Sprintf("%8d", i) {
				t.Fatalf("file %s, record %d: %q", name, i, got)
			}
		}
	}
	if r.Len() != 4*52 || len(r.Marks()) != 4 {
		t.Errorf("%d changes, %d marks", r.Len(), len(r.Marks()))
	}
}
