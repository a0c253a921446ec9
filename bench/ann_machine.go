package bench

import (
	"runtime"
	"runtime/debug"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/rq/simd"
)

// Machine is what figures that depend on time were measured on.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"` // that Go uses
	Kernels string `json:"simd"`  // instruction set of the distance kernels
	System  string `json:"system"`
	Go      string `json:"go"`
}

// ThisMachine describes the machine at hand.
func ThisMachine() Machine {
	m := Machine{
		CPU: cpuid.CPU.BrandName, Cores: runtime.GOMAXPROCS(0), Kernels: simd.Features(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.System = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + runtime.GOARCH
	}
	return m
}

// freshMemoryPeak gives memory that is no longer used back to the system and
// starts the peak again, so that one experiment does not count for the next.
// Where the kernel does not offer that, the peak is the largest so far.
func freshMemoryPeak() {
	debug.FreeOSMemory()
	_ = ResetMemoryPeak()
}
