package simd

// path is a set of instructions that the kernels are written for, in rising order:
// each includes the one before.
type path int

const (
	generic path = iota // plain Go
	avx2
	avx512
)

// envPath is the environment variable that lowers the path.
const envPath = "SPRAT_SIMD"

var pathNames = [...]string{generic: "generic", avx2: "avx2", avx512: "avx512"}

func (p path) String() string { return pathNames[p] }

// limit returns the path to use when best is the highest that the processor has
// and name, which may be empty, is the one asked for.
func limit(best path, name string) path {
	for p, n := range pathNames {
		if n == name {
			return min(best, path(p))
		}
	}
	return best
}

// Features names the path in use: "avx512", "avx2" or "generic".
func Features() string { return active.String() }
