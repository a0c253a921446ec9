package fio

import (
	"time"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/iopath"
)

// Values of Config.Program besides a path.
const (
	ProgramAuto = "auto" // use the program when it is installed
	ProgramOff  = "off"  // do without
)

// Config says what to calibrate. Dir is required; zero values of the rest are
// the defaults.
type Config struct {
	// Dir is a directory on the volume. A store in it gets the profile.
	Dir string
	// File is an existing file on the volume to read, at least 1 MiB long. Default:
	// a test file is written in Dir and removed afterwards.
	File string
	// FileBytes is the size of the test file, at least 1 MiB. Default 1 GiB, but no
	// more than a quarter of the free space; 256 MiB when Quick. A volume that
	// writes slowly gets a smaller one.
	FileBytes int64
	// Program is ProgramAuto (default), ProgramOff, or the path of fio.
	Program string
	// Quick keeps the whole calibration below 20 s; otherwise it takes up to 3
	// minutes.
	Quick bool
	// Sustained prolongs the run that shows bursts to this time.
	Sustained time.Duration
	// ExpectIOPS and ExpectMiBps are what the volume should give; 0 is anything.
	ExpectIOPS, ExpectMiBps float64

	// Store says how to open the store for queries. Its I/O engine and direct mode
	// also choose what is calibrated.
	Store sprat.Options
	// Index, when set, is the index whose queries are measured.
	Index *IndexConfig

	// Progress, when set, is told how far the work is when a phase begins and about
	// once a second, from one goroutine at a time.
	Progress func(Progress)
}

// IndexConfig says which queries of which index to measure.
type IndexConfig struct {
	Bucket, Name string
	// Queries are vectors to search for. Default: vectors of the index itself.
	Queries [][]float32
	// K is the number of results wanted. Default 10.
	K int
	// Probes and Rescores are the caps of the grid, searchProbe and rescoreLimit.
	// Default 32, 64, 128, 256 and 100, 350, 1,000; when Quick 64 and 350. The
	// index's own dials are measured besides.
	Probes, Rescores []int
	// Clients is the number of clients that predictions are for. Default 64.
	Clients int
	// FixedWork turns the stop rules off, see sprat.QueryOptions.
	FixedWork bool
	// QPS, when above 0, is the rate whose needs are computed.
	QPS float64
}

// Progress is how far a calibration is.
type Progress struct {
	Phase              string        // "depths", "sizes of reads", ...
	Step               string        // what of it
	Elapsed, Remaining time.Duration // Remaining is an estimate
}

const (
	leastFile    = 1 << 20
	defaultFile  = 1 << 30
	quickFile    = 256 << 20
	defaultK     = 10
	crowd        = 32 // clients that a cost is measured with
	maxReadBytes = 256 << 10
)

func (c Config) withDefaults() Config {
	if c.Program == "" {
		c.Program = ProgramAuto
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	if c.Store.IOEngine == "" {
		c.Store.IOEngine = iopath.Auto
	}
	if c.Index != nil {
		ix := *c.Index
		if ix.K == 0 {
			ix.K = defaultK
		}
		if ix.Clients == 0 {
			ix.Clients = 64
		}
		if len(ix.Probes) == 0 {
			ix.Probes = choose(c.Quick, []int{64}, []int{32, 64, 128, 256})
		}
		if len(ix.Rescores) == 0 {
			ix.Rescores = choose(c.Quick, []int{350}, []int{100, 350, 1000})
		}
		c.Index = &ix
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Dir == "":
		return badConfig("no directory")
	case c.FileBytes != 0 && c.FileBytes < leastFile:
		return badConfig("a test file of %d bytes, want at least 1 MiB", c.FileBytes)
	case c.Sustained < 0 || c.ExpectIOPS < 0 || c.ExpectMiBps < 0:
		return badConfig("a negative time or expectation")
	case c.Index == nil:
		return nil
	case c.Index.K < 1 || c.Index.Clients < 1 || c.Index.QPS < 0:
		return badConfig("k of %d, %d clients, %g QPS", c.Index.K, c.Index.Clients, c.Index.QPS)
	}
	for _, v := range append(append([]int(nil), c.Index.Probes...), c.Index.Rescores...) {
		if v < 1 {
			return badConfig("a cap of %d in the grid, want at least 1", v)
		}
	}
	return nil
}

func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
