package iopath

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestConfigReportsEveryViolation(t *testing.T) {
	_, err := Open(t.TempDir(), Config{Engine: "aio", Direct: "maybe", Depth: 5000, Rings: 3, PoolBytes: -1})
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("error %v", err)
	}
	for _, say := range []string{`"aio"`, `"maybe"`, "5000 is outside 1..4096", "3 is outside 1..2", "-1 is negative"} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("%q is not in %q", say, err)
		}
	}
}

func TestRungs(t *testing.T) {
	cases := []struct {
		engine, direct string
		want           []rung
	}{
		{Auto, Auto, []rung{{IOUring, true}, {IOUring, false}, {Pread, true}, {Pread, false}}},
		{Auto, DirectOn, []rung{{IOUring, true}, {Pread, true}}},
		{Auto, DirectOff, []rung{{IOUring, false}, {Pread, false}}},
		{IOUring, Auto, []rung{{IOUring, true}, {IOUring, false}}},
		{IOUring, DirectOn, []rung{{IOUring, true}}},
		{Pread, DirectOff, []rung{{Pread, false}}},
		{Mmap, Auto, []rung{{Mmap, false}}},
		{Mmap, DirectOn, []rung{{Mmap, true}}},
	}
	for _, c := range cases {
		if got := rungs(Config{Engine: c.engine, Direct: c.direct}); !slices.Equal(got, c.want) {
			t.Errorf("%s with direct %s: %v, want %v", c.engine, c.direct, got, c.want)
		}
	}
}

func TestDefaultDepth(t *testing.T) {
	for engine, want := range map[string]int{IOUring: 256, Pread: 64, Mmap: 64} {
		if got := (Config{}).depth(engine); got != want {
			t.Errorf("%s: depth %d, want %d", engine, got, want)
		}
		if got := (Config{Depth: 7}).depth(engine); got != 7 {
			t.Errorf("%s: depth %d, want 7", engine, got)
		}
	}
}

func TestMmapHasNoDirectMode(t *testing.T) {
	_, err := Open(t.TempDir(), Config{Engine: Mmap, Direct: DirectOn})
	var me *ModeError
	if !errors.As(err, &me) || !errors.Is(err, ErrUnavailable) || me.Engine != Mmap {
		t.Errorf("error %v", err)
	}
}

func TestInfoAndLog(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		var log bytes.Buffer
		cfg.Logger = textLogger(&log)
		e := openEngine(t, cfg)
		info := e.Info()
		if info.Engine != cfg.Engine {
			t.Errorf("engine %s, asked for %s", info.Engine, cfg.Engine)
		}
		if info.Direct != (info.OffsetAlign > 1) || info.Direct != (info.MemAlign > 1) {
			t.Errorf("%+v", info)
		}
		if (info.Ring != "") != (info.Engine == IOUring) {
			t.Errorf("ring %q on %s", info.Ring, info.Engine)
		}
		if cfg.Direct == DirectOff && info.Direct {
			t.Error("direct although switched off")
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), info.Engine) {
			t.Errorf("logged %q", log.String())
		}
		if s := e.Stats(); s.Reads != 0 || s.InFlightMax != 0 || s.BufferMax != 0 {
			t.Errorf("the probe shows in the counters: %+v", s)
		}
	})
}

func TestErrorsTell(t *testing.T) {
	me := &ModeError{Engine: Auto, Direct: DirectOn, Steps: []Step{
		{IOUring, true, syscall.EPERM, "why"},
		{IOUring, false, syscall.EPERM, "why"},
		{Pread, true, syscall.EINVAL, ""},
	}}
	want := `iopath: engine "auto" with direct "on" cannot be had: ` +
		"io_uring+direct, io_uring+buffered: operation not permitted (why); pread+direct: invalid argument"
	if me.Error() != want {
		t.Errorf("got  %s\nwant %s", me, want)
	}
	if got := me.Steps[0].String(); got != "io_uring+direct: operation not permitted (why)" {
		t.Errorf("step %q", got)
	}
	for _, target := range []error{ErrUnavailable, syscall.EPERM, syscall.EINVAL} {
		if !errors.Is(me, target) {
			t.Errorf("%v is not found in it", target)
		}
	}
	re := &ReadError{"seg/1", 4096, 100, io.ErrUnexpectedEOF}
	if got := re.Error(); got != "iopath: read seg/1 at 4096 length 100: unexpected EOF" {
		t.Errorf("read error %q", got)
	}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		we := &WriteError{"x", 7, errno}
		if !errors.Is(we, errno) || errors.Is(we, ErrNoSpace) == (errno == syscall.EIO) {
			t.Errorf("%v", we)
		}
	}
}
