package bench

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// fileFormat is a file format, as told by content or name.
type fileFormat uint8

const (
	formatUnknown fileFormat = iota
	formatBin
	formatVecs
	formatNpy
	formatHDF5
	formatParquet
	formatJSONL
)

// extensions maps the lower-case ending of a name to format and element.
var extensions = map[string]struct {
	format fileFormat
	elem   element
}{
	".fbin":    {formatBin, elemF32},
	".f16bin":  {formatBin, elemF16},
	".u8bin":   {formatBin, elemU8},
	".i8bin":   {formatBin, elemI8},
	".ibin":    {formatBin, elemI32},
	".fvecs":   {formatVecs, elemF32},
	".bvecs":   {formatVecs, elemU8},
	".ivecs":   {formatVecs, elemI32},
	".npy":     {formatNpy, elemF32},
	".hdf5":    {formatHDF5, elemF32},
	".h5":      {formatHDF5, elemF32},
	".parquet": {formatParquet, elemF32},
	".jsonl":   {formatJSONL, elemF32},
	".ndjson":  {formatJSONL, elemF32},
}

const (
	magicHDF5    = "\x89HDF\r\n\x1a\n"
	magicNpy     = "\x93NUMPY"
	magicParquet = "PAR1"
)

// Open opens a data set with default [Options].
//
// Rows of .jsonl are objects with the vector in "vector", "values" or (as S3
// Vectors has it) "data":{"float32":[...]}, optionally the key in "key" or "id"
// (text, or a number, whose digits are the key) and an object in "metadata"; or
// bare arrays of numbers. Other fields are skipped.
//
// Only .jsonl and .parquet carry keys and metadata. A malformed file gives a
// [*FormatError], here or from [Reader.Next].
func Open(path string) (Reader, error) { return OpenOptions(path, Options{}) }

// OpenOptions is [Open] with options.
func OpenOptions(path string, o Options) (Reader, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(src, o.withDefaults())
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return r, nil
}

// newReader opens src as whatever it is. The source is the reader's when there is
// no error, and still the caller's when there is.
func newReader(src *source, o Options) (Reader, error) {
	f, elem, err := detect(src)
	if err != nil {
		return nil, err
	}
	switch f {
	case formatParquet:
		return openParquet(src, o)
	case formatJSONL:
		return openJSONL(src, o)
	}
	raw, err := openRaw(src, f, elem, o)
	if err != nil {
		return nil, err
	}
	return newFloatReader(src.path, raw), nil
}

// openRaw opens one of the binary row formats.
func openRaw(src *source, f fileFormat, elem element, o Options) (rawRows, error) {
	switch f {
	case formatBin:
		return openBin(src, elem, o)
	case formatVecs:
		return openVecs(src, elem, o)
	case formatNpy:
		return openNpy(src, o)
	case formatHDF5:
		return openHDF5(src, o)
	}
	return nil, src.fault(0, "a binary file of rows (.fbin, .fvecs, .npy or .hdf5 families)", "another format")
}

// detect tells the format of src: by its first bytes, else by its name.
func detect(src *source) (fileFormat, element, error) {
	if src.size == 0 {
		return 0, 0, src.fault(0, "a data file", "an empty file")
	}
	head, err := src.buf.Peek(int(min(src.size, 8)))
	if err != nil {
		return 0, 0, fmt.Errorf("bench: %s: read at offset 0: %w", src.path, notEOF(err))
	}
	switch {
	case bytes.HasPrefix(head, []byte(magicHDF5)):
		return formatHDF5, 0, nil
	case bytes.HasPrefix(head, []byte(magicNpy)):
		return formatNpy, 0, nil
	case bytes.HasPrefix(head, []byte(magicParquet)):
		return formatParquet, 0, nil
	case looksLikeJSON(head):
		return formatJSONL, 0, nil
	}
	ext := strings.ToLower(filepath.Ext(src.path))
	if e, ok := extensions[ext]; ok {
		return e.format, e.elem, nil
	}
	return 0, 0, fmt.Errorf("bench: %s: %w: neither its first bytes nor the name ending %q tell",
		src.path, ErrUnknownFormat, ext)
}

// looksLikeJSON tells whether head, the first bytes of a file, begins an object or
// an array. It never holds for a sound file of the headerless families: those start
// with small little-endian numbers, which have a zero byte among the first eight.
func looksLikeJSON(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(utf8BOM)), " \t\r\n")
	return len(head) > 0 && (head[0] == '{' || head[0] == '[')
}
