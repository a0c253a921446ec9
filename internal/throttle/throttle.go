package throttle

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spratdb/sprat/internal/blockdev"
)

// Limits are what a process may do with a volume. Zero is no limit.
type Limits struct {
	ReadIOPS            int64 // operations a second
	ReadBytesPerSecond  int64
	WriteIOPS           int64 // operations a second
	WriteBytesPerSecond int64
}

// Config says what is to be limited.
type Config struct {
	// Volume is a path on the volume that [Group.Set] limits; "" for none.
	Volume string
	// Memory is the most bytes that the process may have, page cache included. 0 is
	// no limit.
	Memory int64
}

// Group is the control group of this process. It holds no limits of the volume
// until Set.
type Group struct {
	system system
	number string // "major:minor" of the volume

	mu     sync.Mutex
	joined []*joined
	volume *joined // nil when the volume is not to be limited
	memory *joined // nil when memory is not to be limited
	closed bool
}

// Open moves the process into a group of its own, with the memory limit in force.
// Errors: a [*NotAllowedError], a bad Config, those of the path.
func Open(cfg Config) (*Group, error) {
	var d blockdev.Device
	if cfg.Volume != "" {
		var err error
		if d, err = blockdev.Find(cfg.Volume); err != nil {
			return nil, fmt.Errorf("throttle: %w", err)
		}
	}
	return thisSystem().open(cfg, d)
}

func (s system) open(cfg Config, d blockdev.Device) (_ *Group, err error) {
	if cfg.Volume == "" && cfg.Memory == 0 || cfg.Memory < 0 {
		return nil, fmt.Errorf("throttle: nothing to limit: no volume and %d bytes of memory", cfg.Memory)
	}
	g := &Group{system: s, number: fmt.Sprintf("%d:%d", d.Major, d.Minor)}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	if cfg.Volume != "" {
		if d.None != "" {
			return nil, &NotAllowedError{What: OfVolume, Reason: d.None}
		}
		if g.volume, err = g.join(volumeController); err != nil {
			return nil, err
		}
		// Written once for nothing, so that a volume that takes no limits is an
		// error of Open and not of Set.
		if err := g.Set(Limits{}); err != nil {
			return nil, &NotAllowedError{What: OfVolume, Reason: "the controller takes no limits of " + g.number, Err: err}
		}
	}
	if cfg.Memory > 0 {
		if g.memory, err = g.join(memoryController); err != nil {
			return nil, err
		}
		file := choose(g.memory.version, "memory.limit_in_bytes", "memory.max")
		if err := g.memory.write(file, fmt.Sprint(cfg.Memory)); err != nil {
			return nil, &NotAllowedError{What: OfMemory, Reason: "the limit was refused", Err: err}
		}
	}
	return g, nil
}

// Set changes the limits of the volume; they hold for what is read and written
// from now on. Errors: a group without a volume or closed, those of the system.
func (g *Group) Set(l Limits) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.volume == nil || g.closed {
		return errors.New("throttle: the group has no volume, or is closed")
	}
	if l.ReadIOPS < 0 || l.ReadBytesPerSecond < 0 || l.WriteIOPS < 0 || l.WriteBytesPerSecond < 0 {
		return fmt.Errorf("throttle: limits below zero: %+v", l)
	}
	if g.volume.version == 2 {
		return g.volume.write("io.max", fmt.Sprintf("%s riops=%s rbps=%s wiops=%s wbps=%s", g.number,
			orMax(l.ReadIOPS), orMax(l.ReadBytesPerSecond), orMax(l.WriteIOPS), orMax(l.WriteBytesPerSecond)))
	}
	for _, x := range []struct {
		file  string
		limit int64
	}{
		{"read_iops", l.ReadIOPS}, {"read_bps", l.ReadBytesPerSecond}, {"write_iops", l.WriteIOPS}, {"write_bps", l.WriteBytesPerSecond},
	} {
		if err := g.volume.write("blkio.throttle."+x.file+"_device", fmt.Sprintf("%s %d", g.number, x.limit)); err != nil {
			return err
		}
	}
	return nil
}

// orMax is a limit as version 2 writes it.
func orMax(n int64) string {
	if n == 0 {
		return "max"
	}
	return fmt.Sprint(n)
}

// Memory is what the group has in memory, in bytes, page cache included.
type Memory struct {
	Usage int64
	Peak  int64 // the most since Open or the last ResetPeak
}

// Memory reads the memory of the group. Errors: a group without a memory limit,
// those of the system.
func (g *Group) Memory() (Memory, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory == nil {
		return Memory{}, errors.New("throttle: the group has no memory limit")
	}
	usage, err := g.memory.number(choose(g.memory.version, "memory.usage_in_bytes", "memory.current"))
	if err != nil {
		return Memory{}, err
	}
	// memory.peak is younger than version 2.
	peak, err := g.memory.number(choose(g.memory.version, "memory.max_usage_in_bytes", "memory.peak"))
	if errors.Is(err, os.ErrNotExist) {
		peak, err = usage, nil
	}
	return Memory{Usage: usage, Peak: max(peak, usage)}, err
}

// ResetPeak begins the peak anew. It reports whether it could: version 2 keeps the
// peak since Open.
func (g *Group) ResetPeak() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.memory != nil && g.memory.version == 1 && g.memory.write("memory.max_usage_in_bytes", "0") == nil
}

// String says by what the limits hold, like "cgroup v1 blkio, memory".
func (g *Group) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var parts []string
	for _, version := range []int{1, 2} {
		var names []string
		if g.volume != nil && g.volume.version == version {
			names = append(names, choose(version, "blkio", "io"))
		}
		if g.memory != nil && g.memory.version == version {
			names = append(names, "memory")
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("cgroup v%d %s", version, strings.Join(names, ", ")))
		}
	}
	return strings.Join(parts, ", ")
}

// Close lifts all limits and moves the process back. A second Close does nothing.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	var errs []error
	for _, j := range slices.Backward(g.joined) {
		errs = append(errs, g.system.leave(j))
	}
	return errors.Join(errs...)
}

func choose(version int, first, second string) string {
	if version == 1 {
		return first
	}
	return second
}
