//go:build !noasm

package simd

// swapPath forces a path that available lists and returns what undoes that.
func swapPath(p path) (undo func()) {
	old := active
	active = p
	return func() { active = old }
}

// available lists the paths of this build and processor in rising order.
func available() []path {
	var ps []path
	for p := generic; p <= best(); p++ {
		ps = append(ps, p)
	}
	return ps
}
