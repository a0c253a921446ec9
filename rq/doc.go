// Package rq is rotational quantization: vectors are rotated at random, kept in 1 to
// 8 bits a dimension, and compared with a query by an unbiased estimate of the
// squared Euclidean distance whose error is known.
//
// It owns the rotation, the codes with their factors, the estimates and the codes of
// centroids. It does no input or output, starts no goroutine and keeps no state
// between calls but what the caller passes. All its loops over vectors are in
// rq/simd, which gives the same bits on every machine; so does this package.
//
// May import: rq/simd
//
// # Vocabulary
//
// A vector has d components ([Rotation.Dim], 1..4,097). Rotated it has D
// ([Rotation.D]), d rounded up to a multiple of 8. Everything but [Rotation.Apply]
// takes rotated vectors. A center is what a vector is encoded relative to: the
// centroid of a posting, or the origin.
//
// # From paper to code
//
// Papers: Gao and Long, "RaBitQ: Quantizing High-Dimensional Vectors with a
// Theoretical Error Bound for Approximate Nearest Neighbor Search", SIGMOD 2024; and
// Gao et al., "Practical and Asymptotically Optimal Quantization of High-Dimensional
// Vectors in Euclidean Space for Approximate Nearest Neighbor Search", SIGMOD 2025,
// which goes from one bit to B ("Extended RaBitQ").
//
//	paper      here             meaning
//	P          Rotation         random orthogonal matrix
//	o_r, c     v, center        vector and center, both rotated
//	o_r - c    r                residual
//	q_r        Query            query, rotated
//	x_u, ō     u, x             code as unsigned integers u_i, and as x_i = u_i - (2^B-1)/2
//	<ō,o>      f                cosine of x and r
//	ε_0        eps              width of the bound in standard deviations: the caller's
//
// The estimate of <r,q-c> is ||r||²·<x,q-c>/<x,r>. It is unbiased over the rotation,
// with variance ||r||²·||q-c||²·(1/f²-1)/(D-1) at most. Written out for the distance,
// with qc2 = ||q-c||²:
//
//	||q-v||² ≈ Add + qc2 + Rescale·<x,q>
//	Rescale  = -2·||r||²/<x,r>
//	Add      = ||r||² + 2·||r||²·<x,c>/<x,r>
//	Error    = 2·||r||·sqrt((1/f²-1)/(D-1))     one standard deviation at qc2 = 1
//
// Departures from the papers, and why:
//
//   - The rotation is a walk of random signs, Hadamard transforms and 45-degree turns
//     in D·log D steps, not a dense matrix; see [Rotation].
//   - The query is quantized once, not relative to each center: <x,c> is part of Add.
//   - The query is rounded to the nearest of 255 steps (and each remainder to 255
//     finer ones) instead of at random to 4 bits. Its error then counts for less than
//     2 % of the variance; [Coder.Estimate] takes the remainders in where it would not.
//   - The code is the best of 16 scales instead of the best of all. The variance is
//     within 2 % of the optimum.
//   - 1/(D-1) and the measured cosine of each vector stand for the constants of the
//     bound, and eps is left to the caller: 1.5 is meant where a paper has ε_0 = 1.9.
//   - A vector equal to its center has factors 0 and is exact.
//
// # Byte layout
//
// Codes of B < 8 bits are bit planes, which a popcount kernel reads as they are. Codes
// of 8 bits are bytes, for byte multiplication.
//
//	Coder, B < 8       offset      bytes   content
//	  plane 0          0           D/8     bit 0 of each u_i, the least significant
//	  plane p          p·D/8       D/8     bit p of each u_i; bit i%8 of byte i/8 is dimension i
//	Coder, B = 8       0           D       u_i
//
//	CentroidCoder      offset      bytes   content
//	  scale            0           4       float32, little endian; absent in the "Parts" form
//	  B = 8            4           D       u_i
//	  B = 4            4           D/2     u_i in the low, u_(i+D/2) in the high half of byte i
//
// Factors are stored by the packages that store codes; Error may be kept as a bfloat16
// that is rounded up ([PutBF16Up]).
//
// # Range
//
// Results are finite for components up to 1e18. Squared lengths above 8e37 saturate,
// and those below 1e-38 lose digits as float32 does.
package rq
