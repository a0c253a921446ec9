package simd

import (
	"os"
	"testing"
)

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		best path
		name string
		want path
	}{
		{avx512, "", avx512},
		{avx512, "avx512", avx512},
		{avx512, "avx2", avx2},
		{avx512, "generic", generic},
		{avx2, "avx512", avx2}, // not there: the next lower path
		{generic, "avx2", generic},
		{avx2, "sse", avx2}, // not a path
	} {
		if got := limit(c.best, c.name); got != c.want {
			t.Errorf("limit(%v, %q) = %v, want %v", c.best, c.name, got, c.want)
		}
	}
}

// TestForcedPath checks that the variable had its effect. It also lets the test
// cache see the variable, which is first read too early for that.
func TestForcedPath(t *testing.T) {
	paths := available()
	if want := limit(paths[len(paths)-1], os.Getenv(envPath)); active != want {
		t.Errorf("%s=%q: path %v in use, want %v", envPath, os.Getenv(envPath), active, want)
	}
}

func TestFeatures(t *testing.T) {
	for _, p := range available() {
		undo := swapPath(p)
		if got := Features(); got != p.String() {
			t.Errorf("Features() = %q on path %v", got, p)
		}
		undo()
	}
}

// calls is one call of every kernel; short makes one argument too short.
func calls(short int) map[string]func() {
	const d, rows = 104, 5
	x, y, z := floats(d, 1), floats(d, 2), make([]float32, d)
	q, b, dst := make([]int8, d), codes(rows*d), make([]int32, rows)
	rowsF, dstF := floats(rows*d, 3), make([]float32, rows)
	planes := make([]uint64, 8*2)
	pow2 := floats(64, 4)
	return map[string]func(){
		"DotF32":     func() { DotF32(x, y[short:]) },
		"L2F32":      func() { L2F32(x, y[short:]) },
		"DotRowsF32": func() { DotRowsF32(dstF, x, rowsF[short:len(rowsF):len(rowsF)]) },
		"DotF64":     func() { DotF64(x, y[short:]) },
		"L2F64":      func() { L2F64(x, y[short:]) },
		"DotU8S8":    func() { DotU8S8(dst, q, b[short:]) },
		"DotU4S8":    func() { DotU4S8(dst, q, q[short:], b) },
		"DotPlanes":  func() { DotPlanes(dst, planes[short:], b, 4, d/8) },
		"PackQuery":  func() { PackQuery(planes[short:], q) },
		"Combine":    func() { Combine(dstF, dst, dst[short:], x[:rows], y, Combination{}) },
		"PackPlanes": func() { PackPlanes(b[:13-short], b[d:2*d], 1, 13) },
		"AbsMaxDiff": func() { AbsMaxDiff(x, y[short:]) },
		"SubScale":   func() { SubScale(z, x, y[short:], 2) },
		"RoundCode":  func() { RoundCode(b[:d], z[short:], x, 2, 3) },
		"RoundS8":    func() { RoundS8(q, z[short:], x, 2, 0.5) },
		"DecodeU8":   func() { DecodeU8(z, b[:d-short:d-short], 1, 2) },
		"DecodeU4":   func() { DecodeU4(z[:d-short:d-short], b[:d/2], 1, 2) },
		"Hadamard":   func() { Hadamard(pow2[short:]) },
		"Butterfly":  func() { Butterfly(x, y[short:]) },
		"Mul":        func() { Mul(z, x, y[short:]) },
	}
}

func TestNoAllocation(t *testing.T) {
	for _, p := range available() {
		undo := swapPath(p)
		for name, call := range calls(0) {
			if n := testing.AllocsPerRun(10, call); n != 0 {
				t.Errorf("%s on %v: %v allocations a call", name, p, n)
			}
		}
		undo()
	}
}

// TestShortArgument checks that lengths which do not fit panic instead of reaching
// the assembly.
func TestShortArgument(t *testing.T) {
	for name, call := range calls(1) {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took an argument that is too short", name)
				}
			}()
			call()
		}()
	}
}
