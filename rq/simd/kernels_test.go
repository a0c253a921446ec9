//go:build unix

package simd

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"
)

// maxLen is the greatest length of the differential tests: every tail of every
// vector width, after no, one and several full steps.
const maxLen = 1100

// input makes random arguments in guarded memory.
type input struct {
	*memory
	*rand.Rand
	regime int // what the floats are like
}

// floats returns n numbers: ordinary, of mixed magnitude, with zeros of both signs,
// or tiny and subnormal.
func (in *input) floats(n int) []float32 {
	x := guarded[float32](in.memory, n)
	for i := range x {
		v := in.NormFloat64()
		switch in.regime {
		case 1:
			v = math.Ldexp(v, in.IntN(100)-50)
		case 2:
			v *= float64(in.IntN(3) - 1)
		case 3:
			v *= 1e-38
		}
		x[i] = float32(v)
	}
	return x
}

// bytes returns n codes, 0 and 255 more often than chance has them.
func (in *input) bytes(n int) []byte {
	b := guarded[byte](in.memory, n)
	for i := range b {
		switch in.IntN(8) {
		case 0:
			b[i] = 0
		case 1:
			b[i] = 255
		default:
			b[i] = byte(in.Uint32())
		}
	}
	return b
}

// query returns n values in -127..127, the limits more often than chance has them.
func (in *input) query(n int) []int8 {
	q := guarded[int8](in.memory, n)
	for i := range q {
		q[i] = int8(max(-127, min(127, in.IntN(400)-200)))
	}
	return q
}

// planes returns the eight planes of a random query of 8·planeBytes dimensions.
func (in *input) planes(planeBytes int) []uint64 {
	words := (planeBytes + 7) / 8
	q := guarded[uint64](in.memory, 8*words)
	for i := range q {
		q[i] = in.Uint64()
		if i%words == words-1 && planeBytes%8 != 0 {
			q[i] &= 1<<(planeBytes%8*8) - 1
		}
	}
	return q
}

// rowCounts are the numbers of rows tried: none, one, full groups of four and both.
var rowCounts = []int{0, 1, 3, 4, 7, 9}

