// Package spratv1 is the gRPC API sprat.v1 in Go: messages, clients and servers, made
// from the files in sprat/v1 by `make proto`.
//
// It owns names and numbers of what goes over the wire and promises that those of a
// released version keep their meaning: fields are added, never renumbered (buf breaking
// checks it). Messages are for one goroutine at a time, clients for any number.
//
// May import: nothing of sprat
package spratv1
