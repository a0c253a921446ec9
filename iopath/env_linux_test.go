package iopath

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// expect checks a report of a helper that was to end up in a mode.
func (r report) expect(t *testing.T, engine string, direct bool, causes ...string) {
	t.Helper()
	if r.Err != "" || r.ReadErr != "" {
		t.Fatalf("open: %q, read: %q", r.Err, r.ReadErr)
	}
	if r.Info.Engine != engine || r.Info.Direct != direct {
		t.Errorf("got %s, direct %v; want %s, %v", r.Info.Engine, r.Info.Direct, engine, direct)
	}
	if len(causes) == 0 && r.Info.Cause != "" {
		t.Errorf("unexpected cause %q", r.Info.Cause)
	}
	for _, c := range causes {
		if !strings.Contains(r.Info.Cause, c) {
			t.Errorf("cause %q does not say %q", r.Info.Cause, c)
		}
		if !strings.Contains(r.Log, c) {
			t.Errorf("log %q does not say %q", r.Log, c)
		}
	}
	if n := strings.Count(r.Log, "\n"); n != 1 {
		t.Errorf("%d log lines, want 1: %s", n, r.Log)
	}
}

// expectUnavailable checks a report of a helper that was to be refused.
func (r report) expectUnavailable(t *testing.T, says string) {
	t.Helper()
	if !r.Unavailable || !strings.Contains(r.Err, says) {
		t.Errorf("error %q (unavailable: %v) does not say %q", r.Err, r.Unavailable, says)
	}
}

// needDirect skips a test on a file system without O_DIRECT.
func needDirect(t *testing.T) {
	t.Helper()
	e, err := Open(t.TempDir(), Config{Engine: Pread})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if !e.Info().Direct {
		t.Skipf("temporary files stand where direct I/O does not work: %s", e.Info().Cause)
	}
}