// differential lists the kernels. run calls one at length n and returns all that
// it wrote.
var differential = []struct {
	name string
	run  func(in *input, n int) [][]byte
}{
	{"DotF32", func(in *input, n int) [][]byte { return [][]byte{raw(DotF32(in.floats(n), in.floats(n)))} }},
	{"L2F32", func(in *input, n int) [][]byte { return [][]byte{raw(L2F32(in.floats(n), in.floats(n)))} }},
	{"L2F64", func(in *input, n int) [][]byte { return [][]byte{raw(L2F64(in.floats(n), in.floats(n)))} }},
	{"DotF64", func(in *input, n int) [][]byte { return [][]byte{raw(DotF64(in.floats(n), in.floats(n)))} }},
	{"SumSqF64", func(in *input, n int) [][]byte { return [][]byte{raw(SumSqF64(in.floats(n)))} }},
	{"AbsMaxDiff", func(in *input, n int) [][]byte { return [][]byte{raw(AbsMaxDiff(in.floats(n), in.floats(n)))} }},
	{"AbsMaxDiff/nil", func(in *input, n int) [][]byte { return [][]byte{raw(AbsMaxDiff(in.floats(n), nil))} }},
	{"DotRowsF32", func(in *input, n int) [][]byte {
		dst := guarded[float32](in.memory, rowCounts[n%len(rowCounts)])
		DotRowsF32(dst, in.floats(n), in.floats(n*len(dst)))
		return [][]byte{raw(dst...)}
	}},
	{"DotU8S8", func(in *input, n int) [][]byte {
		dst := guarded[int32](in.memory, rowCounts[n%len(rowCounts)])
		DotU8S8(dst, in.query(n), in.bytes(n*len(dst)))
		return [][]byte{raw(dst...)}
	}},
	{"DotU4S8", func(in *input, n int) [][]byte {
		dst := guarded[int32](in.memory, rowCounts[n%len(rowCounts)])
		DotU4S8(dst, in.query(n), in.query(n), in.bytes(n*len(dst)))
		return [][]byte{raw(dst...)}
	}},
	{"DotPlanes", func(in *input, n int) [][]byte {
		planeBytes, width := n/8, 1+n%8
		dst := guarded[int32](in.memory, rowCounts[in.IntN(len(rowCounts))])
		DotPlanes(dst, in.planes(planeBytes), in.bytes(len(dst)*width*planeBytes), width, planeBytes)
		return [][]byte{raw(dst...)}
	}},
	{"PackPlanes", func(in *input, n int) [][]byte {
		width := 1 + in.IntN(8)
		stride := (n+7)/8 + in.IntN(9)
		dst := guarded[byte](in.memory, (width-1)*stride+(n+7)/8)
		clear(dst)
		PackPlanes(dst, in.bytes(n), width, stride)
		return [][]byte{raw(dst...)}
	}},
	{"PackQuery", func(in *input, n int) [][]byte {
		dst := guarded[uint64](in.memory, 8*((n+63)/64))
		PackQuery(dst, in.query(n))
		return [][]byte{raw(dst...)}
	}},
	{"Combine", func(in *input, n int) [][]byte {
		dst, hi, lo := guarded[float32](in.memory, n), guarded[int32](in.memory, n), guarded[int32](in.memory, n)
		for i := range hi {
			hi[i], lo[i] = int32(in.IntN(1<<29)-1<<28), int32(in.IntN(1<<29)-1<<28)
		}
		Combine(dst, hi, lo, in.floats(n), in.floats(n), Combination{1, 1e-3, 1e-5, 12345, -54321, -1e30})
		return [][]byte{raw(dst...)}
	}},
	{"SubScale", func(in *input, n int) [][]byte {
		dst := guarded[float32](in.memory, n)
		SubScale(dst, in.floats(n), in.floats(n), 0.25)
		return [][]byte{raw(dst...)}
	}},
	{"SubScale/nil", func(in *input, n int) [][]byte {
		x := in.floats(n)
		SubScale(x, x, nil, 3)
		return [][]byte{raw(x...)}
	}},
	{"FitCode", func(in *input, n int) [][]byte {
		top := float32(int(1)<<in.IntN(8) - 1)
		xr, xx := FitCode(in.floats(n), 0.3*(top+1), top)
		return [][]byte{raw(xr, xx)}
	}},
	{"RoundCode", func(in *input, n int) [][]byte {
		top := float32(int(1)<<in.IntN(8) - 1)
		u, x := guarded[byte](in.memory, n), guarded[float32](in.memory, n)
		RoundCode(u, x, in.floats(n), 0.3*(top+1), top)
		return [][]byte{raw(u...), raw(x...)}
	}},
	{"RoundS8", func(in *input, n int) [][]byte {
		dst, rest := guarded[int8](in.memory, n), guarded[float32](in.memory, n)
		sum := RoundS8(dst, rest, in.floats(n), 50, 0.02)
		return [][]byte{raw(sum), raw(dst...), raw(rest...)}
	}},
	{"DecodeU8", func(in *input, n int) [][]byte {
		dst := guarded[float32](in.memory, n)
		DecodeU8(dst, in.bytes(n), 0.37, 127.5)
		return [][]byte{raw(dst...)}
	}},
	{"DecodeU4", func(in *input, n int) [][]byte {
		dst := guarded[float32](in.memory, 2*n)
		DecodeU4(dst, in.bytes(n), 0.37, 7.5)
		return [][]byte{raw(dst...)}
	}},
	{"Butterfly", func(in *input, n int) [][]byte {
		a, b := in.floats(n), in.floats(n)
		Butterfly(a, b)
		return [][]byte{raw(a...), raw(b...)}
	}},
	{"Mul", func(in *input, n int) [][]byte {
		dst := guarded[float32](in.memory, n)
		Mul(dst, in.floats(n), in.floats(n))
		return [][]byte{raw(dst...)}
	}},
	{"Hadamard", func(in *input, n int) [][]byte {
		x := in.floats([]int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}[n%14])
		Hadamard(x)
		return [][]byte{raw(x...)}
	}},
}

// raw returns a copy of the bytes of x: zeros of different sign differ.
func raw[T any](x ...T) []byte {
	var zero T
	if len(x) == 0 {
		return nil
	}
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(zero))))
}

// TestPathsAgree compares each path with plain Go at every length: the same bits,
// and no access outside the arguments.
func TestPathsAgree(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, k := range differential {
		t.Run(k.name, func(t *testing.T) {
			mem := &memory{t: t}
			for n := 0; n <= maxLen; n += step {
				compare(t, mem, n, k.run)
			}
		})
	}
}

// compare runs a kernel of length n with every path on the same arguments.
func compare(t *testing.T, mem *memory, n int, run func(in *input, n int) [][]byte) {
	t.Helper()
	var want [][]byte
	for _, p := range available() {
		func() {
			defer swapPath(p)()
			in := &input{mem, rand.New(rand.NewPCG(uint64(n), 1)), n % 4}
			got := run(in, n)
			mem.check(fmt.Sprintf("%v, length %d", p, n))
			if p == generic {
				want = got
			}
			for i := range got {
				if !bytes.Equal(got[i], want[i]) {
					t.Fatalf("length %d, result %d: %v gives\n%x\nplain Go\n%x", n, i, p, got[i], want[i])
				}
			}
		}()
	}
}

// TestRequired turns a missing instruction set into a failure where SPRAT_REQUIRE_SIMD
// names a path, so that a test run on the wrong machine cannot pass unnoticed.
func TestRequired(t *testing.T) {
	want := os.Getenv("SPRAT_REQUIRE_SIMD")
	if want == "" {
		t.Skip("SPRAT_REQUIRE_SIMD is not set")
	}
	paths := available()
	for _, p := range paths {
		if p.String() == want {
			return
		}
	}
	t.Fatalf("SPRAT_REQUIRE_SIMD=%s, but this build and processor offer only %v", want, paths)
}
