package hdf5

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// Filters that are read.
const (
	filterDeflate = 1
	filterShuffle = 2
)

// maxDeflate bounds how many bytes one byte of a deflate stream can become: a match
// of 258 bytes takes at least 2 bits.
const maxDeflate = 1032

// filter is one step of a pipeline; writing runs them forwards, reading backwards.
type filter struct {
	id int
}

// readFilters reads the pipeline:
//
//	version u8 = 1 or 2 | filters u8 | version 1: 6 bytes
//	filters: id u16 | name length u16 (version 2: only if id >= 256) | flags u16 | values u16
//	         name, in version 1 padded to 8 bytes | values u32, in version 1 an even number of them
func (d *Dataset) readFilters(b *block) error {
	b.what = "filter pipeline"
	version := b.version(1, 2)
	n := b.u8()
	if version == 1 {
		b.skip(6)
	}
	seen := make(map[int]bool)
	for range n {
		at, id, nameLen := b.at(), b.u16(), 0
		if version == 1 || id >= 256 {
			nameLen = b.u16()
		}
		b.skip(2)
		values := b.u16()
		name := b.bytes(nameLen)
		if version == 1 {
			b.skip(-nameLen & 7)
			values += values & 1
		}
		b.skip(4 * values)
		if b.err != nil {
			return nil
		}
		if id != filterDeflate && id != filterShuffle || seen[id] || seen[filterDeflate] {
			return fault(at, "shuffle, then deflate, each at most once", fmt.Sprintf("filter %d %.20q", id, name))
		}
		seen[id] = true
		d.filters = append(d.filters, filter{id: id})
	}
	return nil
}

// deflated tells whether a chunk with this mask of skipped filters is compressed.
func (d *Dataset) deflated(mask uint32) bool {
	for i, f := range d.filters {
		if f.id == filterDeflate && mask>>i&1 == 0 {
			return true
		}
	}
	return false
}

// unfilter undoes the pipeline on stored and returns the chunk, in dst or in
// stored. dst and spare have the size of a chunk.
func (d *Dataset) unfilter(stored []byte, mask uint32, dst, spare []byte, inflate *inflater) ([]byte, error) {
	cur, other := stored, dst
	for i := len(d.filters) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		if d.filters[i].id == filterDeflate {
			if err := inflate.into(other, cur); err != nil {
				return nil, err
			}
		} else {
			unshuffle(other, cur, d.Kind.Size())
		}
		cur, other = other, spare
	}
	return cur, nil
}

// unshuffle gathers the bytes of each element, which src holds plane by plane.
func unshuffle(dst, src []byte, size int) {
	n := len(src) / size
	for p := range size {
		plane := src[p*n : (p+1)*n]
		for i, b := range plane {
			dst[i*size+p] = b
		}
	}
}

// inflater decompresses zlib streams and keeps its state between them.
type inflater struct {
	z   io.ReadCloser
	src bytes.Reader
}

// into decompresses src, which must give exactly len(dst) bytes.
func (f *inflater) into(dst, src []byte) error {
	f.src.Reset(src)
	var err error
	if f.z == nil {
		f.z, err = zlib.NewReader(&f.src)
	} else {
		err = f.z.(zlib.Resetter).Reset(&f.src, nil)
	}
	if err != nil {
		f.z = nil
		return err
	}
	if _, err := io.ReadFull(f.z, dst); err != nil {
		return err
	}
	var one [1]byte
	if n, err := f.z.Read(one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("stream of more than the %d bytes of a chunk", len(dst)), err)
	}
	return nil
}
