//go:build !unix

package iopath

// mapMemory falls back to the Go heap where there is no anonymous mapping.
// Alignment is not needed there, since there is no direct I/O either.
func mapMemory(n, _ int) ([]byte, error) { return make([]byte, n), nil }

func unmapMemory([]byte) {}
