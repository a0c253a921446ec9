package sprat

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// baseMemory is what a store needs besides its indexes: the Go runtime and
	// program, the catalog's cache and memtables, read buffers. Measured as the
	// resident size of an empty store under load, rounded up.
	baseMemory = 48 << 20
	// minMemoryLimit is the least that a store opens with.
	minMemoryLimit = 64 << 20
)

// defaultMemoryLimit is 60 % of the cgroup's memory limit or of the machine's
// memory, whichever is smaller.
func defaultMemoryLimit() int64 {
	total := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	return min(total, cgroupMemoryLimit()) / 10 * 6
}

// cgroupMemoryLimit reads the limit of the process's cgroup (version 2, then 1);
// MaxInt64 when there is none.
func cgroupMemoryLimit() int64 {
	least := int64(math.MaxInt64)
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, line := range strings.Split(string(groups), "\n") {
		part := strings.SplitN(line, ":", 3)
		if len(part) != 3 {
			continue
		}
		var files []string
		switch {
		case part[1] == "":
			files = []string{"/sys/fs/cgroup" + part[2] + "/memory.max", "/sys/fs/cgroup/memory.max"}
		case strings.Contains(","+part[1]+",", ",memory,"):
			files = []string{"/sys/fs/cgroup/memory" + part[2] + "/memory.limit_in_bytes",
				"/sys/fs/cgroup/memory/memory.limit_in_bytes"}
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				continue
			}
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
			break
		}
	}
	return least
}

// buildMemory is the least that a bulk build of an index needs: sample, sort
// and partition buffers, and the blocks under way.
func buildMemory(c IndexConfig) int64 {
	return 8<<20 + int64(c.Dimension)*4*blockRows*8
}

// MemoryBytes is what the index keeps in memory whatever the load: centroids,
// posting directory, slots, and the entries that wait to be folded.
func (ix *Index) MemoryBytes() int64 {
	var total int64
	for _, n := range ix.current.Load().memoryBytes() {
		total += n
	}
	return total
}

// memoryHeld is what the open indexes keep in memory.
func (s *Store) memoryHeld() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var held int64
	for _, ix := range s.mu.indexes {
		held += ix.MemoryBytes()
	}
	return held
}

// checkMemory refuses a limit that the open indexes alone would break.
func (s *Store) checkMemory() error {
	if need := baseMemory + s.memoryHeld(); need > s.opts.MemoryLimit {
		return &MemoryLimitError{What: "keeping the centroids of all indexes", Limit: s.opts.MemoryLimit, Needed: need}
	}
	return nil
}
