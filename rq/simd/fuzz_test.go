package simd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// FuzzPaths compares the integer kernels of all paths on arbitrary bytes and shapes.
func FuzzPaths(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef"), uint8(2), uint8(16))
	f.Add([]byte{255, 0, 255}, uint8(1), uint8(1))
	f.Add(make([]byte, 13*7*5), uint8(7), uint8(13))
	f.Fuzz(func(t *testing.T, codes []byte, width, rowBytes uint8) {
		bits, planeBytes := 1+int(width%8), 1+int(rowBytes)
		n := len(codes) / (bits * planeBytes)
		r := rand.New(rand.NewPCG(uint64(len(codes)), uint64(rowBytes)))
		planes, q := make([]uint64, 8*((planeBytes+7)/8)), make([]int8, bits*planeBytes)
		wide := make([]int8, 8*planeBytes)
		for _, s := range [][]int8{q, wide} {
			for i := range s {
				s[i] = int8(r.IntN(255) - 127)
			}
		}
		PackQuery(planes, wide)
		codes = codes[:n*bits*planeBytes]
		var want [3][]int32
		for _, p := range available() {
			var got [3][]int32
			for i := range got {
				got[i] = make([]int32, n)
			}
			undo := swapPath(p)
			DotPlanes(got[0], planes, codes, bits, planeBytes)
			DotU8S8(got[1], q, codes)
			DotU4S8(got[2], q, q, codes)
			undo()
			if p == generic {
				want = got
			}
			for i := range got {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("kernel %d on %v: %v, plain Go %v", i, p, got[i], want[i])
				}
			}
		}
	})
}
