package parquetpage

import (
	"errors"
	"io"
)

// pageType is the kind of a page, by its number in the format.
type pageType int64

const (
	pageData       pageType = 0
	pageDictionary pageType = 2
	pageDataV2     pageType = 3
)

// pageHeader is what this package needs of a page's header.
type pageHeader struct {
	typ      pageType
	expanded int64 // payload without compression
	stored   int64 // payload as it is in the file
	values   int64 // missing ones included
	encoding int64
	defLevel int64 // version 1: encoding of the definition levels
	repLevel int64 // version 1: encoding of the repetition levels
	repBytes int64 // version 2: of the repetition levels
	defBytes int64 // version 2: of the definition levels
	plain    bool  // version 2: values are not compressed whatever the column's codec
}

// Field numbers of the Thrift structure PageHeader, and of the structures for each
// type of page in it.
const (
	fieldType       = 1
	fieldExpanded   = 2
	fieldStored     = 3
	fieldDataV1     = 5
	fieldDictionary = 7
	fieldDataV2     = 8

	fieldValues       = 1 // in all three
	fieldEncoding     = 2 // in data version 1 and dictionary
	fieldDefLevel     = 3 // in data version 1
	fieldRepLevel     = 4 // in data version 1
	fieldEncodingV2   = 4
	fieldDefBytes     = 5
	fieldRepBytes     = 6
	fieldIsCompressed = 7
)

// readHeader reads the header that starts at off and ends before end. It returns
// the header's length.
func readHeader(at io.ReaderAt, off, end int64) (pageHeader, int64, error) {
	// Most are below 100 bytes; statistics of long texts can make them longer.
	for n := int64(256); ; n *= 16 {
		n = min(n, end-off)
		t := thriftReader{b: make([]byte, n)}
		if err := readAt(at, t.b, off); err != nil {
			return pageHeader{}, 0, err
		}
		h, err := t.pageHeader()
		if err == nil {
			return h, int64(t.pos), nil
		}
		if !errors.Is(err, errThriftShort) || n == end-off {
			return h, 0, &Error{Offset: off + int64(t.pos), Want: "a page header in compact Thrift", Got: "another", Err: err}
		}
	}
}

// pageHeader parses the structure at the reader's position.
func (r *thriftReader) pageHeader() (h pageHeader, err error) {
	err = r.structure(0, func(id int64, typ byte) (bool, error) {
		switch id {
		case fieldType:
			return r.number((*int64)(&h.typ), typ)
		case fieldExpanded:
			return r.number(&h.expanded, typ)
		case fieldStored:
			return r.number(&h.stored, typ)
		case fieldDictionary:
			return r.inner(typ, map[int64]*int64{fieldValues: &h.values, fieldEncoding: &h.encoding}, nil)
		case fieldDataV1:
			return r.inner(typ, map[int64]*int64{fieldValues: &h.values, fieldEncoding: &h.encoding,
				fieldDefLevel: &h.defLevel, fieldRepLevel: &h.repLevel}, nil)
		case fieldDataV2:
			return r.inner(typ, map[int64]*int64{fieldValues: &h.values, fieldEncodingV2: &h.encoding,
				fieldDefBytes: &h.defBytes, fieldRepBytes: &h.repBytes}, &h.plain)
		}
		return false, nil
	})
	return h, err
}

// inner reads the given numbers of a structure, and into plain, unless it is nil,
// whether it says that its values are not compressed.
func (r *thriftReader) inner(typ byte, numbers map[int64]*int64, plain *bool) (bool, error) {
	if typ != thriftStruct {
		return false, nil
	}
	return true, r.structure(1, func(id int64, typ byte) (bool, error) {
		if plain != nil && id == fieldIsCompressed {
			*plain = typ == thriftFalse
		}
		if dst := numbers[id]; dst != nil {
			return r.number(dst, typ)
		}
		return false, nil
	})
}

// number reads an i32 into dst; other types are left to be skipped.
func (r *thriftReader) number(dst *int64, typ byte) (bool, error) {
	if typ != thriftI32 {
		return false, nil
	}
	v, err := r.int()
	*dst = v
	return true, err
}
