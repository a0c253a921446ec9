package crashdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spratdb/sprat/iopath"
)

// record makes a Recorder of an empty directory from lines such as "create a",
// "rename a b" and "write a 0 512 x": Off, N and the byte that is written.
func record(t *testing.T, lines ...string) *Recorder {
	t.Helper()
	r, err := NewRecorder(filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		var op iopath.Op
		words := strings.Fields(line)
		for k := iopath.OpCreate; k <= iopath.OpSyncDir; k++ {
			if k.String() == words[0] {
				op.Kind = k
			}
		}
		op.Path = words[1]
		switch op.Kind {
		case 0:
			t.Fatalf("no change: %s", line)
		case iopath.OpRename, iopath.OpLink:
			op.To = words[2]
		case iopath.OpTruncate:
			scan(t, words[2], &op.N)
		case iopath.OpPunch, iopath.OpWrite:
			scan(t, words[2], &op.Off)
			scan(t, words[3], &op.N)
			if op.Kind == iopath.OpWrite {
				op.Data = bytes.Repeat([]byte(words[4]), int(op.N))
			}
		}
		r.mu.ops = append(r.mu.ops, op)
	}
	return r
}

func scan(t *testing.T, word string, n *int64) {
	t.Helper()
	if _, err := fmt.Sscan(word, n); err != nil {
		t.Fatal(err)
	}
}

// outcomes cuts a record at its end with many seeds and returns what was laid
// out: for each outcome, what show makes of it, and how often it came.
func outcomes(t *testing.T, r *Recorder, seeds uint64, show func(dir string) string) map[string]int {
	t.Helper()
	seen := make(map[string]int)
	into := filepath.Join(t.TempDir(), "cut")
	for seed := range seeds {
		if err := r.Cut(r.Len(), seed, into); err != nil {
			t.Fatal(err)
		}
		seen[show(into)]++
		if err := os.RemoveAll(into); err != nil {
			t.Fatal(err)
		}
	}
	return seen
}

// list is the names below a directory.
func list(dir string) string {
	var names []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	return strings.Join(names, " ")
}

// TestNames: exactly these outcomes, and each of them, may be left.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string // lists of names
	}{
		{"a new file may be lost", []string{"create a"}, []string{"", "a"}},
		{"a new file that is synced is not", []string{"create a", "sync a"}, []string{"a"}},
		{"nor one in a synced directory", []string{"create a", "syncdir ."}, []string{"a"}},
		{"new names are lost from the end", []string{"create a", "create b"}, []string{"", "a", "a b"}},
		{"but a synced one is no promise for others", []string{"create a", "create b", "sync b"},
			[]string{"b", "a b"}},
		{"a rename is whole", []string{"create a", "sync a", "rename a b"}, []string{"a", "b"}},
		{"syncing the file does not keep its new name", []string{"create a", "rename a b", "sync b"},
			[]string{"a", "b"}},
		{"a rename over a file", []string{"create a", "create b", "syncdir .", "rename a b"},
			[]string{"a b", "b"}},
		{"a rename is durable with its directory", []string{"create a", "rename a b", "syncdir ."}, []string{"b"}},
		{"a removed file may come back", []string{"create a", "syncdir .", "remove a"}, []string{"", "a"}},
		{"not from a synced directory", []string{"create a", "syncdir .", "remove a", "syncdir ."}, []string{""}},
		{"a rename between directories is whole", []string{"mkdir d", "mkdir e", "create d/a", "syncdir .",
			"syncdir d", "rename d/a e/b"}, []string{"d d/a e", "d e e/b"}},
		{"and durable with either", []string{"mkdir d", "mkdir e", "create d/a", "syncdir .",
			"syncdir d", "rename d/a e/b", "syncdir d"}, []string{"d e e/b"}},
		{"and holds back what follows", []string{"mkdir d", "mkdir e", "create d/a", "syncdir .", "syncdir d",
			"create e/x", "rename d/a e/b", "create d/y"},
			[]string{"d d/a e", "d d/a e e/x", "d e e/b e/x", "d d/y e e/b e/x"}},
		{"a directory takes along what is in it", []string{"mkdir d", "create d/a", "sync d/a", "syncdir d"},
			[]string{"", "d d/a"}},
		{"a directory is renamed with what is in it", []string{"mkdir d", "create d/a", "sync d/a", "syncdir .",
			"rename d e", "create e/b"}, []string{"d d/a", "d d/a d/b", "e e/a", "e e/a e/b"}},
		{"a link is a second name", []string{"create a", "sync a", "link a b"}, []string{"a", "a b"}},
		{"making it again is nothing", []string{"mkdir d", "syncdir .", "mkdir d", "create d/a", "sync d/a",
			"remove d"}, []string{"d d/a"}},
		{"a name used again", []string{"create a", "sync a", "remove a", "create a", "sync a"}, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(outcomes(t, record(t, c.lines...), 80, list)))
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%q may be left, want %q", got, c.want)
			}
		})
	}
}

// sectors shows a file as the first byte of each sector, or says that a sector
// is not of one kind.
func sectors(t *testing.T, name string) func(dir string) string {
	return func(dir string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		for part := range slices.Chunk(data, sectorBytes) {
			if c := part[0]; len(bytes.Trim(part, string(part[:1]))) > 0 {
				out = append(out, '?')
			} else if c == 0 {
				out = append(out, '0')
			} else {
				out = append(out, c)
			}
		}
		return string(out)
	}
}

