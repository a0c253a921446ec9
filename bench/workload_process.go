package bench

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Memory is what a process has in memory, in bytes; 0 where the system does not
// tell.
type Memory struct {
	Resident int64
	Peak     int64 // the most that was ever resident, see [ResetMemoryPeak]
}

// ProcessMemory reads how much memory this process has.
func ProcessMemory() Memory {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Memory{}
	}
	return parseMemory(status)
}

// parseMemory reads the lines VmRSS and VmHWM of a proc status file.
func parseMemory(status []byte) (m Memory) {
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			m.Resident = kib << 10
		case name == "VmHWM":
			m.Peak = kib << 10
		}
	}
	return m
}

// ResetMemoryPeak makes the peak start again at what is resident now. It fails
// where the kernel does not offer that; the peak is then the process's.
func ResetMemoryPeak() error {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// DropPageCache makes the system forget what files it holds in memory, so that
// the next open is a cold one. It needs privileges and fails without.
func DropPageCache() error {
	unix.Sync()
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0)
}

// processCPU is the user and system time that this process has used.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}
