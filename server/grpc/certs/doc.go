// Package certs owns the certificates of the gRPC API: TLS for the server, with or
// without certificates of clients (mTLS), and for clients. Files that change are in
// force for new connections within a second.
//
// The configurations may be used by any number of goroutines.
//
// May import: server/grpc/reload
package certs
