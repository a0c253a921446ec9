package iopath

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A helper is this test binary run again as a child in a harsher place: under a
// seccomp filter, a resource limit, another user or in a mount namespace of its
// own. It opens an engine, reads, and reports.

// order is what a helper is told.
type order struct {
	Dir     string
	Engine  string
	Direct  string
	Filter  []rule // seccomp rules, installed before Open
	Later   []rule // and after it
	Memlock int64  // RLIMIT_MEMLOCK to set when >= 0
	Mount   string // file system to mount on Dir first: "ramfs", "tmpfs", "overlay"
	Files   int    // RLIMIT_NOFILE to set when > 0

	opened func() error // not nil: called after Open
}

// rule makes system calls fail.
type rule struct {
	First, Last int    // numbers of the calls
	FlagArg     int    // index of an argument
	Flag        uint32 // fail only if the argument has one of these bits; 0 for always
	Errno       syscall.Errno
}

// report is what it says.
type report struct {
	Info        Info
	Err         string // of Open
	Unavailable bool   // it is a ModeError
	ReadErr     string // of a read after Open
	Stats       Stats  // after Close
	Fixed       int64  // Stats.BufferFixed before it
	Log         string
}

// noOrder is an order that changes nothing.
func noOrder(dir string) order { return order{Dir: dir, Memlock: -1} }

// ringCalls are the system calls of io_uring.
func ringCalls(errno syscall.Errno) []rule {
	return []rule{{First: unix.SYS_IO_URING_SETUP, Last: unix.SYS_IO_URING_REGISTER, Errno: errno}}
}

// opening makes the opening of files with one of the flags fail.
func opening(flags int, errno syscall.Errno) []rule {
	return []rule{{First: unix.SYS_OPENAT, Last: unix.SYS_OPENAT, FlagArg: 2, Flag: uint32(flags), Errno: errno}}
}

const orderEnv = "IOPATH_TEST_ORDER"

func init() { helpers["open"] = helpOpen }

// help runs the helper that opens an engine and returns its report. attr may be
// nil.
func help(t *testing.T, o order, attr *syscall.SysProcAttr) report {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	out := helpPlainly(t, "open", string(text), attr)
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("helper said %q: %v", out, err)
	}
	return r
}

// helpPlainly runs any helper and returns what it prints.
func helpPlainly(t testing.TB, name, order string, attr *syscall.SysProcAttr) []byte {
	t.Helper()
	// By this name the binary can be run even by a user who cannot enter its
	// directory.
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperEnv+"="+name, orderEnv+"="+order, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = attr
	cmd.Dir = "/"
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("helper: %v\n%s", err, errOut.String())
	}
	return out.Bytes()
}

