package scaling

import (
	"time"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

// Config says what [Run] measures. Out, Queries, and either Data with Bucket and
// Index or Input with Metric are required; zero values of the rest mean the
// defaults.
type Config struct {
	// Axes are what settings are made of.
	Axes Axes

	// Data is the folder of a store, on the volume to measure, and Bucket and Index
	// name the index in it to ask. It is only read.
	Data          string
	Bucket, Index string
	// Input are the files of the vectors to build an index of instead, Metric how
	// they are compared, and Parameters those of the index. The store is made in Work
	// (default: in Out), on the volume to measure, and removed when the experiment is
	// complete: a restart finds it.
	Input      bench.InputFiles
	Metric     string
	Parameters sprat.IndexConfig
	Work       string

	// Queries is a file of vectors to search for, Truth and Distances files of their
	// true neighbours or of the distances of these, see [bench.ReadScorer].
	Queries, Truth, Distances string
	// K is the number of results of a query. Default 10.
	K int

	// Out is the folder for the results, and for the runs that are finished.
	Out string
	// Fresh discards the runs and results that are there.
	Fresh bool

	// Warmup is how long queries are asked before the window that is measured (negative
	// is not at all), and Window how long that is. Default 3 s and 10 s. A window is up to three times as
	// long while there are fewer than four answers a client or 300 in all.
	Warmup, Window time.Duration
	// Calibration is how long each of the two main points of a volume's limit is
	// measured; a quarter of it for the others. Default 2.5 s, or Window if shorter.
	Calibration time.Duration
	// CgroupMemory, when above 0, puts the process into a control group of this much
	// memory, page cache included.
	CgroupMemory int64
	// Store is how the store is opened; its IOEngine is that of each setting.
	Store sprat.Options

	// Command is what the report says it was made by.
	Command string
	// Progress, when set, is told how far the experiment is, about once a second and
	// from one goroutine at a time.
	Progress func(Progress)
}

// Progress is how far an experiment is.
type Progress struct {
	Step               string        // what is being done
	Run, Runs          int           // number of the present run, and of all; 0 before the first
	Elapsed, Remaining time.Duration // Remaining is an estimate
}

func (c Config) withDefaults() Config {
	c.Axes = c.Axes.withDefaults()
	if c.K == 0 {
		c.K = 10
	}
	if c.Warmup == 0 {
		c.Warmup = 3 * time.Second
	}
	c.Warmup = max(c.Warmup, 0)
	if c.Window == 0 {
		c.Window = 10 * time.Second
	}
	if c.Calibration == 0 {
		c.Calibration = min(2500*time.Millisecond, c.Window)
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	return c
}

func (c *Config) validate() error {
	switch {
	case c.Out == "":
		return badConfig("no folder for the results")
	case c.Queries == "":
		return badConfig("no queries")
	case c.Data != "" && c.Input.Vectors != "":
		return badConfig("both a store and vectors to build one of")
	case c.Data != "" && (c.Bucket == "" || c.Index == ""):
		return badConfig("a store without the name of an index")
	case c.Data == "" && c.Input.Vectors == "":
		return badConfig("neither a store nor vectors to build one of")
	case c.Data == "" && c.Metric == "":
		return badConfig("vectors without a metric")
	case c.K < 1 || c.Window < 0 || c.Calibration < 0 || c.CgroupMemory < 0:
		return badConfig("k of %d, window %v, calibration %v, memory %d", c.K, c.Window, c.Calibration, c.CgroupMemory)
	}
	return c.Axes.validate()
}
