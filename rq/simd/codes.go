package simd

// DotU8S8 sets dst[i] = Σ codes[i][j]·q[j] for unsigned byte codes
// [len(dst)][len(q)] and a signed query. The sum is exact for any length up to
// 65,536.
func DotU8S8(dst []int32, q []int8, codes []byte) {
	dotU8S8(dst, q, first(codes, len(dst)*len(q)))
}

// DotU4S8 is DotU8S8 for two 4-bit codes a byte: codes [len(dst)][len(qlo)],
// dst[i] = Σ (b&15)·qlo[j] + (b>>4)·qhi[j] over the bytes b of row i. qlo and
// qhi have the same length.
func DotU4S8(dst []int32, qlo, qhi []int8, codes []byte) {
	dotU4S8(dst, qlo, first(qhi, len(qlo)), first(codes, len(dst)*len(qlo)))
}

// DotPlanes is the dot product of codes kept as bit planes with an int8 query
// kept the same way: dst[i] = Σ_p 2^p Σ_j bit p of code[j] · q[j].
//
// codes is [len(dst)][bits][planeBytes]: plane 0 first, the least significant;
// bit j of a plane (least significant bit of a byte first) is dimension j.
// q holds 8 planes of ceil(planeBytes/8) words of the two's-complement query:
// plane 7 weighs -128, bits past the last dimension are zero.
// bits is 1..8; the sum is exact for planes up to 4 KiB.
func DotPlanes(dst []int32, q []uint64, codes []byte, bits, planeBytes int) {
	q = first(q, 8*((planeBytes+7)/8))
	dotPlanes(dst, q, first(codes, len(dst)*bits*planeBytes), bits, planeBytes)
}

// PackQuery splits a query into the 8 planes that [DotPlanes] takes: bit p of the
// two's complement of q[j] becomes bit j%64 of the word dst[p·w+j/64], with
// w = ceil(len(q)/64) and len(dst) = 8·w; the bits past the last are zero.
func PackQuery(dst []uint64, q []int8) {
	packQuery(first(dst, 8*((len(q)+63)/64)), q)
}

// PackPlanes splits byte codes into bit planes: bit p of u[j] becomes bit j (least
// significant first) of the plane dst[p*stride:], for p < bits. Each plane takes
// ceil(len(u)/8) bytes, with zeros past the last code; stride is at least that,
// and the bytes between are left alone.
func PackPlanes(dst, u []byte, bits, stride int) {
	if bits == 0 || len(u) == 0 {
		return
	}
	packPlanes(first(dst, (bits-1)*stride+(len(u)+7)/8), u, bits, stride)
}
