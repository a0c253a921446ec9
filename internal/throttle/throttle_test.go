package throttle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spratdb/sprat/internal/blockdev"
)

const (
	v1Mounts = "31 30 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs rw\n" +
		"32 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"33 31 0:32 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n" +
		"34 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	v1Groups = "9:blkio:/\n4:memory:/a/b\n0::/\n"
	v2Mounts = "34 31 0:33 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	v2Groups = "0::/user/run-1.scope\n"
)

var (
	v1Files = []string{"blkio.throttle.read_iops_device", "blkio.throttle.read_bps_device", "blkio.throttle.write_iops_device",
		"blkio.throttle.write_bps_device", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes"}
	v2Files = []string{"io.max", "memory.max", "memory.current", "memory.peak"}
	disk    = blockdev.Device{Major: 254, Minor: 16}
)

func newV1(t *testing.T) *fake {
	f := newFake(t, v1Mounts, v1Groups, v1Files...)
	f.write("sys/fs/cgroup/blkio/"+processes, "")
	f.write("sys/fs/cgroup/memory/a/b/"+processes, "")
	return f
}

func newV2(t *testing.T) *fake {
	f := newFake(t, v2Mounts, v2Groups, v2Files...)
	f.write("sys/fs/cgroup/user/run-1.scope/"+processes, "")
	f.write("sys/fs/cgroup/user/run-1.scope/"+controllers, "cpu io memory")
	f.write("sys/fs/cgroup/user/run-1.scope/"+subtree, "")
	return f
}

func TestVersion1(t *testing.T) {
	f := newV1(t)
	g, err := f.open(Config{Volume: "/v", Memory: 512 << 20}, disk)
	if err != nil {
		t.Fatal(err)
	}
	io, mem := "sys/fs/cgroup/blkio/sprat-4711-99/", "sys/fs/cgroup/memory/a/b/sprat-4711-99/"
	f.mustHold(io+processes, "4711", mem+processes, "4711", mem+"memory.limit_in_bytes", "536870912",
		io+"blkio.throttle.read_iops_device", "254:16 0")
	if g.String() != "cgroup v1 blkio, memory" {
		t.Errorf("it is %q", g)
	}
	if err := g.Set(Limits{ReadIOPS: 3000, ReadBytesPerSecond: 125 << 20, WriteBytesPerSecond: 7}); err != nil {
		t.Fatal(err)
	}
	f.mustHold(io+"blkio.throttle.read_iops_device", "254:16 3000", io+"blkio.throttle.read_bps_device", "254:16 131072000",
		io+"blkio.throttle.write_iops_device", "254:16 0", io+"blkio.throttle.write_bps_device", "254:16 7")
	f.write(mem+"memory.usage_in_bytes", "1000\n")
	f.write(mem+"memory.max_usage_in_bytes", "2000\n")
	if m, err := g.Memory(); err != nil || m != (Memory{Usage: 1000, Peak: 2000}) {
		t.Errorf("memory %+v, %v", m, err)
	}
	if !g.ResetPeak() || f.read(mem+"memory.max_usage_in_bytes") != "0" {
		t.Error("the peak was not reset")
	}
	if err := errors.Join(g.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	f.mustHold(io+processes, "-", mem+processes, "-", "sys/fs/cgroup/blkio/"+processes, "4711", "sys/fs/cgroup/memory/a/b/"+processes, "4711")
	if err := g.Set(Limits{}); err == nil {
		t.Error("a closed group took limits")
	}
}

func TestVersion2(t *testing.T) {
	f := newV2(t)
	g, err := f.open(Config{Volume: "/v", Memory: 1 << 30}, disk)
	if err != nil {
		t.Fatal(err)
	}
	scope := "sys/fs/cgroup/user/run-1.scope/"
	own := scope + "sprat-4711-99/"
	// The fake keeps what was written last: of the two controllers, memory.
	f.mustHold(own+processes, "4711", scope+subtree, "+memory", own+"memory.max", "1073741824",
		own+"io.max", "254:16 riops=max rbps=max wiops=max wbps=max")
	if err := g.Set(Limits{ReadIOPS: 80000, ReadBytesPerSecond: 2000 << 20, WriteIOPS: 1}); err != nil {
		t.Fatal(err)
	}
	f.mustHold(own+"io.max", "254:16 riops=80000 rbps=2097152000 wiops=1 wbps=max")
	f.write(own+"memory.current", "50\n")
	if err := os.Remove(filepath.Join(f.root, own+"memory.peak")); err != nil { // an older kernel
		t.Fatal(err)
	}
	if m, err := g.Memory(); err != nil || m != (Memory{Usage: 50, Peak: 50}) {
		t.Errorf("memory %+v, %v", m, err)
	}
	if g.ResetPeak() {
		t.Error("version 2 has reset a peak")
	}
	if g.String() != "cgroup v2 io, memory" {
		t.Errorf("it is %q", g)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	f.mustHold(own+processes, "-", scope+processes, "4711", scope+subtree, "-io")
}

// TestVersion2Enabled leaves alone what was switched on before.
func TestVersion2Enabled(t *testing.T) {
	f := newV2(t)
	f.write("sys/fs/cgroup/user/run-1.scope/"+subtree, "io memory")
	g, err := f.open(Config{Volume: "/v"}, disk)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	f.mustHold("sys/fs/cgroup/user/run-1.scope/"+subtree, "io memory")
}

func TestNotAllowed(t *testing.T) {
	unmounted := newV1(t)
	unmounted.write("proc/self/mountinfo", "31 30 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs rw\n")
	outside := newV1(t)
	outside.write("proc/self/mountinfo", strings.ReplaceAll(v1Mounts, " / /sys/fs/cgroup/blkio", " /docker/a /sys/fs/cgroup/blkio"))
	without := newV2(t)
	without.write("sys/fs/cgroup/user/run-1.scope/"+controllers, "cpu memory")
	none := newV1(t)
	none.write("proc/4711/cgroup", "3:cpu:/\n")
	readOnly := newV1(t)
	readOnly.mkdir = func(path string) error { return &os.PathError{Op: "mkdir", Path: path, Err: os.ErrPermission} }
	noMove := newV1(t)
	noMove.files = nil
	noDevice := newV1(t)
	noDevice.files = []string{processes}
	empty := &fake{system: system{root: t.TempDir(), pid: 1}}
	for name, c := range map[string]struct {
		f    *fake
		d    blockdev.Device
		want string
	}{
		"no mount":      {unmounted, disk, "not mounted"},
		"outside":       {outside, disk, "lies outside of what is mounted"},
		"no controller": {without, disk, "does not have the controller io"},
		"no groups":     {none, disk, "no control groups with the controller blkio or io"},
		"no privilege":  {readOnly, disk, "permission denied"},
		"no move":       {noMove, disk, "the process cannot be moved"},
		"no limits":     {noDevice, disk, "takes no limits of 254:16"},
		"no disk":       {newV1(t), blockdev.Device{None: "tmpfs has no disk of its own"}, "tmpfs has no disk"},
		"no proc":       {empty, disk, "no /proc"},
	} {
		g, err := c.f.open(Config{Volume: "/v"}, c.d)
		var refused *NotAllowedError
		if g != nil || !errors.As(err, &refused) || !errors.Is(err, ErrNotAllowed) || refused.What != OfVolume {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error says %q, not %q", name, err, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(c.f.root, "sys/fs/cgroup/*/sprat-*")); len(left) > 0 {
			t.Errorf("%s: left behind %v", name, left)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{}, {Memory: -1}} {
		if _, err := newV1(t).open(cfg, disk); err == nil || errors.Is(err, ErrNotAllowed) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	g, err := newV1(t).open(Config{Memory: 1}, blockdev.Device{None: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Set(Limits{ReadIOPS: 1}); err == nil {
		t.Error("limits of no volume were set")
	}
	g, err = newV1(t).open(Config{Volume: "/v"}, disk)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Set(Limits{ReadIOPS: -1}); err == nil {
		t.Error("a limit below zero was set")
	}
	if _, err := g.Memory(); err == nil {
		t.Error("a group without a memory limit tells its memory")
	}
	if _, err := Open(Config{Volume: filepath.Join(t.TempDir(), "missing")}); err == nil {
		t.Error("a missing path was found")
	}
}

// TestSweep removes the groups of dead processes, and no other folder.
func TestSweep(t *testing.T) {
	f := newV1(t)
	f.process(12, 500)
	group := "sys/fs/cgroup/blkio/"
	gone := []string{"sprat-11-500", "sprat-12-499"}
	stay := []string{"sprat-12-500", "sprat-x-1", "sprat-12", "sprat-0-0", "system.slice", "sprat-13--5"}
	for _, name := range append(gone, stay...) {
		f.write(group+name+"/"+processes, "")
	}
	g, err := f.open(Config{Volume: "/v"}, disk)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range gone {
		f.mustHold(group+name+"/"+processes, "-")
	}
	for _, name := range stay {
		f.mustHold(group+name+"/"+processes, "")
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzFind gives damaged files of /proc; whatever they say, nothing is changed but
// in the group itself.
func FuzzFind(f *testing.F) {
	f.Add(v1Mounts, v1Groups)
	f.Add(v2Mounts, v2Groups)
	f.Add("33 31 0:32 /../.. /sys rw - cgroup cgroup rw,blkio\n", "9:blkio:/../../x\n")
	f.Fuzz(func(t *testing.T, mounts, groups string) {
		s := newFake(t, mounts, groups, v1Files...)
		g, err := s.open(Config{Volume: "/v"}, disk)
		if err != nil {
			return
		}
		for _, j := range g.joined {
			if rel, err := filepath.Rel(s.root, j.dir); err != nil || strings.HasPrefix(rel, "..") {
				t.Errorf("a group outside of the system: %s", j.dir)
			}
		}
	})
}
