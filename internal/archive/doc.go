// Package archive keeps snapshots of a set of files in a flat store of named,
// immutable objects: a local directory ([Dir]) or anything else that implements
// [Objects]. It knows nothing of what the files hold.
//
// May import: nothing of sprat
//
// # What it promises
//
// A snapshot exists when its manifest does: [Write] puts the pieces of all files
// first and the manifest last, so an attempt that fails, is cancelled or loses
// its process leaves no snapshot and harms none. Every byte is covered by
// SHA-256: pieces are named by theirs and a manifest holds its own, so [Restore]
// and [Verify] refuse what is not what was written with a [*DamageError]. The
// target of a Restore appears complete and synced, or not at all.
//
// Snapshots are incremental. A file is cut at multiples of the piece size, and
// a piece that the store has is not sent again; a file changed in place shares
// what did not change. A file whose Version and Size are those of the snapshot
// before is not even read. Pieces of zeros cost nothing.
//
// Damage stays damage: a piece that the store lists is taken to be good, so a
// Write does not mend one that rotted. To mend it, delete the object that
// [Verify] names and Write again.
//
// # Objects
//
//	| name                       | content                                          |
//	|----------------------------|--------------------------------------------------|
//	| chunks/<2 hex>/<64 hex>    | a piece, named by its SHA-256                    |
//	| snapshots/<id>.json        | a manifest                                       |
//	| lock                       | the lease of the one writer, while there is one  |
//
// An id is the UTC time to the millisecond and a random suffix, as in
// 20260102T150405.000Z-0123abcd. Ids of one store grow even when the clock does
// not, so the order of their names is the order of the snapshots.
//
// # Manifest
//
// A manifest is a JSON object whose first line holds nothing but the checksum:
// the lower case hex SHA-256 of every byte after that line.
//
//	{"sha256":"<64 hex>",
//	"format":1,"id":...}
//
//	| field      | value                                                            |
//	|------------|------------------------------------------------------------------|
//	| format     | 1; anything else is refused as ErrFormat                         |
//	| id         | as in the name of the object                                     |
//	| label      | text of the caller, may be missing                               |
//	| meta       | names and texts of the caller, may be missing                    |
//	| chunkBytes | piece size, 1 .. 64 MiB                                          |
//	| bytes      | sum of the sizes of all files                                    |
//	| files      | in order of path                                                 |
//	|   path     | relative, slash-separated, no "." or ".." in it                  |
//	|   size     | bytes                                                            |
//	|   mode     | permission bits                                                  |
//	|   version  | as the caller gave it, may be missing                            |
//	|   chunks   | a piece each: hex SHA-256, or "" for zeros; the last may be      |
//	|            | shorter than chunkBytes                                          |
//
// # Concurrency
//
// One writer at a time, be it [Write] or [Prune]: a second one gets a
// [*BusyError]. The lease is an object; it is renewed while the writer works
// and stale after an hour, so a writer that died blocks others for that long
// unless someone who knows calls [Unlock]. Where the store can create an object
// only if it does not exist ([Creator]), two writers cannot both get a free
// lease. Two that find the same stale one can; the loser notices before it
// writes a manifest or deletes anything more. Clocks of writers must agree to
// within minutes. Readers take no lease: a Restore of a snapshot that is pruned
// at the same time fails and leaves nothing.
//
// Memory is at most twice Workers times the piece size, and the manifests.
package archive
