// Package rescore owns everything that happens to a candidate after a posting
// named it: the candidate set of a query with its bounds, the refine and vector
// records on the volume, the plan that turns candidates into few reads, and the
// exact distances that decide.
//
// # Slots
//
// A vector has one slot, a number. Both of its records are found by arithmetic,
// so no map is kept in memory; slots of one posting's primary members are
// neighbours, so the survivors of a query share reads.
//
// # Bytes of a vector record (file kind 3)
//
// Little endian; K and M are the inline key and metadata bytes of the file's
// header, d the dimension of the index.
//
//	| offset     | bytes | field                                                     |
//	|------------|-------|-----------------------------------------------------------|
//	| 0          | 4     | CRC32C of the slot number (4 bytes) and bytes 4 .. stride |
//	| 4          | 2     | length of the key, 1-1,024                                |
//	| 6          | 1     | flags: 1 key in the catalog, 2 metadata in the catalog    |
//	| 7          | 1     | placement generation at creation                          |
//	| 8          | 4     | length of the metadata, 0 when there is none              |
//	| 12         | K     | key, zero padded (zeros when it is in the catalog)        |
//	| 12+K       | 4d    | vector as given, float32                                  |
//	| 12+K+4d    | M     | metadata, zero padded                                     |
//
// An all-zero record is a free slot.
//
// # Bytes of a refine record (file kind 2)
//
//	| offset | bytes | field                                                         |
//	|--------|-------|---------------------------------------------------------------|
//	| 0      | 4     | CRC32C of the slot number (4 bytes) and bytes 4 .. stride     |
//	| 4      | 4     | Add factor, float32                                           |
//	| 8      | 4     | Rescale factor, float32                                       |
//	| 12     | D     | 8-bit code of the rotated vector, not centred on any posting  |
//
// The checksum covers the slot number so that a misdirected read is noticed.
//
// Layouts are values and safe for concurrent use; a Candidates and a Planner
// belong to one query at a time.
//
// May import: rq, rq/simd, iopath, internal/diskfile
package rescore
