package throttle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spratdb/sprat/internal/blockdev"
)

// TestReal limits the test's own process, where that is allowed, and looks at what
// the system says about it.
func TestReal(t *testing.T) {
	dir := t.TempDir()
	g, err := Open(Config{Volume: dir})
	if errors.Is(err, ErrNotAllowed) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	group := g.joined[0].dir
	for _, limits := range []Limits{
		{ReadIOPS: 3000, ReadBytesPerSecond: 125 << 20}, {ReadIOPS: 16000, WriteIOPS: 500, WriteBytesPerSecond: 1 << 30}, {},
	} {
		if err := g.Set(limits); err != nil {
			t.Fatal(err)
		}
		d, err := blockdev.Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := Limits{d.Limits.ReadIOPS, d.Limits.ReadBytesPerSecond, d.Limits.WriteIOPS, d.Limits.WriteBytesPerSecond}
		if got != limits {
			t.Errorf("the system has %+v, want %+v", got, limits)
		}
	}
	name := filepath.Base(group)
	if name != fmt.Sprintf("sprat-%d-%d", os.Getpid(), thisSystem().started(os.Getpid())) {
		t.Errorf("the group is called %s", name)
	}
	threads, err := filepath.Glob("/proc/self/task/*/cgroup")
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads: %v, %v", threads, err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err == nil && !strings.Contains(string(text), "/"+name) { // else the thread has ended
			t.Errorf("%s is not in the group:\n%s", thread, text)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(group); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
}
