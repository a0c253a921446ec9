package simd

import (
	"fmt"
	"testing"
)

// forPaths runs a benchmark with each path and reports its time by row.
func forPaths(b *testing.B, name string, rows int, run func()) {
	for _, p := range available() {
		b.Run(fmt.Sprintf("%s/%s", name, p), func(b *testing.B) {
			defer swapPath(p)()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		})
	}
}

func floats(n int, seed uint32) []float32 {
	x := make([]float32, n)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)) / (1 << 31)
	}
	return x
}

func codes(n int) []byte {
	b := make([]byte, n)
	for i, x := range floats(n, 7) {
		b[i] = byte(x * 128)
	}
	return b
}

func BenchmarkFloat(b *testing.B) {
	for _, d := range []int{128, 384, 768} {
		x, y := floats(d, 1), floats(d, 2)
		forPaths(b, fmt.Sprintf("DotF32/%d", d), 1, func() { DotF32(x, y) })
		forPaths(b, fmt.Sprintf("L2F32/%d", d), 1, func() { L2F32(x, y) })
		forPaths(b, fmt.Sprintf("L2F64/%d", d), 1, func() { L2F64(x, y) })
		forPaths(b, fmt.Sprintf("DotF64/%d", d), 1, func() { DotF64(x, y) })
		rows, dst := floats(d*256, 3), make([]float32, 256)
		forPaths(b, fmt.Sprintf("DotRowsF32/%d", d), 256, func() { DotRowsF32(dst, x, rows) })
	}
}

func BenchmarkDotU8S8(b *testing.B) {
	for _, shape := range [][2]int{{350, 128}, {10000, 128}, {10000, 384}, {350, 104}} {
		n, d := shape[0], shape[1]
		c, dst, q := codes(n*d), make([]int32, n), make([]int8, d)
		for i := range q {
			q[i] = int8(i)
		}
		forPaths(b, fmt.Sprintf("%dx%d", n, d), n, func() { DotU8S8(dst, q, c) })
	}
}

func BenchmarkDotU4S8(b *testing.B) {
	const n, half = 4000, 384
	c, dst, q := codes(n*half), make([]int32, n), make([]int8, half)
	for i := range q {
		q[i] = int8(i)
	}
	forPaths(b, fmt.Sprintf("%dx%d", n, half), n, func() { DotU4S8(dst, q, q, c) })
}

func BenchmarkDotPlanes(b *testing.B) {
	for _, shape := range [][2]int{{1, 96}, {2, 48}, {3, 32}, {4, 24}, {6, 16}, {3, 38}} {
		const n = 350
		bits, planeBytes := shape[0], shape[1]
		c, dst := codes(n*bits*planeBytes), make([]int32, n)
		q := make([]uint64, 8*((planeBytes+7)/8))
		for i := range q {
			q[i] = 0x0123456789abcdef * uint64(i+1)
		}
		forPaths(b, fmt.Sprintf("%dx%dx%d", n, bits, planeBytes), n, func() { DotPlanes(dst, q, c, bits, planeBytes) })
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, d := range []int{384, 768} {
		v, w, r, u := floats(d, 1), floats(d, 2), make([]float32, d), make([]byte, d)
		s8, planes, words := make([]int8, d), make([]byte, 8*d/8), make([]uint64, 8*d/64)
		forPaths(b, fmt.Sprintf("AbsMaxDiff/%d", d), 1, func() { AbsMaxDiff(v, w) })
		forPaths(b, fmt.Sprintf("SubScale/%d", d), 1, func() { SubScale(r, v, w, 2) })
		forPaths(b, fmt.Sprintf("FitCode/%d", d), 1, func() { FitCode(v, 100, 127) })
		forPaths(b, fmt.Sprintf("RoundCode/%d", d), 1, func() { RoundCode(u, r, v, 100, 127) })
		forPaths(b, fmt.Sprintf("PackPlanes/%dx2", d), 1, func() { PackPlanes(planes, u, 2, d/8) })
		forPaths(b, fmt.Sprintf("PackQuery/%d", d), 1, func() { PackQuery(words, s8) })
		forPaths(b, fmt.Sprintf("RoundS8/%d", d), 1, func() { RoundS8(s8, r, v, 100, 0.01) })
		forPaths(b, fmt.Sprintf("DecodeU8/%d", d), 1, func() { DecodeU8(r, u, 0.1, 127.5) })
		forPaths(b, fmt.Sprintf("DecodeU4/%d", d), 1, func() { DecodeU4(r, u[:d/2], 0.1, 7.5) })
	}
}

func BenchmarkCombine(b *testing.B) {
	const n = 350
	add, mul, dst := floats(n, 1), floats(n, 2), make([]float32, n)
	hi, lo := make([]int32, n), make([]int32, n)
	forPaths(b, fmt.Sprint(n), n, func() { Combine(dst, hi, lo, add, mul, Combination{}) })
}

func BenchmarkHadamard(b *testing.B) {
	for _, d := range []int{64, 512, 4096} {
		x := make([]float32, d)
		forPaths(b, fmt.Sprint(d), 1, func() { Hadamard(x) })
		forPaths(b, fmt.Sprintf("Butterfly/%d", d), 1, func() { Butterfly(x[:d/2], x[d/2:]) })
		forPaths(b, fmt.Sprintf("Mul/%d", d), 1, func() { Mul(x, x, x) })
	}
}
