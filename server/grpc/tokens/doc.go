// Package tokens owns the bearer tokens of the gRPC API: the file that holds them,
// reloaded while it is in use, and what the holder of each may do.
//
// # The file
//
// A line is a user: role, name and token, with spaces between. Lines that start with #
// are comments.
//
//	# role name  token
//	read   app   0bSCUoX6cMWAVBUDbIPlnw2J
//	write  load  sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//
// A token has 16 to 512 visible ASCII characters. In place of one, its SHA-256 may be
// given, so that the file holds no secret. Names are for logs and for rate limits, and
// may have several tokens, so that one can be replaced without a gap.
//
// Tokens are compared in constant time, and only their hashes are kept. Nothing of the
// file but names and numbers of lines is ever in an error or a log.
//
// A File may be used by any number of goroutines.
//
// May import: server/grpc/reload
package tokens
