package blockdev

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// plant makes a tree below a temporary folder from a file of sections: a line
// "-- path --" and the text of the file, or a line "-- path -> target --".
func plant(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, section := range strings.Split("\n"+string(text), "\n-- ")[1:] {
		head, body, _ := strings.Cut(section, " --")
		body = strings.TrimPrefix(body, "\n")
		name, target, link := strings.Cut(head, " -> ")
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if link {
			err = os.Symlink(target, at)
		} else {
			err = os.WriteFile(at, []byte(body+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestGolden says what paths lie on, in the trees of machines as they are.
func TestGolden(t *testing.T) {
	for _, c := range []struct{ tree, path string }{
		{"gp3", "/var/lib/my data/store"}, // a partition, escapes, version 2 groups that nest
		{"gp3", "/etc"},
		{"container", "/data"}, // version 1 groups, mounts that start at the group, a bind mount
		{"container", "/usr"},
		{"btrfs", "/home/x"}, // a device number that the file system invented
		{"mapper", "/srv"},
	} {
		t.Run(c.tree+strings.ReplaceAll(c.path, "/", "-"), func(t *testing.T) {
			d := system{root: plant(t, filepath.Join("testdata", c.tree+".tree"))}.find(c.path)
			got, err := json.MarshalIndent(d, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", strings.ReplaceAll(t.Name(), "/", "_")+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestNothing has neither /proc nor /sys, as on other systems.
func TestNothing(t *testing.T) {
	d := system{root: t.TempDir()}.find("/data")
	if d.None == "" || d.Name != "" || d.Limits.Throttled() {
		t.Errorf("found %+v", d)
	}
}

// TestFindHere asks the machine of the test: the path is resolved, and what is
// missing is an error.
func TestFindHere(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Find(link)
	if err != nil || d.Path != real {
		t.Errorf("found %+v, %v", d, err)
	}
	if d.None == "" && (d.Name == "" || d.Bytes == 0) {
		t.Errorf("a disk without a name or a size: %+v", d)
	}
	if _, err := Find(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing path was found")
	}
}

func TestUnescape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`/plain`, `/plain`},
		{`/a\040b\011c`, "/a b\tc"},
		{`/back\134slash`, `/back\slash`},
		{`/cut\04`, `/cut\04`},
		{`/odd\999`, `/odd\999`},
		{`\777`, `\777`}, // no byte
	} {
		if got := unescape(c.in); got != c.want {
			t.Errorf("%s becomes %q, want %q", c.in, got, c.want)
		}
	}
}

func TestChosen(t *testing.T) {
	for in, want := range map[string]string{
		"none [mq-deadline] kyber": "mq-deadline", "[none] mq-deadline": "none", "none": "none", "": "",
	} {
		if got := chosen(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzGroups gives damaged group and mount files.
func FuzzGroups(f *testing.F) {
	f.Add("24 1 0:22 / /g rw - cgroup2 cgroup2 rw\n", "0::/a/b\n", "8:0 riops=5 rbps=max\n")
	f.Add("24 1 0:22 /a /g rw - cgroup cgroup rw,blkio\n", "4:blkio:/a/../../b\n", "8:0 77\n")
	f.Fuzz(func(t *testing.T, mounts, own, limits string) {
		root := t.TempDir()
		for name, text := range map[string]string{
			"proc/self/mountinfo": mounts, "proc/self/cgroup": own, "g/io.max": limits, "g/memory.max": limits,
			"g/blkio.throttle.read_iops_device": limits,
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d := system{root: root}.find("/g/x")
		if d.Limits.Memory < 0 || d.Limits.ReadIOPS < 0 {
			t.Errorf("limits below zero: %+v", d.Limits)
		}
	})
}
