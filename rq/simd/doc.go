// Package simd holds the arithmetic inner loops of rotational quantization and of
// exact distances, and all assembly of the module.
//
// It knows nothing of codes or estimators: each function is a loop over slices that
// the caller allocates. It writes only its dst (and what its comment names), keeps no
// reference, allocates nothing and may be called from any goroutine.
//
// May import: nothing of sprat
//
// # Layouts
//
// What the papers of rq call a code reaches the kernels in one of three forms. Rows
// stand one behind the other without gaps; there is no alignment to keep.
//
//	kernel      bytes of a row     content
//	DotU8S8     D                  byte j is the unsigned code of dimension j
//	DotU4S8     D/2                byte j holds dimension j (low half) and j+D/2 (high half)
//	DotPlanes   bits·D/8           plane p, at p·D/8, is bit p of all codes: bit j%8 of its byte j/8
//
//	query       elements           content
//	bytes       D int8             -127..127
//	planes      8·ceil(D/64) words  the same in two's complement: word p·ceil(D/64)+j/64, bit j%64,
//	                               is bit p of dimension j; plane 7 weighs -128
//
// # Same bits everywhere
//
// Every kernel exists three times: in plain Go (x_generic.go, the specification), with
// AVX2, and with AVX-512. All three give identical bits for finite input, the
// floating-point kernels too: a sum runs over a fixed number of strided lanes (element
// i belongs to lane i mod 32, or i mod 8 in float64), the lanes are folded by halves
// (lane j += lane j+16, then j+8, ...), and no multiply is fused with an add. So
// training, encoding and search give the same answer on any machine, and the tests
// demand equality, not tolerance.
//
// # Dispatch
//
// The path is chosen once, at start, from what the processor offers: "avx512" (F, BW,
// DQ, VL, VNNI and BITALG together: Ice Lake, Zen 4 and later), else "avx2", else
// "generic". The environment variable SPRAT_SIMD=generic|avx2|avx512 lowers it; where
// the processor lacks the path asked for, the next lower one is taken, and [Features]
// tells. The build tag noasm leaves only plain Go, as does any architecture but amd64.
//
// SPRAT_REQUIRE_SIMD=avx512 makes the tests fail, instead of testing less, on a machine
// that lacks that path.
//
// # Assembly
//
// The files x_avx2_amd64.s and x_avx512_amd64.s are written by the module in _gen,
// which has its own go.mod so that users never see the generator:
//
//	go generate ./rq/simd
//
// # Errors
//
// Lengths that do not fit together are a mistake of the program and panic like an index
// out of range, before any element is touched.
package simd

//go:generate go -C _gen run .
