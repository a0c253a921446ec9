package hdf5

import (
	"fmt"
	"math"
)

// Kind is the type of the values of a data set, all little endian.
type Kind uint8

// The kinds that are read.
const (
	Float16 Kind = iota + 1
	Float32
	Float64
	Int8
	Int16
	Int32
	Int64
	Uint8
)

var kindNames = [...]string{"none", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"}
var kindSizes = [...]int{0, 2, 4, 8, 1, 2, 4, 8, 1}

// String is the name of the kind in lower case, "none" for the zero value and what
// is not a kind.
func (k Kind) String() string { return kindNames[k.known()] }

// Size is the number of bytes of one value, 0 where String is "none".
func (k Kind) Size() int { return kindSizes[k.known()] }

// known is k, or 0 when it is none of the kinds.
func (k Kind) known() Kind {
	if int(k) < len(kindNames) {
		return k
	}
	return 0
}

// Dataset describes a two-dimensional data set. It is immutable.
type Dataset struct {
	// Rows and Cols are its shape: Rows >= 0, Cols >= 1.
	Rows, Cols int64
	// Kind is the type of its values.
	Kind Kind

	file    *File
	addr    int64 // of the object header, for errors
	maxCols int64 // Cols may grow to this; the latest chunk indexes count in it
	layout  layout
	filters []filter
}

// Dataset finds a data set by its name in the root group. Its shape has been
// compared with what the file holds when this returns. The error is an [*Error] or
// one of the underlying reader.
func (f *File) Dataset(name string) (*Dataset, error) {
	f.resetBudget()
	addr, err := f.find(name)
	if err != nil {
		return nil, err
	}
	msgs, err := f.header(addr)
	if err != nil {
		return nil, err
	}
	d := &Dataset{file: f, addr: addr}
	if err := d.read(msgs); err != nil {
		return nil, err
	}
	return d, d.index()
}

// read interprets the messages of the object header.
func (d *Dataset) read(msgs []message) error {
	var seen [msgFilters + 1]bool
	for i := range msgs {
		m := &msgs[i]
		var parse func(*block) error
		switch m.typ {
		case msgDataspace:
			parse = d.dataspace
		case msgDatatype:
			parse = d.datatype
		case msgLayout:
			parse = d.readLayout
		case msgFilters:
			parse = d.readFilters
		case msgExternal:
			return fault(m.body.off, "values in this file", "values in external files")
		default:
			continue
		}
		if m.shared {
			return fault(m.body.off, "a message in the object header", "a reference to a shared one")
		}
		if seen[m.typ] {
			return fault(m.body.off, fmt.Sprintf("one message of type %d", m.typ), "a second one")
		}
		seen[m.typ] = true
		if err := parse(&m.body); err != nil {
			return err
		}
		if m.body.err != nil {
			return m.body.err
		}
	}
	if !seen[msgDataspace] || !seen[msgDatatype] || !seen[msgLayout] {
		return fault(d.addr, "a data set with dataspace, datatype and layout", "an object without them, as a group is")
	}
	return nil
}

// dataspace reads the shape:
//
//	version u8 = 1 | rank u8 | flags u8 | 5 bytes     or   version u8 = 2 | rank u8 | flags u8 | type u8
//	rank sizes u64 | rank maximal sizes u64 if flags&1
func (d *Dataset) dataspace(b *block) error {
	b.what = "dataspace"
	version := b.version(1, 2)
	at, rank, flags := b.at(), b.u8(), b.u8()
	b.skip(1)
	if version == 1 {
		b.skip(4)
	}
	if b.err != nil {
		return nil
	}
	if rank != 2 {
		return fault(at, "2 dimensions", rank)
	}
	at = b.at()
	d.Rows, d.Cols = b.size(), b.size()
	d.maxCols = d.Cols
	if flags&1 != 0 {
		b.skip(8)
		if m := b.address(); m != undefined { // all ones stand for unlimited here
			d.maxCols = m
		}
	}
	if b.err == nil && (d.Cols < 1 || d.maxCols < d.Cols) {
		return fault(at, "1 or more columns, within their maximum", fmt.Sprintf("%d of %d", d.Cols, d.maxCols))
	}
	return nil
}

// datatype reads the type of the values:
//
//	class u4 | version u4 | 24 bits of flags | size u32 | properties
func (d *Dataset) datatype(b *block) error {
	b.what = "datatype"
	at := b.at()
	class := b.u8() & 15
	flags := b.u8() | b.u8()<<8
	b.skip(1)
	size := int(b.u32())
	d.Kind = 0
	switch class {
	case 0:
		d.Kind = b.integer(flags, size)
	case 1:
		d.Kind = b.float(flags, size)
	}
	if d.Kind == 0 && b.err == nil {
		return fault(at, "little-endian IEEE floats of 2, 4 or 8 bytes, int8 to int64, or uint8",
			fmt.Sprintf("class %d, flags %#04x, %d bytes", class, flags, size))
	}
	return nil
}

// integer reads the properties bit offset u16 | precision u16. In flags, bit 0 is big
// endian, bits 1 and 2 are padding, bit 3 is signed.
func (b *block) integer(flags, size int) Kind {
	offset, bits := b.u16(), b.u16()
	if offset != 0 || bits != 8*size || flags&1 != 0 && size > 1 {
		return 0
	}
	if flags&8 == 0 {
		if size == 1 {
			return Uint8
		}
		return 0
	}
	return map[int]Kind{1: Int8, 2: Int16, 4: Int32, 8: Int64}[size]
}

// float reads the properties bit offset u16 | precision u16 | exponent position u8 |
// exponent bits u8 | mantissa position u8 | mantissa bits u8 | bias u32. In flags, bits 0
// and 6 are the byte order, bits 4 and 5 say that the first bit of the mantissa is implied,
// the byte above is the position of the sign.
func (b *block) float(flags, size int) Kind {
	type layout struct {
		offset, bits, expAt, exp, mantAt, mant int
		bias                                   uint32
	}
	got := layout{b.u16(), b.u16(), b.u8(), b.u8(), b.u8(), b.u8(), b.u32()}
	if flags&0x41 != 0 || flags>>4&3 != 2 || flags>>8 != 8*size-1 {
		return 0
	}
	switch got {
	case layout{0, 16, 10, 5, 0, 10, 15}:
		return Float16
	case layout{0, 32, 23, 8, 0, 23, 127}:
		return Float32
	case layout{0, 64, 52, 11, 0, 52, 1023}:
		return Float64
	}
	return 0
}

// rowBytes is the stored size of a row; index has checked that it does not
// overflow.
func (d *Dataset) rowBytes() int64 { return d.Cols * int64(d.Kind.Size()) }

// index checks the shape against the layout and finds the chunks.
func (d *Dataset) index() error {
	size := int64(d.Kind.Size())
	if d.Cols > math.MaxInt32/size {
		return fault(d.addr, "rows below 2 GiB", fmt.Sprintf("%d values of %d bytes", d.Cols, size))
	}
	l := &d.layout
	if l.chunked {
		return d.indexChunks()
	}
	if len(d.filters) > 0 {
		return fault(d.addr, "filters on a chunked layout only", "filters on another")
	}
	if d.Rows > d.file.size/d.rowBytes() || l.size != d.Rows*d.rowBytes() {
		return fault(l.at, fmt.Sprintf("%d rows of %d bytes", d.Rows, d.rowBytes()), l.size, " bytes stored")
	}
	if l.size == 0 {
		return nil
	}
	return d.file.within(l.addr, l.size, "values")
}
