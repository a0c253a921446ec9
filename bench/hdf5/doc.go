// Package hdf5 reads two-dimensional data sets of numbers from HDF5 files, as the
// vector sets of ann-benchmarks are published, row by row and without cgo.
//
// # What it reads
//
// The path from the first byte to a row, and what is understood on it:
//
//	superblock     versions 0 to 3, at the start of the file, 8-byte offsets and lengths
//	root group     symbol table (B-tree version 1, local heap) or compact links
//	object header  versions 1 and 2, with continuations
//	dataspace      two dimensions
//	datatype       little-endian IEEE floats of 2, 4, 8 bytes; integers int8 to int64, uint8
//	layout         versions 3 to 5: compact, contiguous, chunked
//	chunk index    B-tree version 1, single chunk, implicit, fixed array
//	filters        shuffle, deflate
//
// Everything else (dense groups, growing dimensions in the latest format, other
// filters, big endian, compound types, data stored in other files) is refused with
// an [*Error] that says so, as is any file that contradicts itself. Chunks that
// were never written are refused too, not read as fill values. The checksums of
// version 2 structures are verified; the format has none for the values.
//
// # Limits
//
// Nothing is allocated on the word of a header alone: blocks lie within the file;
// all structures read on the way to one data set are together no longer than the
// file is, since those of a sound file do not overlap (which ends every loop); and
// a chunk expands at most as far as deflate can compress. One row of chunks is in
// memory at a time.
//
// The format is specified in "HDF5 File Format Specification", version 3.0.
//
// May import: nothing of sprat
package hdf5
