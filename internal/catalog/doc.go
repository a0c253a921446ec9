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
//	| 0x20  | index id (4), posting id (4)     | extent: block, bytes (posting.Extent)     |
//	| 0x21  | index id (4), vector key         | slot (4), placement generation (1)        |
//	| 0x22  | index id (4), slot (4)           | key that did not fit into the record      |
//	| 0x23  | index id (4), slot (4)           | metadata that did not fit into the record |
//
// Names hold no zero byte. Values of JSON carry only fields that a reader of
// this schema knows; a newer schema version is refused on open.
//
// A Catalog is safe for concurrent use. Reads may block on the volume; a query
// without metadata reads nothing here.
//
// May import: nothing of sprat
package catalog
