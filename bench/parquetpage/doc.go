// Package parquetpage reads the pages of Parquet columns with memory bounded by the
// size of the file.
//
// The library that parses the schema of a file for package bench (parquet-go) also
// reads pages, but allocates whatever a page or a codec's stream claims, which a
// damaged file can raise until the process dies. This package decodes the values
// itself, and checks the footer before that library sees it.
//
// # What it reads
//
//	footer      compact Thrift, walked but not interpreted: [CheckFooter]
//	pages       data pages of versions 1 and 2, one dictionary page before them
//	codecs      none, snappy, gzip, zstd
//	values      float, double, int32, int64, byte arrays
//	encodings   plain, dictionary, byte stream split, delta binary packed, delta length
//	levels      RLE and bit-packed hybrid, levels up to 255
//
// Everything else is refused with an [*Error] that names it. A column chunk is a
// run of pages, each a header in compact Thrift and a payload:
//
//	version 1   codec( length u32 | repetition levels | length u32 | definition levels | values )
//	version 2   repetition levels | definition levels | codec( values )
//	dictionary  codec( values, plain )
//
// Levels that can only be 0 are left out, with their length. A value is present
// where the definition level is the greatest; only those are stored.
//
// # Limits
//
// All pages of a column chunk together expand to at most Column.Limit bytes and
// hold at most as many values, whatever they claim: a chunk is read page by page,
// and a page that exceeds what is left is refused before it is expanded.
//
// The format is specified in the repository apache/parquet-format.
//
// May import: nothing of sprat
package parquetpage
