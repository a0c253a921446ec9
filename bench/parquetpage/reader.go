package parquetpage

import (
	"fmt"
	"io"
	"math/bits"
)

// Kind is the type of the values of a column.
type Kind uint8

// The kinds that are read.
const (
	Float Kind = iota + 1
	Double
	Int32
	Int64
	Text // byte array
)

// size is the number of bytes of a value, 0 for Text.
func (k Kind) size() int { return [...]int{0, 4, 8, 4, 8, 0}[k] }

// Column is one column of one row group, as the footer describes it.
type Column struct {
	// Start and End delimit its pages, in bytes from the start of the file.
	Start, End int64
	// Codec is how they are compressed.
	Codec Codec
	// Kind is the type of its values.
	Kind Kind
	// MaxRep and MaxDef are its greatest repetition and definition level, 0 to 255.
	MaxRep, MaxDef int
	// Limit is what all pages may expand to, in bytes and in values.
	Limit int64
}

// Page is a decoded data page. Its slices are valid until the next page is read.
type Page struct {
	// N is the number of entries, missing values included.
	N int
	// Rep and Def hold the levels of each entry, [N]. Rep is nil when the column's
	// MaxRep is 0, and Def when its MaxDef is.
	Rep, Def []byte
	// Raw holds the values that are present, little endian, back to back; nil for
	// Text.
	Raw []byte
	// Texts holds the values that are present of a column of Text, else nil.
	Texts [][]byte
}

// Reader streams the data pages of one column after another. It is not safe for use
// by several goroutines at once.
type Reader struct {
	at     io.ReaderAt
	col    Column
	off    int64 // of the next page
	bytes  int64 // that pages may still expand to
	values int64 // that they may still hold
	expand expander
	page   Page

	hasDict   bool
	dictBytes []byte // of the dictionary page
	dict      Page   // its values; Raw and Texts refer to dictBytes

	// Memory that is used again for each page.
	stored, expanded, raw []byte
	rep, def              []byte
	index                 []uint32
	ints                  []int64
	texts                 [][]byte
}

// NewReader makes a reader over a file of any size. Reset must be called before
// Next.
func NewReader(at io.ReaderAt) *Reader { return &Reader{at: at} }

// Reset begins a column. The file holds all bytes up to col.End.
func (r *Reader) Reset(col Column) error {
	if col.Start < 0 || col.End < col.Start {
		return fault(col.Start, "a column chunk within the file", fmt.Sprintf("one that ends at %d", col.End))
	}
	if !col.Codec.known() {
		return fault(col.Start, "codec 0, 1, 2 or 6 (none, snappy, gzip, zstd)", int(col.Codec))
	}
	if col.Kind < Float || col.Kind > Text || max(col.MaxRep, col.MaxDef) > 255 {
		return fault(col.Start, "numbers or texts, of levels up to 255", fmt.Sprintf("kind %d, levels up to %d", col.Kind, max(col.MaxRep, col.MaxDef)))
	}
	r.col, r.off, r.bytes, r.values, r.hasDict = col, col.Start, col.Limit, col.Limit, false
	return nil
}

// Close releases what the codecs hold. Next must not be called afterwards.
func (r *Reader) Close() { r.expand.close() }

// Next decodes the next data page, or returns io.EOF at the end of the column. Any
// other error is an [*Error] or one of the file.
func (r *Reader) Next() (*Page, error) {
	for r.off < r.col.End {
		h, n, err := readHeader(r.at, r.off, r.col.End)
		if err != nil {
			return nil, err
		}
		start := r.off + n
		if err := r.admit(h, start); err != nil {
			return nil, err
		}
		r.off = start + h.stored
		r.stored = grow(r.stored, int(h.stored))
		if err := readAt(r.at, r.stored, start); err != nil {
			return nil, err
		}
		switch h.typ {
		case pageDictionary:
			err = r.dictionary(h)
		case pageData, pageDataV2:
			if err = r.data(h); err == nil {
				return &r.page, nil
			}
		default:
			continue // of types that hold no values, such as indexes
		}
		if err != nil {
			return nil, &Error{Offset: start, Want: fmt.Sprintf("a page of %d values", h.values), Got: "another", Err: err}
		}
	}
	return nil, io.EOF
}

// admit checks a header against the chunk and against what is left of the limits.
func (r *Reader) admit(h pageHeader, start int64) error {
	if h.stored < 0 || h.stored > r.col.End-start {
		return fault(start, fmt.Sprintf("a page of at most %d bytes", r.col.End-start), h.stored)
	}
	if h.expanded < 0 || h.expanded > r.bytes || h.values < 0 || h.values > r.values {
		return fault(start, fmt.Sprintf("pages of at most %d bytes and values in all", r.col.Limit),
			fmt.Sprintf("one of %d bytes and %d values", h.expanded, h.values))
	}
	r.bytes -= h.expanded
	r.values -= h.values
	return nil
}

