package throttle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// system is /proc and /sys below a folder, so that tests can bring their own, and
// what is done to folders of control groups, which make and remove their files by
// themselves.
type system struct {
	root         string
	pid          int
	mkdir, rmdir func(path string) error
}

func thisSystem() system {
	return system{
		root: "/", pid: os.Getpid(), rmdir: os.Remove,
		mkdir: func(path string) error { return os.Mkdir(path, 0o755) },
	}
}

// place is the folder of the process's group in one hierarchy.
type place struct {
	version int
	dir     string
}

// find looks for a controller, of version 1 first: it is mounted only where it is
// in use, and then version 2 does not have it.
func (s system) find(c controller) (place, error) {
	refused := func(reason string, err error) error {
		return &NotAllowedError{What: c.what, Reason: reason, Err: err}
	}
	proc, err := procfs.NewFS(filepath.Join(s.root, "proc"))
	if err != nil {
		return place{}, refused("this system has no /proc", err)
	}
	mounts, err := proc.GetMounts()
	if err != nil {
		return place{}, refused("the mounts cannot be read", err)
	}
	self, err := proc.Proc(s.pid)
	if err != nil {
		return place{}, refused("the process is not in /proc", err)
	}
	groups, err := self.Cgroups()
	if err != nil {
		return place{}, refused("the control groups of the process cannot be read", err)
	}
	for _, g := range groups {
		if slices.Contains(g.Controllers, c.v1) {
			dir, err := s.folder(mounts, "cgroup", c.v1, g.Path)
			return place{1, dir}, whyNot(c, err)
		}
	}
	for _, g := range groups {
		if g.HierarchyID != 0 {
			continue
		}
		dir, err := s.folder(mounts, "cgroup2", "", g.Path)
		if err != nil {
			return place{}, whyNot(c, err)
		}
		has, err := readWords(filepath.Join(dir, controllers))
		if err != nil {
			return place{}, refused("the controllers of the group cannot be read", err)
		}
		if slices.Contains(has, c.v2) {
			return place{2, dir}, nil
		}
		return place{}, refused("the control group does not have the controller "+c.v2, nil)
	}
	return place{}, refused("no control groups with the controller "+c.v1+" or "+c.v2, nil)
}

// whyNot makes an error about folders one about the controller.
func whyNot(c controller, err error) error {
	if err == nil {
		return nil
	}
	return &NotAllowedError{What: c.what, Reason: err.Error()}
}

// folder is where a group of a hierarchy is mounted. In a container the mount may
// start at a group, whose path is then told from outside.
func (s system) folder(mounts []*procfs.MountInfo, fsType, option, group string) (string, error) {
	for _, m := range mounts {
		if _, ok := m.SuperOptions[option]; m.FSType != fsType || option != "" && !ok {
			continue
		}
		rel, err := filepath.Rel(m.Root, group)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return "", fmt.Errorf("the control group %s lies outside of what is mounted at %s", group, m.MountPoint)
		}
		return filepath.Join(s.root, filepath.Join("/", m.MountPoint, rel)), nil
	}
	return "", fmt.Errorf("the control groups with %s are not mounted", strings.TrimSpace(fsType+" "+option))
}

// started is when a process began, in ticks since the system did; 0 for one that
// does not run.
func (s system) started(pid int) uint64 {
	proc, err := procfs.NewFS(filepath.Join(s.root, "proc"))
	if err != nil {
		return 0
	}
	p, err := proc.Proc(pid)
	if err != nil {
		return 0
	}
	stat, err := p.Stat()
	if err != nil {
		return 0
	}
	return stat.Starttime
}
