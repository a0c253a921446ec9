package iopath

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
)

// Engines and direct modes by name, as they stand in Config, Info and on the
// command line.
const (
	Auto = "auto" // the best that works here; for Config.Engine and Config.Direct

	IOUring = "io_uring" // Config.Engine: kernel rings
	Pread   = "pread"    // Config.Engine: bounded pool of blocking reads
	Mmap    = "mmap"     // Config.Engine: page faults; a baseline, never chosen by auto

	DirectOn  = "on"  // Config.Direct: O_DIRECT or an error
	DirectOff = "off" // Config.Direct: page cache, with readahead switched off
)

const (
	// OpBytes is what the volume charges as one operation: a read costs
	// ceil(alignedLength/OpBytes) of them.
	OpBytes = 256 << 10

	// MaxReadBytes is the longest single read, a guard against a corrupt length
	// field asking for the whole address space.
	MaxReadBytes = 64 << 20

	maxDepth        = 4096
	depthUring      = 256
	depthPread      = 64
	defaultPool     = 16 << 20
	maxQueuedWaves  = 1024
	ringsFromProcs  = 8 // a second ring pays only when there is a core for it
	maxRings        = 2
	freeBatchesKept = 1024
)

// Config says how to open an engine. The zero value is the default everywhere.
type Config struct {
	// Engine is Auto, IOUring, Pread or Mmap. Default Auto.
	Engine string

	// Direct is Auto, DirectOn or DirectOff. Default Auto. Mmap knows no
	// direct mode: with it Auto means DirectOff.
	Direct string

	// Depth bounds the reads that are with the kernel at one time, 1..4096; what
	// exceeds it waits inside the engine. By default the engine finds the bound
	// itself, near the knee of the volume, and follows when that changes, up to 256
	// for io_uring and 64 for pread and mmap, where each costs a thread.
	Depth int

	// Background bounds the reads of the background class that are with the engine
	// at one time, see Batch.Background. Default an eighth of Depth, at least 8.
	Background int

	// Rings is the number of io_uring instances, 1 or 2, each with its own
	// thread; Depth bounds them together. Default 1, and 2 from 8 processors on.
	Rings int

	// PoolBytes bounds the idle memory that is kept for later reads, in bytes.
	// Default 16 MiB, at least 2 MiB, which is the piece in which it comes and
	// goes. Memory in use is bounded by what callers hold.
	PoolBytes int64

	// Logger takes one line for each Open: the mode chosen and why not a better
	// one. Default: discard.
	Logger *slog.Logger

	// Faults lets tests decide the fate of read attempts; see Faults. It must
	// be nil in production, and nil is the default.
	Faults Faults

	// Model holds reads as a volume of given limits would; see Model. Auto then
	// means Pread, and IOUring is refused: it waits in the kernel. It must be nil
	// in production, and nil is the default.
	Model *Model

	// Ops lets tests see, refuse and cut the changes of the file system; see
	// Ops. It must be nil in production, and nil is the default.
	Ops Ops
}

// withDefaults returns a copy with every zero field filled in except Depth,
// whose default depends on the engine that the ladder arrives at.
func (c Config) withDefaults() Config {
	if c.Engine == "" {
		c.Engine = Auto
	}
	if c.Direct == "" {
		c.Direct = Auto
	}
	if c.Rings == 0 {
		c.Rings = 1
		if runtime.GOMAXPROCS(0) >= ringsFromProcs {
			c.Rings = maxRings
		}
	}
	if c.PoolBytes == 0 {
		c.PoolBytes = defaultPool
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate reports every violation at once, each with its bound and the value
// given. It expects defaults to be filled in.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	switch c.Engine {
	case Auto, IOUring, Pread, Mmap:
	default:
		bad("engine %q is none of auto, io_uring, pread, mmap", c.Engine)
	}
	if c.Model != nil && c.Engine == IOUring {
		bad("engine %q cannot be held by a model; pread can", c.Engine)
	}
	switch c.Direct {
	case Auto, DirectOn, DirectOff:
	default:
		bad("direct %q is none of auto, on, off", c.Direct)
	}
	if c.Depth < 0 || c.Depth > maxDepth {
		bad("depth %d is outside 1..%d", c.Depth, maxDepth)
	}
	if c.Background < 0 || c.Background > maxDepth {
		bad("background %d is outside 1..%d", c.Background, maxDepth)
	}
	if c.Rings < 1 || c.Rings > maxRings {
		bad("rings %d is outside 1..%d", c.Rings, maxRings)
	}
	if c.PoolBytes < 0 {
		bad("pool bytes %d is negative", c.PoolBytes)
	}
	return errors.Join(errs...)
}

// depth is the depth in force for an engine.
func (c Config) depth(engine string) int {
	switch {
	case c.Depth > 0:
		return c.Depth
	case engine == IOUring:
		return depthUring
	default:
		return depthPread
	}
}
