package throttle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// controller is what limits one thing, by its names in the two versions.
type controller struct {
	what   string // OfVolume or OfMemory
	v1, v2 string
}

var (
	volumeController = controller{OfVolume, "blkio", "io"}
	memoryController = controller{OfMemory, "memory", "memory"}
)

// joined is a folder of one hierarchy that the process has been moved into.
type joined struct {
	version int
	parent  string   // the folder of the group that the process was in
	dir     string   // the folder made below it
	inside  bool     // the process is in it
	enabled []string // controllers that we have switched on for groups below parent
}

const (
	processes   = "cgroup.procs"
	controllers = "cgroup.controllers"
	subtree     = "cgroup.subtree_control"
)

// hint is how to get a group that can be divided.
const hint = "start the program in a group of its own, like: systemd-run --scope -p Delegate=yes COMMAND"

// join moves the process into a group that has the controller. Of version 2 there
// is one group for all controllers.
func (g *Group) join(c controller) (*joined, error) {
	at, err := g.system.find(c)
	if err != nil {
		return nil, err
	}
	refused := func(reason string, err error) error {
		return &NotAllowedError{What: c.what, Reason: reason, Err: err}
	}
	for _, j := range g.joined {
		if j.parent == at.dir {
			return j, g.enable(j, c)
		}
	}
	g.system.sweep(at.dir)
	j := &joined{version: at.version, parent: at.dir, dir: filepath.Join(at.dir, g.system.groupName())}
	if err := g.system.mkdir(j.dir); err != nil {
		return nil, refused("no group can be made", err)
	}
	g.joined = append(g.joined, j)
	if err := j.write(processes, strconv.Itoa(g.system.pid)); err != nil {
		return nil, refused("the process cannot be moved", err)
	}
	j.inside = true
	return j, g.enable(j, c)
}

// enable switches a controller on for the groups below the old one, where version 2
// wants that.
func (g *Group) enable(j *joined, c controller) error {
	if j.version == 1 {
		return nil
	}
	on, err := readWords(filepath.Join(j.parent, subtree))
	if err != nil {
		return &NotAllowedError{What: c.what, Reason: "the controllers in force cannot be read", Err: err}
	}
	if slices.Contains(on, c.v2) {
		return nil
	}
	err = writeFile(filepath.Join(j.parent, subtree), "+"+c.v2)
	switch {
	case errors.Is(err, syscall.EBUSY):
		return &NotAllowedError{What: c.what, Reason: "other processes are in the same control group; " + hint, Err: err}
	case err != nil:
		return &NotAllowedError{What: c.what, Reason: "the controller " + c.v2 + " cannot be switched on", Err: err}
	}
	j.enabled = append(j.enabled, c.v2)
	return nil
}

// The system lets go of a group a moment after its last process has left it.
const (
	removeTries = 50
	removePause = 20 * time.Millisecond
)

// leave undoes join. Controllers go first: with them on, version 2 takes no process
// back.
func (s system) leave(j *joined) error {
	var errs []error
	for _, c := range slices.Backward(j.enabled) {
		errs = append(errs, writeFile(filepath.Join(j.parent, subtree), "-"+c))
	}
	if j.inside {
		errs = append(errs, writeFile(filepath.Join(j.parent, processes), strconv.Itoa(s.pid)))
	}
	err := s.rmdir(j.dir)
	for try := 0; errors.Is(err, syscall.EBUSY) && try < removeTries; try++ {
		time.Sleep(removePause)
		err = s.rmdir(j.dir)
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("throttle: give up the group %s: %w", filepath.Base(j.dir), err)
	}
	return nil
}

const groupPrefix = "sprat-"

// groupName is the name of the process's group.
func (s system) groupName() string {
	return fmt.Sprintf("%s%d-%d", groupPrefix, s.pid, s.started(s.pid))
}

// sweep removes the groups of processes that are dead. What cannot be removed is
// somebody else's concern: a group with a process in it stays in any case.
func (s system) sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), groupPrefix)
		pid, start, both := strings.Cut(rest, "-")
		n, err := strconv.Atoi(pid)
		began, err2 := strconv.ParseUint(start, 10, 64)
		if !ours || !both || !e.IsDir() || err != nil || err2 != nil || n < 1 {
			continue
		}
		if s.started(n) != began {
			_ = s.rmdir(filepath.Join(parent, e.Name()))
		}
	}
}

func (j *joined) write(file, text string) error { return writeFile(filepath.Join(j.dir, file), text) }

func (j *joined) number(file string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(j.dir, file))
	if err != nil {
		return 0, fmt.Errorf("throttle: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("throttle: %s: %w", file, err)
	}
	return n, nil
}

// writeFile writes to a file of a control group, in one call as these want it. It
// makes no file.
func writeFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("throttle: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("throttle: write %q: %w", text, err)
	}
	return nil
}

// readWords is the words of a file; none when there is no such file.
func readWords(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}
