// Package grpc serves a store over gRPC: the API sprat.v1 of server/grpc/proto, with
// the services for health and reflection.
//
// It owns the services, who may call what, and the limits of calls, and promises that
//
//   - what the library refuses is refused here for the same reason, with a status whose
//     details name the field (server/grpc/wire); a malformed message is InvalidArgument;
//   - a call passes, in this order: count and time it, log it, catch panics, find the
//     user and what it may do, limit its rate, bound its time;
//   - a call without a valid token, and one above the number of calls in progress, is
//     refused before its message is read;
//   - what is logged has no vectors, metadata or tokens in it;
//   - after Drain no call is in progress, so that the store can be closed.
//
// # Roles
//
// With tokens (server/grpc/tokens), health is open to all; every other method needs a
// role: read, write or admin, see methodRoles. Without tokens everyone is admin: listen
// on loopback, or ask for certificates of clients.
//
// # Concurrency
//
// A Server may be used by any number of goroutines. The store stays the caller's, who
// closes it after Drain.
//
// May import: ., server/grpc/proto, server/grpc/wire, server/grpc/tokens
package grpc
