package throttle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fake is a system in a folder: /proc of one process, and control groups whose
// files appear and go with their folders, as the kernel's do.
type fake struct {
	system
	t *testing.T
	// files appear in every new group.
	files []string
}

const fakePID = 4711

// newFake has the text of /proc/self/mountinfo and /proc/self/cgroup. The process
// began at tick 99.
func newFake(t *testing.T, mountinfo, cgroup string, files ...string) *fake {
	t.Helper()
	f := &fake{t: t, files: append([]string{processes}, files...)}
	f.system = system{root: t.TempDir(), pid: fakePID, mkdir: f.makeGroup, rmdir: f.removeGroup}
	own := fmt.Sprintf("proc/%d/", fakePID)
	f.write("proc/self/mountinfo", mountinfo)
	f.write(own+"cgroup", cgroup)
	f.process(fakePID, 99)
	return f
}

// process makes a process that began at a tick.
func (f *fake) process(pid int, began uint64) {
	f.write(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (x y) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0%s", pid, began, strings.Repeat(" 0", 30)))
}

func (f *fake) makeGroup(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	for _, file := range f.files {
		if err := os.WriteFile(filepath.Join(path, file), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeGroup refuses folders whose process is still there: the fake keeps in
// cgroup.procs what was last written to it anywhere.
func (f *fake) removeGroup(path string) error {
	here, err := os.ReadFile(filepath.Join(path, processes))
	if err != nil {
		return os.RemoveAll(path)
	}
	there, err := os.ReadFile(filepath.Join(filepath.Dir(path), processes))
	if err != nil {
		return err
	}
	if len(here) > 0 && len(there) == 0 {
		return &os.PathError{Op: "rmdir", Path: path, Err: syscall.EBUSY}
	}
	return os.RemoveAll(path)
}

func (f *fake) write(path, text string) {
	f.t.Helper()
	path = filepath.Join(f.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// read is the text of a file, "-" when there is none.
func (f *fake) read(path string) string {
	text, err := os.ReadFile(filepath.Join(f.root, path))
	if err != nil {
		return "-"
	}
	return strings.TrimSpace(string(text))
}

// mustHold compares files, given as path and text in turn.
func (f *fake) mustHold(pairs ...string) {
	f.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := f.read(pairs[i]); got != pairs[i+1] {
			f.t.Errorf("%s holds %q, want %q", pairs[i], got, pairs[i+1])
		}
	}
}
