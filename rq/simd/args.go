package simd

// first returns the first n elements of s. Unlike s[:n] it does not reach past the
// length of s into its capacity.
func first[T any](s []T, n int) []T { return s[:n:len(s)] }
