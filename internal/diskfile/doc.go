// Package diskfile owns the first 4 KiB of every data file of a store: what the
// file is, which index it belongs to, and the geometry of what follows.
//
// # Bytes of a file header
//
// Little endian.
//
//	| offset | bytes | field                                                     |
//	|--------|-------|-----------------------------------------------------------|
//	| 0      | 4     | magic "SPRF"                                              |
//	| 4      | 4     | CRC32C of bytes 8 .. 63                                   |
//	| 8      | 2     | format version, 1                                         |
//	| 10     | 2     | kind: 1 postings, 2 refine, 3 vector records, 4 landing   |
//	| 12     | 4     | index id                                                  |
//	| 16     | 4     | stride of a slot in bytes, 0 for postings                 |
//	| 20     | 4     | slots in a block of 4 KiB, 0 when slots straddle blocks   |
//	| 24     | 4     | dimensions of what is stored                              |
//	| 28     | 4     | inline key bytes of a slot (kind 3)                       |
//	| 32     | 4     | inline metadata bytes of a slot (kind 3)                  |
//	| 36     | 4     | direct I/O alignment of the volume at creation, bytes     |
//	| 40     | 24    | zero                                                      |
//	| 64     | 4032  | zero, so that data starts on a block                      |
//
// Headers are values; every function is safe for concurrent use.
//
// May import: nothing of sprat
package diskfile
