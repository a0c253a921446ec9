package iopath

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHints(t *testing.T) {
	setup := func(errno error) error { return fmt.Errorf("io_uring_setup: %w", errno) }
	path := func(errno error) error { return &os.PathError{Op: "open", Path: "x", Err: errno} }
	cases := []struct {
		err  error
		r    rung
		says string // "" for no hint
	}{
		{setup(unix.EPERM), rung{IOUring, true}, "seccomp"},
		{setup(unix.ENOSYS), rung{IOUring, false}, "5.13"},
		{setup(unix.ENOMEM), rung{IOUring, true}, "RLIMIT_MEMLOCK is"},
		{path(unix.EMFILE), rung{Pread, true}, "RLIMIT_NOFILE is"},
		{path(unix.EINVAL), rung{Pread, true}, "does not take O_DIRECT"},
		{path(unix.EINVAL), rung{Pread, false}, ""},
		{path(unix.EPERM), rung{IOUring, true}, ""},
		{errWrongBytes, rung{IOUring, true}, ""},
	}
	for _, c := range cases {
		got := hint(c.err, c.r, t.TempDir())
		if (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
			t.Errorf("%v on %v: %q does not say %q", c.err, c.r, got, c.says)
		}
	}
}

func TestHintNamesTheSysctl(t *testing.T) {
	for value, says := range map[string]string{
		"1": "kernel.io_uring_disabled is 1", "2": "kernel.io_uring_disabled is 2", "0": "seccomp", "": "seccomp",
	} {
		if got := uringForbidden(value); !strings.Contains(got, says) {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestDirectAlignment(t *testing.T) {
	needDirect(t)
	e := openEngine(t, Config{Engine: Pread, Direct: DirectOn})
	f, _ := openContent(t, e, 5000)
	a := e.Info().OffsetAlign
	if a != f.align || a < 512 || a&(a-1) != 0 {
		t.Errorf("alignment %d, of the file %d", a, f.align)
	}
	// What was found is enough, and the kernel does insist on something.
	mem, err := mapMemory(2*pageBytes, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapMemory(mem)
	if n := f.h.readAt(mem[:a], int64(a)); n != a {
		t.Errorf("aligned read: %d", n)
	}
	if n := f.h.readAt(mem[:a], int64(a)+1); !errors.Is(syscall.Errno(-n), unix.EINVAL) {
		t.Errorf("misaligned read: %d", n)
	}
}
