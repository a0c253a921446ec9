// Package wire turns values and errors of package sprat into messages and statuses of
// the gRPC API, and back. Server and client share it, so that a value that goes over
// the wire is the same on both sides.
//
// It owns the mapping, in both directions, and promises that
//
//   - an error of package sprat that has gone through Status and Error answers
//     errors.Is as before, and errors.As for *InputError, *RowError, *CorruptionError,
//     *MemoryLimitError and *VolumeFullError;
//   - numbers that a message cannot hold become the nearest that it can, so that the
//     server refuses them as the library does;
//   - a status fits in the 8 KiB that some clients allow: long texts are cut.
//
// All functions may be called by any number of goroutines. Slices are shared between
// values and messages, not copied.
//
// May import: ., server/grpc/proto
package wire
