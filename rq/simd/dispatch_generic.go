//go:build !amd64 || noasm

package simd

// active is the only path of this build.
const active = generic
