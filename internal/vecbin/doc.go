// Package vecbin reads and writes the small matrices of real vectors that are
// compiled into sprat: the demonstration set (internal/demodata) and the test
// sets (internal/realdata).
//
// It owns one format and the conversion between float32 and IEEE 754 half
// precision that the format needs. It is not an input format of sprat: readers
// for user files are in package bench.
//
// # Format
//
// A matrix is a gzip stream. Its content, little endian throughout:
//
//	| offset | bytes           | field                                        |
//	|--------|-----------------|----------------------------------------------|
//	| 0      | 4               | rows, uint32, at most MaxRows                |
//	| 4      | 4               | dim, uint32, 1..MaxDim                       |
//	| 8      | rows*dim*width  | elements, row after row                      |
//
// width is 2 for HalfFloat (IEEE 754 binary16) and 1 for Byte (unsigned). The
// element type is not stored: as with the .f16bin and .u8bin files of vector
// benchmarks, the name of the file tells it. The content ends exactly after the
// last element; gzip's own CRC-32 guards the bytes.
//
// Half precision is chosen because it halves the repository's data while its
// rounding, 2^-11 relative, stays well below the gaps between neighbours in the
// sets that use it. Ground truth is computed from the stored values, so the
// rounding never shows as a loss of recall.
//
// May import: nothing of sprat
package vecbin
