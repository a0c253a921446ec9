package sprat

import (
	"log/slog"
	"slices"
	"time"

	"github.com/spratdb/sprat/iopath"
)

// Options say how to open a store. The zero value means every default.
type Options struct {
	// MemoryLimit is the promise for what the store keeps in memory, in bytes:
	// centroids, directories, catalog, caches, and a build. A query in progress
	// adds at most a 64th of it in read buffers (1 to 16 MiB), and its candidates.
	// Default: 60 % of the cgroup's limit, or of the machine's memory. A limit
	// that the indexes cannot keep is refused with a *MemoryLimitError.
	MemoryLimit int64
	// IOEngine is "auto" (default), "io_uring", "pread" or "mmap". A forced
	// engine that cannot be had is an error; auto steps down and says why.
	IOEngine string
	// Direct is "auto" (default), "on" or "off": whether reads and writes bypass
	// the page cache (O_DIRECT).
	Direct string
	// QueueDepth caps the reads in flight on the volume. Default: the engine's.
	QueueDepth int
	// CacheBytes is the memory for cached postings and records. 0 means what the
	// limit leaves after the indexes, builds and queries, as it changes; a negative
	// number means no cache.
	CacheBytes int64
	// LimitHeap has the store set the memory limit of the Go runtime
	// (debug.SetMemoryLimit) to what MemoryLimit leaves for the heap, as it changes,
	// until Close. For programs whose main tenant is one store.
	LimitHeap bool
	// ReadOnly opens a store without the right to change it.
	ReadOnly bool
	// Logger receives what an operator must know. Default: nothing is logged.
	Logger *slog.Logger
}

// validate refuses what no volume has, before anything is touched.
func (o Options) validate() error {
	switch {
	case !slices.Contains([]string{"", iopath.Auto, iopath.IOUring, iopath.Pread, iopath.Mmap}, o.IOEngine):
		return invalid("ioEngine", "auto, io_uring, pread or mmap", "%q", o.IOEngine)
	case !slices.Contains([]string{"", iopath.Auto, iopath.DirectOn, iopath.DirectOff}, o.Direct):
		return invalid("direct", "auto, on or off", "%q", o.Direct)
	case o.QueueDepth < 0 || o.QueueDepth > maxQueueDepth:
		return invalid("queueDepth", "1 to 4,096", "%d", o.QueueDepth)
	}
	return nil
}

// maxQueueDepth is the largest that an I/O engine takes.
const maxQueueDepth = 4096

// IndexConfig describes an index to create. Dimension and Metric are required;
// zero values of the rest mean the defaults, which are right for most data.
type IndexConfig struct {
	Dimension int    // 1 to MaxDimension
	Metric    Metric // Cosine, Euclidean or Dot

	// PostingBytes is the target size of a posting on the volume, 4 KiB to 64
	// KiB. Default 40 KiB, near the balanced read size of a default gp3 volume (42
	// KiB).
	PostingBytes int
	// Copies is how many postings hold each vector, 1 to 8. Default 4.
	Copies int
	// Bits of a posting entry's code per dimension, 1 to 8. Default
	// round(768/dimension), at most 4 above 64 dimensions.
	Bits int
	// Seed of the rotation and of the training. Default 1.
	Seed uint64
	// NonFilterable are fields of the metadata that filters may not name. They are
	// not indexed. At most 64 names.
	NonFilterable []string
}

// Dials are the defaults of an index's queries. They may be changed at any time
// and have no effect on what is written. A new index has RecallTarget 0.95 and
// no caps: what a query should read differs from index to index, and the
// calibration knows it.
type Dials struct {
	// RecallTarget, in (0, 1), chooses the cheapest caps and stop rules that
	// reached this recall on the calibration sample. It is in force while the two
	// caps are 0.
	RecallTarget float64 `json:"recall_target,omitempty"`
	// SearchProbe caps the postings read by a query. 64 when only RescoreLimit
	// is set.
	SearchProbe int `json:"search_probe"`
	// RescoreLimit caps the candidates rescored; never below k. 350 when only
	// SearchProbe is set.
	RescoreLimit int `json:"rescore_limit"`
}

