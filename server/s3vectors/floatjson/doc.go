// Package floatjson reads and writes the JSON of requests and answers that are made
// mostly of arrays of float32.
//
// # Reading
//
// A Scanner walks over one JSON text in memory without building a tree: the caller
// says what it expects next and takes it. It is strict (RFC 8259): no bare NaN or
// Infinity, no comments, no trailing commas, no control characters in strings, valid
// UTF-8 only, and no half of a surrogate pair, which encoding/json would replace in
// silence. Values that the caller skips are held to the same rules.
//
// Numbers become the float32 nearest to the decimal that is written, ties to even,
// in one rounding: not by way of a float64, which rounds twice. The common case of
// at most 19 digits takes one multiplication or division; what that cannot decide
// goes to strconv. Values beyond the range of float32 become infinite, values below
// it subnormal or zero; -0 keeps its sign. The strings "NaN", "Infinity" and
// "-Infinity", as AWS clients send them, are read as what they say. It is the
// caller's to refuse what is not finite.
//
// # Writing
//
// AppendFloat32 and AppendWide write a float32 such that every reader gets the same
// bits back: the former with the fewest digits that name the float32 (0.4), the
// latter with those that name it as a float64 (0.4000000059604645), which is what
// Amazon S3 Vectors sends. Whole numbers keep a ".0", so that dynamic languages see
// a float, and -0 its sign.
//
// # Concurrency
//
// A Scanner belongs to one goroutine; functions are safe for concurrent use.
//
// May import: nothing of sprat
package floatjson
