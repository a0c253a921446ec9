package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

type buildFlags struct {
	store  storeFlags
	index  indexFlag
	files  bench.InputFiles
	metric choiceFlag
	tuning tuningFlags
	json   bool
}

// tuningFlags are parameters of a new index.
type tuningFlags struct {
	postingBytes sizeFlag
	copies, bits countFlag
	seed         uint64
}

func (f *tuningFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Var(&f.postingBytes, "posting-bytes", "size of a posting on the volume, 4KiB to 64KiB")
	fl.Var(&f.copies, "copies", "postings that hold each vector, 1 to 8")
	fl.Var(&f.bits, "bits", "bits of a posting's code per dimension, 1 to 8 (default by dimension)")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of rotation and training")
}

func (f *tuningFlags) config() sprat.IndexConfig {
	return sprat.IndexConfig{PostingBytes: int(f.postingBytes), Copies: int(f.copies), Bits: int(f.bits), Seed: f.seed}
}

// buildResult is what build --json prints.
type buildResult struct {
	Index              string  `json:"index"`
	Vectors            int64   `json:"vectors"`
	Duplicates         int64   `json:"duplicates"`
	Dimension          int     `json:"dimension"`
	Metric             string  `json:"metric"`
	Seconds            float64 `json:"seconds"`
	VectorsPerSecond   float64 `json:"vectors_per_second"`
	Postings           int64   `json:"postings"`
	ReplicasMean       float64 `json:"replicas_mean"`
	DiskBytes          int64   `json:"disk_bytes"`
	DiskBytesPerVector float64 `json:"disk_bytes_per_vector"`
	MemoryPeakMiB      float64 `json:"memory_peak_mib"`
	IOEngine           string  `json:"io_engine"`
	DirectIO           bool    `json:"direct_io"`
}

func (c *cli) buildCommand() *cobra.Command {
	f := buildFlags{metric: oneOf("", bench.Cosine, bench.Euclidean, bench.Dot)}
	cmd := &cobra.Command{
		Use:   "build --data DIR --index B/I --input FILE --metric M",
		Short: "Make an index from a file of vectors",
		Long: "build makes an index from a file of vectors: .fbin .f16bin .u8bin .i8bin .fvecs .bvecs .npy .hdf5 " +
			"(ann-benchmarks) .parquet or .jsonl, told by content or name. Until it is complete, and after any error, " +
			"the store is as before. Of rows with equal keys the last wins.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.build(ctx, &f) }),
	}
	f.store.addData(cmd)
	fl := cmd.Flags()
	fl.Var(&f.index, "index", "name of the new index")
	fl.StringVar(&f.files.Vectors, "input", "", "`file` of vectors")
	fl.StringVar(&f.files.Keys, "keys", "", "`file` of keys, one a line (default: those of the input, or else row numbers)")
	fl.StringVar(&f.files.Metadata, "metadata", "", "`file` of JSON objects, one a line")
	fl.Var(&f.metric, "metric", "how vectors are compared")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	f.tuning.add(cmd)
	require(cmd, "index", "input", "metric")
	return cmd
}

func (c *cli) build(ctx context.Context, f *buildFlags) (err error) {
	// The input first: what cannot be read must not leave an empty store behind.
	in, err := bench.OpenInput(f.files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	config := f.tuning.config()
	config.Dimension = in.Dim()
	if config.Metric, err = sprat.ParseMetric(f.metric.value); err != nil {
		return err
	}
	store, closeStore, err := c.open(&f.store, f.store.data, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	bar := c.newProgress()
	defer bar.done()
	ix, built, err := store.Build(ctx, f.index.bucket, f.index.name, config, in.Records(),
		sprat.BuildOptions{Progress: bar.update})
	if err != nil {
		return rowIn(f.files.Vectors, err)
	}
	bar.done()
	r := newBuildResult(ix, built)
	io := store.IOInfo()
	r.IOEngine, r.DirectIO = io.Engine, io.Direct
	return c.emit(f.json, r, func(p *page) { r.text(p, io.Cause) })
}

// rowIn puts the name of the input before an error about one of its rows.
func rowIn(path string, err error) error {
	var row *sprat.RowError
	if errors.As(err, &row) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

func newBuildResult(ix *sprat.Index, built sprat.BuildStats) *buildResult {
	r := &buildResult{
		Index: ix.Name(), Vectors: built.Vectors, Duplicates: built.Duplicates,
		Dimension: ix.Dimension(), Metric: ix.Metric().String(),
		Seconds: built.Elapsed.Seconds(), VectorsPerSecond: float64(built.Rows) / built.Elapsed.Seconds(),
		Postings: built.Postings, DiskBytes: built.DiskBytes,
		MemoryPeakMiB: float64(bench.ProcessMemory().Peak) / (1 << 20),
	}
	if n := float64(built.Vectors); n > 0 {
		r.ReplicasMean, r.DiskBytesPerVector = float64(built.Entries)/n, float64(built.DiskBytes)/n
	}
	return r
}

func (r *buildResult) text(p *page, cause string) {
	p.line("built %s: %s vectors of dimension %d, %s", r.Index, count(r.Vectors), r.Dimension, r.Metric)
	if r.Duplicates > 0 {
		p.row("duplicates", count(r.Duplicates), "rows replaced by a later row with the same key")
	}
	p.row("time", decimal(r.Seconds, 2)+" s", count(int64(r.VectorsPerSecond))+" vectors/s")
	p.row("postings", count(r.Postings), fmt.Sprintf("each vector is in %.2f of them", r.ReplicasMean))
	p.row("disk", size(r.DiskBytes), fmt.Sprintf("%.0f bytes/vector (%d of them are its components)",
		r.DiskBytesPerVector, 4*r.Dimension))
	p.row("memory", decimal(r.MemoryPeakMiB, 1)+" MiB", "most that the process had resident")
	p.row("I/O", r.IOEngine, directText(r.DirectIO, cause))
}

// directText says how a volume is read and why not in a better way.
func directText(direct bool, cause string) string {
	text := "through the page cache"
	if direct {
		text = "direct, past the page cache"
	}
	if cause != "" {
		text += " (" + cause + ")"
	}
	return text
}
