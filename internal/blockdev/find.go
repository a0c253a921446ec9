package blockdev

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Find says what a path, which must exist, lies on. It fails only when the path
// cannot be resolved.
func Find(path string) (Device, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Device{}, fmt.Errorf("find the device of %s: %w", path, err)
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return Device{}, fmt.Errorf("find the device of %s: %w", path, err)
	}
	return system{root: "/"}.find(abs), nil
}

// system reads /proc and /sys below a folder, so that tests can bring their own.
type system struct{ root string }

func (s system) find(path string) Device {
	d := Device{Path: path}
	mounts, err := s.mounts()
	if err != nil {
		d.None = "no list of mounts on this system"
		return d
	}
	groups := s.groups(mounts)
	d.Limits.Memory = groups.memoryLimit()
	m, ok := holding(mounts, path)
	if !ok {
		d.None = "not below any mount point"
		return d
	}
	d.MountPoint, d.FSType, d.Source, d.MountOptions = m.point, m.fsType, m.source, m.options
	disk, ok := s.disk(m)
	if !ok {
		d.None = m.fsType + " has no disk of its own"
		return d
	}
	disk.describe(&d)
	groups.throttles(&d)
	return d
}

// disk is the folder of a whole disk in /sys.
type disk struct {
	dir       string
	partition string
}

// disk finds what a mount lies on: by its device number, or by the name of its
// source where the file system invents numbers of its own, as btrfs does.
func (s system) disk(m mount) (disk, bool) {
	links := []string{s.path("sys/dev/block", m.number)}
	if strings.HasPrefix(m.source, "/dev/") {
		links = append(links, s.path("sys/class/block", filepath.Base(m.source)))
	}
	for _, link := range links {
		dir, err := filepath.EvalSymlinks(link)
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
			return disk{dir: filepath.Dir(dir), partition: filepath.Base(dir)}, true
		}
		return disk{dir: dir}, true
	}
	return disk{}, false
}

// describe fills in what /sys says about the disk.
func (k disk) describe(d *Device) {
	d.Name, d.Partition = filepath.Base(k.dir), k.partition
	if major, minor, ok := strings.Cut(k.text("dev"), ":"); ok {
		d.Major, d.Minor = number32(major), number32(minor)
	}
	const sector = 512 // the unit of "size", whatever the block size is
	d.Bytes = k.number("size") * sector
	d.LogicalBlock = int(k.number("queue/logical_block_size"))
	d.PhysicalBlock = int(k.number("queue/physical_block_size"))
	d.ReadAheadKiB = int(k.number("queue/read_ahead_kb"))
	d.QueueRequests = int(k.number("queue/nr_requests"))
	d.Rotational = k.number("queue/rotational") == 1
	d.Scheduler = chosen(k.text("queue/scheduler"))
}

func (k disk) text(file string) string {
	b, err := os.ReadFile(filepath.Join(k.dir, file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (k disk) number(file string) int64 {
	n, err := strconv.ParseInt(k.text(file), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// chosen is the bracketed word of a list like "none [mq-deadline] kyber", or the
// only word.
func chosen(list string) string {
	if _, after, ok := strings.Cut(list, "["); ok {
		list, _, _ = strings.Cut(after, "]")
	}
	return list
}

func number32(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

func (s system) path(part ...string) string {
	return filepath.Join(append([]string{s.root}, part...)...)
}
