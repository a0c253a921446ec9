// Package filter owns metadata documents and the filters over them: what a
// document may hold (ParseDocument), the filter language of S3 Vectors (Parse),
// and whether a document matches a filter (Filter.Match).
//
// # Evaluated over the text
//
// A filter is compiled once and matched against the bytes of a document as they
// are stored: JSON text, as it was given. There is no binary form beside it, since
//
//   - a document must be returned as it came, so the text is kept in any case, and
//     a second form would cost its bytes in every record and every cache;
//   - a filterable document is at most 2 KiB, and reading a JSON text once, with no
//     tree and no allocation, takes less than the read that brought it (0.2 µs for
//     115 bytes, BenchmarkMatch);
//   - stores written before there were filters hold text, and are filtered alike.
//
// # The language
//
//	filter  := { entry, ... }      strict: exactly one; else all must hold, {} matches all
//	entry   := "$and" | "$or" : [ filter, ... ]              at least one
//	         | field : scalar                                 short for {"$eq": scalar}
//	         | field : { operator: operand, ... }             at least one; all must hold
//	scalar  := string | number | boolean
//
//	| operator              | operand           | holds for                                          |
//	|-----------------------|-------------------|----------------------------------------------------|
//	| $eq                   | scalar            | the value, or any element of a list, equal         |
//	| $ne                   | scalar            | whatever $eq does not hold for, a missing field too|
//	| $gt $gte $lt $lte     | number            | a number; no list                                  |
//	| $in                   | list of scalars   | the value or any element equal to any operand      |
//	| $nin                  | list of scalars   | whatever $in does not hold for                     |
//	| $exists               | boolean           | the field being there, or not                      |
//	| $startsWith           | string            | a string, or any string of a list                  |
//
// Types are never converted: "1" is not 1, "true" is not true. Numbers are compared
// as float64, strings byte by byte. A field whose name begins with $ cannot be
// named. A value that no document of ParseDocument has (null, an object) is there,
// and equal to nothing. Where a text names a field twice, the last counts.
//
// # Promises
//
// Parse and ParseDocument refuse malformed JSON, invalid UTF-8 and lone surrogates.
// Match allocates nothing but for a number beyond float64, and never matches what
// is not a JSON object. A Filter is immutable and safe for concurrent use.
//
// Filter.Root shows the compiled conditions to a planner that has an index of the
// values (Values) and wants to know which documents can match without reading them.
//
// May import: nothing of sprat
package filter
