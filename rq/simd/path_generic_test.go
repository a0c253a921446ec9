//go:build !amd64 || noasm

package simd

// swapPath does nothing: this build has one path.
func swapPath(path) (undo func()) { return func() {} }

// available lists the paths of this build.
func available() []path { return []path{generic} }
