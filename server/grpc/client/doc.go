// Package client calls a server of the gRPC API in the words of package sprat: its
// types go in and come out, and errors answer errors.Is and errors.As as those of the
// library do (server/grpc/wire).
//
// It owns one connection, which is made when it is needed and made again when it was
// lost. Calls are not repeated: whoever gets codes.Unavailable may repeat any call but a
// creation, as puts and deletes of the same keys have the same effect twice.
//
// A Client may be used by any number of goroutines.
//
// May import: ., server/grpc/proto, server/grpc/wire
package client
