// Package filterindex says which slots of an index hold documents that match a
// filter, from an inverted index of the documents' values. It owns the form of the
// rows, what rows a document has (Terms), and how a filter becomes a set of slots
// (Evaluate). Where rows are kept is the caller's affair.
//
// # Rows
//
// A row stands for one term and one chunk of ChunkSlots neighbouring slots, and
// holds the slots of the chunk whose documents have the term. Its key is the term,
// then the number of the chunk (4 bytes, big endian). No term is the beginning of
// another one. A term is a field, a type and a value:
//
//	| field                   | bytes                                           |
//	|-------------------------|-------------------------------------------------|
//	| of up to 128 bytes      | 0x01, name, end                                 |
//	| longer                  | 0x02, SHA-256 of the name                       |
//	| irregular documents     | 0x00, and nothing more: no type, no value       |
//
//	| type                    | bytes                                           |
//	|-------------------------|-------------------------------------------------|
//	| the field is there      | 0x00                                            |
//	| boolean                 | 0x01, 0x00 or 0x01                              |
//	| string of up to 64 bytes| 0x02, string, end                               |
//	| longer                  | 0x02, first 64 bytes, cut, SHA-256 of the whole |
//	| number in a list        | 0x03, number (8)                                |
//	| number, its interval    | 0x10, 0x11, 0x12: 16, 22, 28 bits of it (8)     |
//	| number                  | 0x20, 0x21, 0x22, 0x23, number (8)              |
//
// In names and strings 0x00 is 0x00 0xff; end is 0x00 0x01, cut 0x00 0x02. Numbers
// are float64 in an order-preserving form, big endian. A value begins with a byte
// for its form:
//
//	| form | rest                                  |
//	|------|---------------------------------------|
//	| 0x01 | slots within the chunk, 2 bytes each, ascending, little endian |
//	| 0x02 | a bit for each slot of the chunk, 1,024 bytes                   |
//
// Chunks are small because a commit of a few hundred vectors touches the rows of
// frequent values in most chunks, and writes each of them anew: 8,192 slots bound a
// row at 1 KiB, where 65,536 would bound it at 8 KiB. Sets that have been read are
// roaring bitmaps.
//
// # Numbers
//
// A range over numbers that hardly ever repeat, like times, would read a row for
// each. So a number is also in the intervals of all numbers that share its first 16,
// 22 and 28 bits (sign, exponent, and 4, 10 and 16 bits of the fraction), unless the
// other bits are zero: then its own row stands in for the finer intervals. Type
// 0x20 + i is a number whose bits beyond those of interval i are zero. A range is a
// few intervals, and rows of numbers at its two ends.
//
// # Irregular documents
//
// A document with more than MaxTerms terms has one row only, that of irregular
// documents: they are in every set, and their text decides.
//
// # Promises
//
// A Set holds every slot whose document matches; when it is Exact, and no document
// is irregular, no other live slot is in it. A Sorter is safe for concurrent Add;
// everything else belongs to one goroutine, but Sets may be shared when no one
// changes them.
//
// May import: internal/filter
package filterindex