func TestSectors(t *testing.T) {
	synced := []string{"create f", "write f 0 2048 a", "sync f"}
	for _, c := range []struct {
		name  string
		lines []string
		want  []string // all of these are left by some seed ...
		only  string   // ... and nothing but these characters, at their places by class
		never string   // nor this
	}{
		{"what is synced", nil, []string{"aaaa"}, "a a a a", "-"},
		{"a write may be lost, kept, and torn", []string{"write f 0 2048 b"},
			[]string{"aaaa", "bbbb", "abaa", "baab"}, "ab ab ab ab", "-"},
		{"of two writes any sectors", []string{"write f 0 1024 b", "write f 512 1024 c"},
			[]string{"aaaa", "bcca", "baca"}, "ab abc ac a", "-"},
		{"new room may be lost, or zeros", []string{"write f 2048 1024 b"},
			[]string{"aaaa", "aaaabb", "aaaa0b", "aaaab0"}, "a a a a 0b 0b", "-"},
		{"a file may be cut or not", []string{"truncate f 1024"}, []string{"aaaa", "aa"}, "a a a a", "-"},
		{"and grow again", []string{"truncate f 1024", "truncate f 3072"}, []string{"aaaa", "aa", "aa0000"}, "a a a0 a0 0 0", "aaaa00"},
		{"a hole", []string{"punch f 512 1024"}, []string{"aaaa", "a00a", "a0aa"}, "a a0 a0 a", "-"},
		{"emptied", []string{"create f", "write f 0 512 b"}, []string{"aaaa", "baaa", "", "b", "0"}, "ab0 a a a", "-"},
		{"a synced second write", []string{"write f 512 512 b", "sync f", "write f 0 512 c"},
			[]string{"abaa", "cbaa"}, "ac b a a", "-"},
		{"under a later name", []string{"syncdir .", "rename f g", "write f 0 512 b", "sync g", "link g f", "syncdir ."},
			[]string{"baaa"}, "b a a a", "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := outcomes(t, record(t, slices.Concat(synced, c.lines)...), 300, sectors(t, "f"))
			for _, want := range c.want {
				if got[want] == 0 {
					t.Errorf("no seed leaves %q, only %v", want, got)
				}
			}
			if got[c.never] > 0 {
				t.Errorf("%q was left", c.never)
			}
			classes := strings.Fields(c.only)
			for have := range got {
				for i, b := range []byte(have) {
					if i >= len(classes) || !strings.ContainsRune(classes[i], rune(b)) {
						t.Errorf("%q was left, sector %d is not of %v", have, i, classes)
					}
				}
			}
		})
	}
}

// TestLinksShareContent: two names of a file show the same sectors.
func TestLinksShareContent(t *testing.T) {
	r := record(t, "create f", "write f 0 4096 a", "sync f", "link f g", "syncdir .", "write g 0 4096 b")
	for got := range outcomes(t, r, 100, func(dir string) string {
		return sectors(t, "f")(dir) + " " + sectors(t, "g")(dir)
	}) {
		if f, g, _ := strings.Cut(got, " "); f != g {
			t.Errorf("one file shows %s and %s", f, g)
		}
	}
}

// TestCutsDoNotDisturbEachOther: an early cut is the same after a late one.
func TestCutsDoNotDisturbEachOther(t *testing.T) {
	r := record(t, "write f 0 3 x", "sync f")
	r.base = []file{{path: "f", data: []byte("before")}}
	for _, c := range []struct {
		n    int
		want string
	}{{2, "xxxore"}, {0, "before"}, {2, "xxxore"}} {
		dir := t.TempDir()
		if err := r.Cut(c.n, 1, dir); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, dir)["f"]; got != c.want {
			t.Errorf("after %d changes the file holds %q, want %q", c.n, got, c.want)
		}
	}
}

func TestCutErrors(t *testing.T) {
	r := record(t, "create a", "write b 0 1 x")
	dir := t.TempDir()
	for _, n := range []int{-1, 3} {
		if err := r.Cut(n, 0, filepath.Join(dir, "n")); err == nil {
			t.Errorf("cut after %d of 2", n)
		}
	}
	if err := r.Cut(1, 0, filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	if err := r.Cut(2, 0, filepath.Join(dir, "y")); !errors.Is(err, ErrUnseen) {
		t.Errorf("a write to a file from nowhere: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x", "z"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Cut(0, 0, filepath.Join(dir, "x")); err == nil {
		t.Error("laid out over something")
	}
	for _, line := range []string{"create d/a", "rename x y", "link x y", "sync x", "truncate x 1", "punch x 0 1",
		"syncdir d", "rename a/b c", "create a/b"} {
		r := record(t, "create a", line)
		if err := r.Cut(2, 0, filepath.Join(t.TempDir(), "c")); !errors.Is(err, ErrUnseen) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestSameSeedSameOutcome(t *testing.T) {
	r := record(t, "mkdir d", "create a", "create d/b", "write a 0 9000 x", "write d/b 0 9000 y", "rename a d/c")
	for seed := range uint64(20) {
		var got [2]map[string]string
		for i := range got {
			dir := t.TempDir()
			if err := r.Cut(r.Len(), seed, dir); err != nil {
				t.Fatal(err)
			}
			got[i] = contents(t, dir)
		}
		if !maps.Equal(got[0], got[1]) {
			t.Fatalf("seed %d leaves two things", seed)
		}
	}
}

// contents is every file below a directory with its content, and every directory.
func contents(t interface{ Fatal(...any) }, dir string) map[string]string {
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		if d.IsDir() {
			out[name+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