// needRing skips a test on a kernel or in a sandbox without io_uring.
func needRing(t *testing.T) {
	t.Helper()
	e, err := Open(t.TempDir(), Config{Engine: IOUring})
	if err != nil {
		t.Skipf("no io_uring here: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRingForbiddenBySeccomp(t *testing.T) {
	needDirect(t)
	for _, c := range []struct {
		name  string
		rules []rule
		says  string
	}{
		{"EPERM", ringCalls(unix.EPERM), "seccomp"},
		{"ENOSYS", ringCalls(unix.ENOSYS), "older than 5.13"},
		{"enter only", []rule{{First: unix.SYS_IO_URING_ENTER, Last: unix.SYS_IO_URING_ENTER, Errno: unix.EPERM}}, "seccomp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := noOrder(t.TempDir())
			o.Filter = c.rules
			help(t, o, nil).expect(t, Pread, true, c.says, "io_uring+direct")
			o.Engine = IOUring
			help(t, o, nil).expectUnavailable(t, c.says)
			o.Engine, o.Direct = Pread, DirectOn
			help(t, o, nil).expect(t, Pread, true)
		})
	}
}

// TestRegistrationForbidden takes away what the ring can do without.
func TestRegistrationForbidden(t *testing.T) {
	needRing(t)
	needDirect(t)
	o := noOrder(t.TempDir())
	o.Filter = []rule{{First: unix.SYS_IO_URING_REGISTER, Last: unix.SYS_IO_URING_REGISTER, Errno: unix.EPERM}}
	r := help(t, o, nil)
	r.expect(t, IOUring, true)
	if r.Fixed != 0 || !strings.Contains(r.Stats.BufferCause, "seccomp") {
		t.Errorf("%d bytes registered because of %q", r.Fixed, r.Stats.BufferCause)
	}
}

// TestRingTakenAwayLater has a sandbox close in after Open: reads fail, nothing
// hangs.
func TestRingTakenAwayLater(t *testing.T) {
	needRing(t)
	o := noOrder(t.TempDir())
	o.Engine = IOUring
	o.Later = ringCalls(unix.EPERM)
	r := help(t, o, nil)
	if r.Err != "" || !strings.Contains(r.ReadErr, "io_uring_enter: operation not permitted") {
		t.Errorf("open: %q, read: %q", r.Err, r.ReadErr)
	}
}

func TestDirectRefusedByFileSystem(t *testing.T) {
	needRing(t)
	o := noOrder(t.TempDir())
	o.Filter = opening(unix.O_DIRECT, unix.EINVAL)
	help(t, o, nil).expect(t, IOUring, false, "io_uring+direct", "does not take O_DIRECT")
	o.Engine = Pread
	help(t, o, nil).expect(t, Pread, false, "pread+direct", "does not take O_DIRECT")
	o.Direct = DirectOn
	help(t, o, nil).expectUnavailable(t, "does not take O_DIRECT")
	o.Engine, o.Filter = Auto, append(o.Filter, ringCalls(unix.EPERM)...)
	help(t, o, nil).expectUnavailable(t, "seccomp")
	o.Direct = Auto
	help(t, o, nil).expect(t, Pread, false, "seccomp", "does not take O_DIRECT")
}

func TestLockedMemoryLimit(t *testing.T) {
	needRing(t)
	needDirect(t)
	for _, limit := range []int64{0, 64 << 10} {
		o := noOrder(openDir(t))
		o.Memlock = limit
		r := help(t, o, nobody())
		if r.Err != "" || r.ReadErr != "" {
			t.Fatalf("limit %d: open %q, read %q", limit, r.Err, r.ReadErr)
		}
		// Kernels before 5.12 charge rings to this limit; later ones do not.
		if r.Info.Engine != IOUring && !strings.Contains(r.Info.Cause, "RLIMIT_MEMLOCK") {
			t.Errorf("limit %d: %s because of %q", limit, r.Info.Engine, r.Info.Cause)
		}
		// Memory is not registered, whatever the kernel charges rings to.
		if r.Info.Engine == IOUring && (r.Fixed != 0 || !strings.Contains(r.Stats.BufferCause, "RLIMIT_MEMLOCK")) {
			t.Errorf("limit %d: %d bytes registered because of %q", limit, r.Fixed, r.Stats.BufferCause)
		}
		// The error such a kernel gives, for real.
		o.Filter = ringCalls(unix.ENOMEM)
		help(t, o, nobody()).expect(t, Pread, true, "RLIMIT_MEMLOCK")
	}
}

// TestFewDescriptors opens with every small limit on descriptors: whatever is
// possible must work, and what is not must be an error.
func TestFewDescriptors(t *testing.T) {
	opened := make(map[string]int)
	for limit := 4; limit <= 14; limit++ {
		o := noOrder(t.TempDir())
		o.Files = limit
		r := help(t, o, nil)
		if r.Err != "" || r.ReadErr != "" {
			if !strings.Contains(r.Err+r.ReadErr, "too many open files") {
				t.Errorf("limit %d: open %q, read %q", limit, r.Err, r.ReadErr)
			}
			opened["refused"]++
			continue
		}
		opened[r.Info.Engine]++
		if r.Info.Engine == Pread && !strings.Contains(r.Info.Cause, "RLIMIT_NOFILE") {
			t.Errorf("limit %d: pread because of %q", limit, r.Info.Cause)
		}
	}
	if opened["refused"] == 0 || opened[Pread] == 0 || opened[IOUring] == 0 {
		t.Errorf("the limits tried show nothing: %v", opened)
	}
	t.Logf("%v", opened)
}

func TestReadOnlyDirectory(t *testing.T) {
	needRing(t)
	dir := openDir(t)
	o := noOrder(dir)
	o.Filter = opening(unix.O_CREAT, unix.EROFS)
	if r := help(t, o, nil); !strings.Contains(r.Err, "read-only file system") {
		t.Errorf("a read-only directory with nothing to read: %q", r.Err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data"), content(100_001), 0o644); err != nil {
		t.Fatal(err)
	}
	r := help(t, o, nil)
	r.expect(t, IOUring, r.Info.Direct)

	o.Filter = nil // now by permissions
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	r = help(t, o, nobody())
	r.expect(t, IOUring, r.Info.Direct)
}

// TestOtherFileSystems tries file systems that people do put data on by mistake.
func TestOtherFileSystems(t *testing.T) {
	own := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	for _, fs := range []string{"ramfs", "tmpfs", "overlay"} {
		t.Run(fs, func(t *testing.T) {
			o := noOrder(t.TempDir())
			o.Mount = fs
			r := help(t, o, own)
			if r.Info.Direct { // tmpfs accepts the flag since Linux 6.6
				r.expect(t, IOUring, true)
				return
			}
			r.expect(t, IOUring, false, fs, "does not take O_DIRECT")
			o.Direct = DirectOn
			help(t, o, own).expectUnavailable(t, fs)
		})
	}
}

func TestSharedMemoryDirectory(t *testing.T) {
	needRing(t)
	dir, err := os.MkdirTemp("/dev/shm", "iopath")
	if err != nil {
		t.Skipf("no tmpfs to write to: %v", err)
	}
	defer os.RemoveAll(dir)
	r := help(t, noOrder(dir), nil)
	if r.Info.Direct {
		r.expect(t, IOUring, true)
	} else {
		r.expect(t, IOUring, false, "tmpfs")
	}
}

// TestSignalStorm interrupts every thread all the time, as profiling and garbage
// collection do, only more often, and with both of these going on.
func TestSignalStorm(t *testing.T) {
	needRing(t)
	stop := make(chan struct{})
	var storms sync.WaitGroup
	storm := func(gust func()) {
		storms.Go(func() {
			for {
				gust()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	storm(func() {
		for _, tid := range threads(t) {
			_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG) // the thread may be gone
		}
	})
	var kept [64][]byte
	storm(func() {
		for i := range kept {
			kept[i] = make([]byte, 8<<10)
		}
		runtime.GC()
	})
	if err := pprof.StartCPUProfile(io.Discard); err == nil { // go test -cpuprofile has its own
		defer pprof.StopCPUProfile()
	}
	TestManyCallers(t)
	close(stop)
	storms.Wait()
}

// TestCloseLeavesNothing counts descriptors and mappings around the life of an
// engine, with files and batches that nobody closed.
func TestCloseLeavesNothing(t *testing.T) {
	r, w, err := os.Pipe() // has package os make its poller now
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	eachMode(t, func(t *testing.T, cfg Config) {
		before, rings := openFDs(t), ringMappings(t)
		e := openEngine(t, cfg)
		var files []*File
		for range 3 {
			f, want := openContent(t, e, 50_000)
			files = append(files, f)
			b := e.NewBatch()
			readAll(t, b, f, want, []span{{0, 50_000}, {100, 100}})
			b.Release()
		}
		if err := files[1].Close(); err != nil {
			t.Fatal(err)
		}
		abandoned := e.NewBatch()
		abandoned.Read(files[0], 0, 100, 0)
		if err := abandoned.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		abandoned.Release()
		for fd, target := range openFDs(t) {
			if before[fd] == "" {
				t.Errorf("descriptor %s of %s was left open", fd, target)
			}
		}
		if n := ringMappings(t); n != rings {
			t.Errorf("%d mappings of rings were left", n-rings)
		}
		if s := e.Stats(); s.BufferMapped != 0 {
			t.Errorf("%d bytes of buffers were left mapped", s.BufferMapped)
		}
	})
}

// settle has the system write out a file. The kernel gives direct reads of what is
// still to be written to threads of its own.
func settle(t *testing.T, f *File) {
	t.Helper()
	file, err := os.Open(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
}

// TestManyEngines has more engines open than a process will ever want, and all of
// them read at one time, alone and in waves that are too large for the lane.
func TestManyEngines(t *testing.T) {
	needRing(t)
	// Each has its owner. Two threads of the kernel read the probe file of each, which
	// is still to be written out then, and end when they have been idle for a while.
	const engines, perEngine = 64, 1 + 2
	threads := threadCount()
	first, want := openContent(t, openEngine(t, Config{Engine: IOUring, Rings: 1}), 100*5000)
	settle(t, first)
	var all sync.WaitGroup
	for range engines - 1 {
		e := openEngine(t, Config{Engine: IOUring, Rings: 1})
		f, err := e.OpenFile(first.Path())
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for _, n := range []int{2, 100, 1, 100} {
				b := e.NewBatch()
				readAll(t, b, f, want, row(n))
				b.Release()
			}
		})
	}
	all.Wait()
	if n := threadCount(); n > threads+engines*perEngine+threadSlack {
		t.Errorf("%d threads with %d engines, %d before", n, engines, threads)
	}
}
