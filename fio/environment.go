package fio

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/internal/blockdev"
	"github.com/spratdb/sprat/iopath"
)

// Environment is what the figures depend on.
type Environment struct {
	Device blockdev.Device `json:"device"`

	Direct      bool   `json:"direct"`       // direct I/O works here
	MemAlign    int    `json:"mem_align"`    // bytes; 1 without direct I/O
	OffsetAlign int    `json:"offset_align"` // bytes; 1 without direct I/O
	Engine      string `json:"engine"`       // that the store uses
	EngineCause string `json:"engine_cause"` // why no better one; "" for the best

	IOUring      bool   `json:"io_uring"`
	IOUringCause string `json:"io_uring_cause,omitempty"` // why not

	MemlockBytes int64  `json:"memlock_bytes"` // RLIMIT_MEMLOCK; -1 is no limit
	System       string `json:"system"`        // name and release of the kernel
	Processors   int    `json:"processors"`    // GOMAXPROCS: what this process may use at one time
	CPUs         int    `json:"cpus"`          // of the machine, that the process may run on
}

// environmentOf looks at the volume and the machine. The file or directory is
// what the device is looked up by; engines are tried in dir.
func environmentOf(cfg Config) (Environment, error) {
	path := cfg.Dir
	if cfg.File != "" {
		path = cfg.File
	}
	dev, err := blockdev.Find(path)
	if err != nil {
		return Environment{}, err
	}
	env := Environment{
		Device: dev, MemlockBytes: memlock(), System: system(),
		Processors: runtime.GOMAXPROCS(0), CPUs: runtime.NumCPU(),
	}
	e, err := openEngine(cfg, cfg.Store.IOEngine)
	if err != nil {
		return env, err
	}
	info := e.Info()
	if err := e.Close(); err != nil {
		return env, fmt.Errorf("close the engine: %w", err)
	}
	env.Direct, env.MemAlign, env.OffsetAlign = info.Direct, info.MemAlign, info.OffsetAlign
	env.Engine, env.EngineCause = info.Engine, info.Cause
	env.IOUring, env.IOUringCause = tryRing(cfg)
	return env, nil
}

// openEngine opens the read path as the store does, deep enough for every sweep.
func openEngine(cfg Config, engine string) (*iopath.Engine, error) {
	e, err := iopath.Open(cfg.Dir, iopath.Config{Engine: engine, Direct: cfg.Store.Direct, Depth: deepest})
	if err != nil {
		return nil, fmt.Errorf("open the I/O engine %s: %w", engine, err)
	}
	return e, nil
}

// deepest is the depth of the engines: that of the deepest load.
const deepest = 1024

// tryRing says whether io_uring can be had, and if not, why.
func tryRing(cfg Config) (ok bool, cause string) {
	e, err := openEngine(cfg, iopath.IOUring)
	if err == nil {
		err = e.Close()
	}
	if err == nil {
		return true, ""
	}
	return false, causeOf(err)
}

// causeOf is the reason why an engine cannot be had, without what was asked for.
func causeOf(err error) string {
	var mode *iopath.ModeError
	if errors.As(err, &mode) && len(mode.Steps) > 0 {
		return mode.Steps[0].String()
	}
	return err.Error()
}

// memlock is the memory that may be registered with the kernel, in bytes; -1 is
// no limit, 0 unknown.
func memlock() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return 0
	}
	if limit.Cur > 1<<60 {
		return -1
	}
	return int64(limit.Cur)
}

// system is the name and release of the kernel.
func system() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