// nobody runs a child without privileges when we have them, because root is
// above RLIMIT_MEMLOCK and the permissions of directories.
func nobody() *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// openDir is a directory that nobody, too, can use.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// helpOpen is the helper.
func helpOpen() error {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(orderEnv)), &o); err != nil {
		return err
	}
	if err := o.prepare(); err != nil {
		return err
	}
	before := descriptors()
	r, err := o.open()
	if err != nil {
		return err
	}
	for fd, target := range descriptors() {
		if before[fd] == "" {
			return fmt.Errorf("descriptor %d of %s was left open", fd, target)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// open opens an engine, uses it and closes it.
func (o order) open() (r report, err error) {
	var log bytes.Buffer
	defer func() { r.Log = log.String() }()
	e, err := Open(o.Dir, Config{Engine: o.Engine, Direct: o.Direct, Logger: textLogger(&log)})
	if o.opened != nil {
		if err := o.opened(); err != nil {
			return r, err
		}
	}
	if err != nil {
		r.Err = err.Error()
		r.Unavailable = errors.Is(err, ErrUnavailable)
		return r, nil
	}
	r.Info = e.Info()
	r.ReadErr = errText(o.use(e))
	r.Fixed = e.Stats().BufferFixed
	if err := e.Close(); err != nil {
		return r, err
	}
	r.Stats = e.Stats()
	if s := r.Stats; s.InFlight != 0 || s.Queued != 0 || s.BufferFixed != 0 {
		return r, fmt.Errorf("left behind: %+v", s)
	}
	return r, nil
}

// descriptors says what the descriptors below 64 refer to, without opening one.
func descriptors() map[int]string {
	fds := make(map[int]string)
	for fd := range 64 {
		if target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
			fds[fd] = target
		}
	}
	return fds
}

// use writes a file and reads it back with the engine.
func (o order) use(e *Engine) error {
	path := filepath.Join(o.Dir, "data")
	want := content(100_001)
	if _, err := os.Stat(path); err != nil {
		w, err := e.Create(path)
		if err != nil {
			return err
		}
		if _, err := w.Write(want); err != nil {
			return errors.Join(err, w.Close())
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	f, err := e.OpenFile(path)
	if err != nil {
		return err
	}
	if err := install(o.Later); err != nil {
		return err
	}
	for _, n := range []int{1, 100, 1} { // through the lane and through the queue
		b := e.NewBatch()
		for i := range n {
			b.Read(f, int64(i)*1000, 1001, uint64(i)*1000)
		}
		if err := b.Submit(background); err != nil {
			return err
		}
		for b.Pending() > 0 {
			c, err := b.Next(background)
			if err = errors.Join(err, c.Err); err != nil {
				b.Release()
				return err
			}
			if !bytes.Equal(c.Data, want[c.Tag:][:1001]) {
				return errors.New("wrong bytes")
			}
		}
		b.Release()
	}
	return nil
}

// prepare makes the place harsher.
func (o order) prepare() error {
	// Package os makes its poller at the first file, and gives up the process when
	// it cannot.
	if f, err := os.CreateTemp("", "poller"); err == nil {
		_ = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if o.Mount != "" {
		if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("make mounts private: %w", err)
		}
		data := ""
		switch o.Mount {
		case "tmpfs":
			data = "size=512k"
		case "overlay":
			// Over a file system without O_DIRECT.
			var err error
			if data, err = layers(o.Dir); err != nil {
				return err
			}
		}
		if err := unix.Mount("none", o.Dir, o.Mount, 0, data); err != nil {
			return fmt.Errorf("mount %s: %w", o.Mount, err)
		}
	}
	if o.Memlock >= 0 {
		l := unix.Rlimit{Cur: uint64(o.Memlock), Max: uint64(o.Memlock)}
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil {
			return fmt.Errorf("RLIMIT_MEMLOCK: %w", err)
		}
	}
	if o.Files > 0 {
		l := unix.Rlimit{Cur: uint64(o.Files), Max: uint64(o.Files)}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, (*syscall.Rlimit)(&l)); err != nil {
			return fmt.Errorf("RLIMIT_NOFILE: %w", err)
		}
	}
	return install(o.Filter)
}

// layers mounts a ramfs on a directory and makes the layers of an overlay there.
// It returns the options to mount that with.
func layers(dir string) (string, error) {
	if err := unix.Mount("none", dir, "ramfs", 0, ""); err != nil {
		return "", fmt.Errorf("mount ramfs: %w", err)
	}
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir), nil
}

// install has the kernel apply rules to every thread of the process, for good.
func install(rules []rule) error {
	if len(rules) == 0 {
		return nil
	}
	var prog []unix.SockFilter
	add := func(code uint16, jt, jf uint8, k uint32) {
		prog = append(prog, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
	}
	const load, jge, jgt, jset, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JGE,
		unix.BPF_JMP | unix.BPF_JGT, unix.BPF_JMP | unix.BPF_JSET, unix.BPF_RET
	for _, r := range rules {
		// struct seccomp_data: nr at 0, arguments of 8 bytes from 16.
		add(load, 0, 0, 0)
		add(jge, 0, 4, uint32(r.First))
		add(jgt, 3, 0, uint32(r.Last))
		if r.Flag == 0 {
			add(load, 0, 0, 0)
			add(jge, 0, 1, 0) // always
		} else {
			add(load, 0, 0, uint32(16+8*r.FlagArg))
			add(jset, 0, 1, r.Flag)
		}
		add(ret, 0, 0, unix.SECCOMP_RET_ERRNO|uint32(r.Errno))
	}
	add(ret, 0, 0, unix.SECCOMP_RET_ALLOW)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

// openFDs lists what the descriptors of this process refer to.
func openFDs(t *testing.T) map[string]string {
	t.Helper()
	fds := make(map[string]string)
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(target, "/proc/") {
			fds[e.Name()] = target
		}
	}
	return fds
}

// ringMappings counts the mappings of rings in this process.
func ringMappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "io_uring")
}

// threadCount is how many threads this process has.
func threadCount() int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	return len(entries)
}

// threads lists the threads of this process.
func threads(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// background is the context of helpers, which have no test to take one from.
var background = context.Background()

// errText is the text of an error, "" for nil.
func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
