// Package posting owns the posting lists of an index on the volume: their
// format, their extents in the posting file, the directory that finds them, and
// the scan that turns one posting into estimated distances.
//
// A posting holds, for every vector near one centroid, its slot, its placement
// generation, three RaBitQ factors and a 1- to 8-bit code of the residual to
// that centroid. It lies in ONE contiguous extent and costs ONE read of the
// volume. The centroid's own code stands in the header, so the centroids in
// memory can be rebuilt from the postings alone.
//
// # Bytes of a posting
//
// All integers and floats are little endian. n = entries, C = bytes of one code
// (rq.Coder.CodeSize), Z = bytes of the centroid's code.
//
//	| offset      | bytes | field                                                  |
//	|-------------|-------|--------------------------------------------------------|
//	| 0           | 4     | magic "SPO1"                                           |
//	| 4           | 4     | CRC32C of bytes 8 .. length-1                          |
//	| 8           | 2     | format version, 1                                      |
//	| 10          | 1     | bits of an entry's code, 1-8                           |
//	| 11          | 1     | bits of the centroid's code, 4 or 8                    |
//	| 12          | 4     | posting id                                             |
//	| 16          | 4     | n, entries                                             |
//	| 20          | 4     | entries whose primary copy this is (they come first)   |
//	| 24          | 4     | length of the posting in bytes, padding excluded       |
//	| 28          | 2     | D, dimensions of a code                                |
//	| 30          | 2     | zero                                                   |
//	| 32          | 4     | index id                                               |
//	| 36          | 4     | scale of the centroid's code, float32                  |
//	| 40          | 4     | squared norm of the decoded centroid, float32          |
//	| 44          | 20    | zero                                                   |
//	| 64          | Z     | code of the centroid, padded with zeros to 8 bytes     |
//	| then        | 4n    | slots, uint32                                          |
//	| then        | 4n    | Add factors, float32                                   |
//	| then        | 4n    | Rescale factors, float32                               |
//	| then        | 2n    | Error factors, bfloat16 rounded up                     |
//	| then        | n     | placement generations                                  |
//	| then        | Cn    | codes                                                  |
//
// The arrays are separate (struct of arrays) so that the scan streams through
// factors and codes without skipping. The codes come last and are not aligned;
// the kernels accept any address.
//
// # The posting file
//
//	| offset | bytes | field                                                        |
//	|--------|-------|--------------------------------------------------------------|
//	| 0      | 4096  | file header (package rescore and this one share its form)    |
//	| 4096   | ...   | extents, each a multiple of 4 KiB and aligned to 4 KiB       |
//
// An extent is written once and never changed: a posting that changes is
// written to a new extent and the directory's entry is switched, so a reader
// sees the old posting or the new one, both whole.
//
// # Changes
//
// What is added to a posting stands in its Delta, in memory, until a fold writes
// the posting anew; the catalog keeps the same entries as rows, in this form. C is
// the bytes of a code.
//
//	| offset        | bytes | field                                            |
//	|---------------|-------|--------------------------------------------------|
//	| 0             | 1     | version, 1                                       |
//	| 1 + i(16+C)   | 4     | entry i: slot, uint32                            |
//	| then          | 1     | placement generation                             |
//	| then          | 1     | flags: bit 0 primary copy, the others zero       |
//	| then          | 4     | Add factor, float32                              |
//	| then          | 4     | Rescale factor, float32                          |
//	| then          | 2     | Error factor, bfloat16 rounded up                |
//	| then          | C     | code                                             |
//
// There are as many entries as fill the row; the catalog's store has checksums.
// The Allocator finds room in the posting file for the new extents.
//
// # Concurrency
//
// A Layout, a Directory snapshot, a View and a Delta are safe for concurrent use;
// a Scanner, a Builder and an Allocator belong to one goroutine.
//
// May import: rq, rq/simd, iopath, internal/diskfile
package posting