// dictionary keeps the values of a dictionary page.
func (r *Reader) dictionary(h pageHeader) error {
	if r.hasDict {
		return fmt.Errorf("second dictionary of a column")
	}
	r.dictBytes = grow(r.dictBytes, int(h.expanded))
	if err := r.expand.expand(r.col.Codec, r.dictBytes, r.stored); err != nil {
		return err
	}
	// Writers of old call it PLAIN_DICTIONARY here too.
	if h.encoding != encPlain && h.encoding != encPlainDictionary {
		return encodingError(h.encoding)
	}
	r.dict = Page{N: int(h.values)}
	var err error
	if r.col.Kind == Text {
		r.dict.Texts, err = plainTexts(nil, r.dict.N, r.dictBytes)
	} else {
		r.dict.Raw, err = plainRaw(r.dictBytes, r.dict.N, r.col.Kind.size())
	}
	r.hasDict = err == nil
	return err
}

// data decodes a data page into r.page.
func (r *Reader) data(h pageHeader) error {
	r.page = Page{N: int(h.values)}
	r.expanded = grow(r.expanded, int(h.expanded))
	var body []byte
	var err error
	if h.typ == pageData {
		if err := r.expand.expand(r.col.Codec, r.expanded, r.stored); err != nil {
			return err
		}
		body, err = r.levelsV1(h)
	} else {
		body, err = r.levelsV2(h)
	}
	if err != nil {
		return err
	}
	present := r.page.N
	for _, d := range r.page.Def {
		if int(d) != r.col.MaxDef {
			present--
		}
	}
	return r.decode(h.encoding, body, present)
}

// levelsV1 reads the levels at the start of the expanded payload and returns the
// rest.
func (r *Reader) levelsV1(h pageHeader) (body []byte, err error) {
	if r.col.MaxRep > 0 && h.repLevel != encHybrid || r.col.MaxDef > 0 && h.defLevel != encHybrid {
		return nil, fmt.Errorf("levels of encodings %d and %d, of which only %d is read", h.repLevel, h.defLevel, encHybrid)
	}
	body = r.expanded
	if r.col.MaxRep > 0 {
		r.rep = grow(r.rep, r.page.N)
		if body, err = prefixedLevels(r.rep, body, r.col.MaxRep); err != nil {
			return nil, err
		}
		r.page.Rep = r.rep
	}
	if r.col.MaxDef > 0 {
		r.def = grow(r.def, r.page.N)
		if body, err = prefixedLevels(r.def, body, r.col.MaxDef); err != nil {
			return nil, err
		}
		r.page.Def = r.def
	}
	return body, nil
}

// levelsV2 reads the levels at the start of the stored payload and expands the
// rest.
func (r *Reader) levelsV2(h pageHeader) ([]byte, error) {
	levels := h.repBytes + h.defBytes
	if h.repBytes < 0 || h.defBytes < 0 || levels > h.stored || levels > h.expanded {
		return nil, errShort
	}
	if r.col.MaxRep > 0 {
		r.rep = grow(r.rep, r.page.N)
		if err := fillLevels(r.rep, r.stored[:h.repBytes], r.col.MaxRep); err != nil {
			return nil, err
		}
		r.page.Rep = r.rep
	}
	if r.col.MaxDef > 0 {
		r.def = grow(r.def, r.page.N)
		if err := fillLevels(r.def, r.stored[h.repBytes:levels], r.col.MaxDef); err != nil {
			return nil, err
		}
		r.page.Def = r.def
	}
	codec, body := r.col.Codec, r.expanded[:h.expanded-levels]
	if h.plain || len(body) == 0 && levels == h.stored {
		codec = None
	}
	return body, r.expand.expand(codec, body, r.stored[levels:])
}

// prefixedLevels reads levels behind their length and returns what follows them.
func prefixedLevels(dst, src []byte, most int) ([]byte, error) {
	levels, rest, err := prefixed(src)
	if err != nil {
		return nil, err
	}
	return rest, fillLevels(dst, levels, most)
}

// fillLevels decodes levels of at most most.
func fillLevels(dst, src []byte, most int) error {
	if err := hybrid(dst, src, bits.Len(uint(most))); err != nil {
		return err
	}
	for _, l := range dst {
		if int(l) > most {
			return errLevel
		}
	}
	return nil
}

// grow returns b with length n, with the same memory if it is enough.
func grow[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
