// Package bench reads vector data sets, computes exact ground truth for them,
// scores search results against it, and measures what the results cost.
//
// # What it owns
//
// Streaming readers of the formats in which vector sets are published, the exact
// nearest neighbours of queries ([Truth]), recall ([Recall], [RecallIDs]) and one
// synthetic set ([Clustered]); loads of queries ([Workload]) and experiments.
//
// # Formats
//
// [Open] looks at the content first (HDF5, NumPy, Parquet and JSON say what they
// are in their first bytes) and at the name second. All integers are little endian.
// None of the files is held in memory as a whole.
//
//	.fbin .f16bin .u8bin .i8bin .ibin
//	    +-----------+----------+--------------------------------+
//	    | rows  u32 | dim  u32 | rows x dim elements, row major |
//	    +-----------+----------+--------------------------------+
//	    float32, IEEE half, uint8, int8, int32; the file ends with the last row.
//	.fvecs .bvecs .ivecs
//	    +----------+--------------+
//	    | dim  i32 | dim elements |  for every row, the same dim in each
//	    +----------+--------------+
//	    float32, uint8, int32.
//	.npy      versions 1-3; two dimensions, C order; f2 f4 f8 i1 i2 i4 i8 u1.
//	.hdf5 .h5 the files of ann-benchmarks; see package hdf5 for what is read.
//	.parquet  one column of lists of float or double, optionally a key column
//	          and a column of JSON texts; row group by row group.
//	.jsonl    one JSON value a line, see [Open].
//
// # Promises
//
// A [Reader] hands out finite float32 values of one dimension: a NaN, an infinity
// or a value beyond the range of float32 is an error, not a vector. A file that is
// not what it says gives a [*FormatError] which names the file, the place and what
// was expected there; it never gives a panic, and memory is only allocated for what
// the size of the file can hold. Sizes in headers are compared with the file's
// before anything else is read.
//
// # Distances
//
// Ground truth uses one convention in which smaller is always nearer: for euclidean
// the plain (not squared) distance, for cosine 1 - cos, for dot the negated
// product. Answers of the engine are brought to it by [TruthDistance].
//
// # Loads and experiments
//
// A [Workload] sends queries from a number of clients and reports what each cost:
// recall by a [Scorer], reads, bytes, waves, CPU, times. [RunANN] is the experiment
// of recall against reads: it builds an index of each set that [OpenANNSet] finds,
// measures it cold at many settings, and writes figures, tables and a plot.
// [Volume] says how many queries per second a cost allows. These alone import
// the engine; what reads files and finds truth does not, so that its numbers are
// comparable between any two systems.
//
// May import: root, bench/hdf5, bench/parquetpage, rq/simd
package bench
