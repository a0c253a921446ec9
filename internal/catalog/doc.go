// Package catalog owns the Pebble database of a store: which buckets and
// indexes exist, where each posting lies, and which slot holds each key.
//
// One Pebble batch is the only commit point of every logical change. What a
// batch names on the volume (extents, records, files) was written and synced
// before it commits; so after a crash everything that the catalog names is
// whole, and bytes that nothing names are garbage.
//
// # Key layouts
//
// The first byte is the table. Numbers in keys are big endian, so that a scan
// goes in their order; numbers in values are little endian.
//
//	| table | key after the table byte         | value                                     |
//	|-------|----------------------------------|-------------------------------------------|
//	| 0x01  | (nothing)                        | schema version, uint32                    |
//	| 0x02  | (nothing)                        | last index id given out, uint32           |
//	| 0x10  | bucket name                      | Bucket, JSON                              |
//	| 0x11  | bucket name, 0x00, index name    | Index, JSON                               |
//	| 0x12  | bucket, 0x00, index, 0x00, name  | attribute of the index, or of the bucket  |
//	| 0x20  | index id (4), posting id (4)     | extent (8, posting.Extent), flags (1)     |
//	| 0x21  | index id (4), hash (1), key      | slot (4), placement generation (1)        |
//	| 0x22  | index id, slot (4), gen. (1)     | key that did not fit into the record      |
//	| 0x23  | index id, slot (4), gen. (1)     | metadata that did not fit into the record |
//	| 0x24  | index id (4), posting id (4)     | centroid: scale (4), norm² (4), code      |
//	| 0x25  | index id (4), run (4)            | RunRow, see run.go                        |
//	| 0x26  | index id (4)                     | State, see state.go                       |
//	| 0x27  | index id, posting id, seq. (8)   | delta entries (posting.AppendEntries)     |
//	| 0x28  | index id (4), row key            | filter row (internal/filterindex)         |
//
// The hash of a key is the first byte of its FNV-1a hash: a listing in parts
// takes ranges of it (0x21 is the order of a listing). Rows of 0x24 are of
// postings that were made while the index was live; those of the bulk build have
// theirs in the centroids file. Runs without a row hold the live slots of the
// bulk build. A row of 0x22 or 0x23 stays for a while after its vector died, for
// the queries that still see it.
//
// Names hold no zero byte; an attribute of a bucket has an empty index name. Values
// of JSON carry only fields that a reader of this schema knows. A schema of another
// version is refused on open, but for version 2, which had no tables 0x12 and 0x28:
// it becomes version 3 when it is opened for writing, and the state of its indexes
// says that they have no filter rows yet. Version 1 had no live updates and ordered
// keys by their bytes alone.
//
// A Catalog is safe for concurrent use. Reads may block on the volume; a query
// without metadata reads nothing here.
//
// May import: iopath
package catalog