const (
	defaultRecallTarget = 0.95
	defaultSearchProbe  = 64
	defaultRescoreLimit = 350
	maxSearchProbe      = 1 << 20
)

// QueryOptions change one query. Zero values mean the index's dials; a cap given
// here puts a recall target of the index out of force.
type QueryOptions struct {
	// SearchProbe caps the postings read, 1 to 2^20.
	SearchProbe int
	// RescoreLimit caps the candidates rescored; k when that is larger.
	RescoreLimit int
	// RecallTarget, in (0, 1), chooses the cheapest dials that reached this
	// recall on the index's calibration sample, and overrides the two above.
	RecallTarget float64
	// MaxReads caps the operations a query may spend on the volume; the answer
	// is Partial when that cut it short. 0 is no cap.
	MaxReads int
	// Deadline, when it passes, makes the query finish with one last wave of reads
	// and return the best found, marked Partial. Zero is none. (A context that
	// ends fails the query instead.)
	Deadline time.Time
	// FixedWork turns the stop rules off: exactly SearchProbe postings are read
	// and exactly RescoreLimit candidates are read in full. For comparisons.
	FixedWork bool
	// Vectors and Metadata ask for these parts of the results.
	Vectors, Metadata bool
	// Trace asks for an account of the query in words.
	Trace bool
	// Filter, a JSON text, restricts the answer to vectors whose metadata matches:
	// {"genre": "jazz", "year": {"$gte": 1990}}. The language is that of S3 Vectors
	// ($eq $ne $gt $gte $lt $lte $in $nin $exists $startsWith $and $or). k results
	// come back whenever k vectors match. No bytes and null are no filter. An invalid
	// one is an *InputError of field "filter", with the message of S3 Vectors as Got.
	Filter []byte
	// StrictFilter refuses what S3 Vectors refuses: objects of more than one entry,
	// which otherwise must all hold, and empty ones, which otherwise match all.
	StrictFilter bool
}

// Match is one result.
type Match struct {
	Key      string
	Distance float64 // exact, as the Metric defines it
	Vector   []float32
	Metadata []byte // JSON, nil when there is none
}

// Work is what a query cost. Reads are operations of the volume: one for every
// 256 KiB or part of it that one submitted read covers.
type Work struct {
	Postings     int           `json:"postings"` // probes
	Codes        int           `json:"codes"`    // entries scanned
	Candidates   int           `json:"candidates"`
	Refined      int           `json:"refined"`
	Exact        int           `json:"exact"`
	PostingReads int           `json:"posting_reads"`
	RefineReads  int           `json:"refine_reads"`
	RecordReads  int           `json:"record_reads"`
	Reads        int           `json:"reads"`
	Bytes        int64         `json:"bytes"`
	Waves        int           `json:"waves"`
	CacheHits    int           `json:"cache_hits"`
	Elapsed      time.Duration `json:"elapsed_ns"`
	// Busy is the part of Elapsed not spent waiting for reads: what the query
	// takes of a processor, as far as one query alone can tell.
	Busy time.Duration `json:"busy_ns"`
	Stop string        `json:"stop"` // why no more postings were read
	// Plan is how a filter was evaluated: "none match", "scan", "probe", "probe, then
	// scan" or "check"; "" without a filter.
	Plan string `json:"plan,omitempty"`
	// Matching is how many vectors match the filter, as far as the filter index
	// tells: at most so many, and usually exactly. Of plan "check" it is all vectors.
	Matching int `json:"matching,omitempty"`
	// FilterRows is how many rows of the filter index were read.
	FilterRows int `json:"filter_rows,omitempty"`
}

// Result is the answer to a query: at most k matches, nearest first, ties by
// key. Partial says that a deadline or read budget ended the search early.
type Result struct {
	Matches []Match
	Partial bool
	Work    Work
	Trace   string
}
