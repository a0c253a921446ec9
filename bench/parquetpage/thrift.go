package parquetpage

import (
	"encoding/binary"
	"errors"
)

// Types of the compact Thrift protocol, in which Parquet writes its metadata.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// maxThriftDepth is far above the nesting of any Parquet metadata.
const maxThriftDepth = 32

var (
	// errThriftShort means that the bytes end before the structure does.
	errThriftShort = errors.New("structure longer than its bytes")
	errThriftType  = errors.New("unknown Thrift type, or nesting beyond 32 levels")
)

// thriftReader walks a compact Thrift structure without building it. The library
// that builds them believes the lengths in it; a walk before tells whether it may:
// every element of a list takes at least a byte, so no list of a sound structure is
// longer than the bytes left.
type thriftReader struct {
	b   []byte
	pos int
}

// structure reads a structure up to its stop. field, when not nil, is called for
// every field with the position at its value and tells whether it consumed it.
func (r *thriftReader) structure(depth int, field func(id int64, typ byte) (bool, error)) error {
	if depth > maxThriftDepth {
		return errThriftType
	}
	for id := int64(0); ; {
		head, err := r.byte()
		if err != nil || head == thriftStop {
			return err
		}
		if delta := head >> 4; delta != 0 {
			id += int64(delta)
		} else if id, err = r.int(); err != nil {
			return err
		}
		typ, done := head&15, false
		if field != nil {
			if done, err = field(id, typ); err != nil {
				return err
			}
		}
		if !done {
			if err := r.skip(typ, depth, true); err != nil {
				return err
			}
		}
	}
}

// skip consumes a value. A truth value is part of the type when it is a field, and
// a byte when it is in a list or map.
func (r *thriftReader) skip(typ byte, depth int, isField bool) error {
	switch typ {
	case thriftTrue, thriftFalse:
		if isField {
			return nil
		}
		return r.advance(1)
	case thriftByte:
		return r.advance(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := r.int()
		return err
	case thriftDouble:
		return r.advance(8)
	case thriftBinary:
		n, err := r.uint()
		if err != nil {
			return err
		}
		return r.advance(n)
	case thriftList, thriftSet:
		return r.list(depth)
	case thriftMap:
		return r.dict(depth)
	case thriftStruct:
		return r.structure(depth+1, nil)
	}
	return errThriftType
}

// list consumes a list or set: size u4 (15 = the size follows) | type u4 | elements
func (r *thriftReader) list(depth int) error {
	head, err := r.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = r.uint(); err != nil {
			return err
		}
	}
	return r.elements(n, depth, head&15)
}

// dict consumes a map: size | unless it is 0: key type u4, value type u4 | keys and values
func (r *thriftReader) dict(depth int) error {
	n, err := r.uint()
	if err != nil || n == 0 {
		return err
	}
	types, err := r.byte()
	if err != nil {
		return err
	}
	return r.elements(n, depth, types>>4, types&15)
}

// elements consumes n times a value of each type.
func (r *thriftReader) elements(n uint64, depth int, types ...byte) error {
	if depth > maxThriftDepth {
		return errThriftType
	}
	if n > uint64(len(r.b)-r.pos) {
		return errThriftShort
	}
	for range n {
		for _, typ := range types {
			if err := r.skip(typ, depth+1, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *thriftReader) advance(n uint64) error {
	if n > uint64(len(r.b)-r.pos) {
		return errThriftShort
	}
	r.pos += int(n)
	return nil
}

func (r *thriftReader) byte() (byte, error) {
	if err := r.advance(1); err != nil {
		return 0, err
	}
	return r.b[r.pos-1], nil
}

func (r *thriftReader) uint() (uint64, error) {
	v, n := binary.Uvarint(r.b[r.pos:])
	if n == 0 {
		return 0, errThriftShort
	}
	if n < 0 {
		return 0, errThriftType
	}
	r.pos += n
	return v, nil
}

// int reads a zigzag integer.
func (r *thriftReader) int() (int64, error) {
	v, err := r.uint()
	return int64(v>>1) ^ -int64(v&1), err
}
