// Package remote is the engine of the S3 Vectors adapter that keeps nothing itself: it
// calls `sprat serve` over gRPC. It stands apart from package s3vectors so that a
// program which embeds the adapter over its own store does not link gRPC.
//
// What indexes are like, which never changes, is remembered for a second: for so long a
// request may be checked against an index that somebody else has replaced. The engine
// checks again.
//
// An engine is safe for concurrent use.
//
// May import: root, server/s3vectors, server/grpc/client
package remote
