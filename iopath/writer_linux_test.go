package iopath

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestFullVolume writes to a device that is always full.
func TestFullVolume(t *testing.T) {
	e := openEngine(t, Config{Engine: Pread, Direct: DirectOff})
	w, err := e.Create("/dev/full")
	if err != nil {
		t.Skipf("no /dev/full: %v", err)
	}
	var first error
	for range 3 {
		if _, err := w.Write(make([]byte, writerBytes)); first == nil {
			first = err
		}
	}
	if !errors.Is(first, ErrNoSpace) || !errors.Is(first, syscall.ENOSPC) {
		t.Fatalf("Write: %v", first)
	}
	var we *WriteError
	if !errors.As(first, &we) || we.Path != "/dev/full" || we.Off != 0 {
		t.Errorf("%+v", we)
	}
	_, again := w.Write([]byte("x"))
	for what, err := range map[string]error{"Write": again, "Sync": w.Sync(), "Close": w.Close()} {
		if !errors.Is(err, first) {
			t.Errorf("%s after the error: %v", what, err)
		}
	}
}

func init() { helpers["full"] = helpFull }

// helpFull fills a small file system, with and without a reservation, and opens
// an engine on it when it is full.
func helpFull() error {
	o := order{Dir: os.Getenv(orderEnv), Mount: "tmpfs", Memlock: -1}
	if err := o.prepare(); err != nil {
		return err
	}
	e, err := Open(o.Dir, Config{})
	if err != nil {
		return err
	}
	w, err := e.Create(filepath.Join(o.Dir, "data"))
	if err != nil {
		return err
	}
	if err := w.Preallocate(64 << 20); !errors.Is(err, ErrNoSpace) {
		return errors.Join(errors.New("reservation beyond the volume"), err)
	}
	for range 4 {
		if _, err = w.Write(content(300_000)); err != nil {
			break
		}
	}
	if err = errors.Join(err, w.Close()); !errors.Is(err, ErrNoSpace) {
		return errors.Join(errors.New("write beyond the volume"), err)
	}
	if err := e.Close(); err != nil {
		return err
	}
	e, err = Open(o.Dir, Config{}) // by the file that is there
	if err != nil {
		return err
	}
	return e.Close()
}

func TestFullFileSystem(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	helpPlainly(t, "full", t.TempDir(), &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
}

// TestBufferedWriterLeavesNoPages counts the pages that a buffered writer leaves
// in the cache: they would be charged to our memory cgroup.
func TestBufferedWriterLeavesNoPages(t *testing.T) {
	if fileSystem(t.TempDir()) == "tmpfs" {
		t.Skip("files of a tmpfs are nothing but pages")
	}
	e := openEngine(t, Config{Engine: Pread, Direct: DirectOff})
	w, path := create(t, e)
	piece := content(1 << 20)
	for range 32 {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if n := residentBytes(t, path); n > 4*writerBytes {
		t.Errorf("%d bytes in the cache while writing", n)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	if n := residentBytes(t, path); n > writerBytes {
		t.Errorf("%d bytes in the cache after Sync", n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// residentBytes is how much of a file is in the page cache.
func residentBytes(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	in := make([]byte, (len(mem)+pageBytes-1)/pageBytes)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)),
		uintptr(unsafe.Pointer(&in[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	n := 0
	for _, page := range in {
		n += int(page&1) * pageBytes
	}
	return n
}

// TestPreallocationIsTrimmed checks that Close gives back what was reserved and
// not written.
func TestPreallocationIsTrimmed(t *testing.T) {
	e := openEngine(t, Config{Engine: Pread})
	w, path := create(t, e)
	if err := w.Preallocate(8 << 20); err != nil {
		t.Fatal(err)
	}
	if n := allocated(t, path); n < 8<<20 {
		t.Skipf("the file system reserves nothing: %d bytes allocated", n)
	}
	if _, err := w.Write(content(100_000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := allocated(t, path); n > 1<<20 {
		t.Errorf("%d bytes allocated for a file of 100,000", n)
	}
}

// TestPunchGivesSpaceBack counts the blocks of a file before and after.
func TestPunchGivesSpaceBack(t *testing.T) {
	eachWriter(t, func(t *testing.T, e *Engine) {
		u, path := openUpdate(t, e)
		m := model(content(8 << 20))
		if _, err := u.WriteAt(m, 0); err != nil {
			t.Fatal(err)
		}
		if err := u.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := u.Punch(1000, 6<<20); err != nil {
			t.Fatal(err)
		}
		m.punch(1000, 6<<20)
		m.same(t, path)
		if u.mu.unpunched {
			t.Skip("the file system makes no holes")
		}
		if n := allocated(t, path); n > 3<<20 {
			t.Errorf("%d bytes allocated for 2 MiB and a hole", n)
		}
	})
}

// TestUpdaterMeetsFullVolume writes to a device that is always full.
func TestUpdaterMeetsFullVolume(t *testing.T) {
	e := openEngine(t, Config{Engine: Pread, Direct: DirectOff})
	u, err := e.OpenUpdate("/dev/full")
	if err != nil {
		t.Skipf("no /dev/full: %v", err)
	}
	for range 2 {
		if n, err := u.WriteAt([]byte("x"), 5); n != 0 || !errors.Is(err, ErrNoSpace) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
}

// allocated is the space that a file takes.
func allocated(t *testing.T, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// TestMappedFileCutShort has a copy from a mapping meet pages that are gone.
func TestMappedFileCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, content(100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	h, _, err := openForRead(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	m, err := newMapping(h)
	if err != nil {
		t.Fatal(err)
	}
	defer m.unmap()
	dst := make([]byte, 1000)
	done := make(chan struct{})
	go func() { // panicOnFault is for the goroutine
		defer close(done)
		panicOnFault()
		if n := m.readAt(dst, 90_000); n != len(dst) {
			t.Errorf("read before: %d", n)
		}
		if err := os.Truncate(path, 10); err != nil {
			t.Error(err)
		}
		if n, ok := copyMapped(dst, m.mem[90_000:]); ok {
			t.Errorf("copied %d bytes that are gone", n)
		}
		if n := m.readAt(dst, 90_000); n != 0 {
			t.Errorf("read after: %d", n)
		}
	}()
	<-done
}
