package hdf5

import (
	"errors"
	"fmt"
	"io"
)

const signature = "\x89HDF\r\n\x1a\n"

// File is an open HDF5 file. It is not safe for use by several goroutines at once.
type File struct {
	at     io.ReaderAt
	size   int64
	root   int64 // address of the root group's object header
	verify bool  // checksums; off only when fuzzing, which they would stop at once
	left   int64 // bytes of structures that may still be read, see [File.block]
}

// Open reads the superblock of a file of size bytes. at must stay readable as long
// as the File and its data sets are in use. The error is an [*Error] or one of at.
func Open(at io.ReaderAt, size int64) (*File, error) { return open(at, size, true) }

func open(at io.ReaderAt, size int64, verify bool) (*File, error) {
	f := &File{at: at, size: size, verify: verify}
	f.resetBudget()
	b, err := f.block(0, min(size, 96), "superblock")
	if err != nil {
		return nil, err
	}
	b.sign(signature)
	var end int64
	if version := b.version(0, 3); version < 2 {
		f.root, end = b.superblock0(version)
	} else {
		f.root, end = b.superblock2(verify)
	}
	if b.err != nil {
		return nil, b.err
	}
	if end > size {
		return nil, fault(size, fmt.Sprintf("a file of %d bytes as the superblock says", end), size)
	}
	return f, nil
}

// superblock0 reads versions 0 and 1 after the version byte:
//
//	free space u8 | root u8 | 0 | shared u8 | offset size u8 | length size u8 | 0
//	leaf K u16 | internal K u16 | flags u32 | version 1: chunk K u16, 0 u16
//	base | free space | end of file | driver     (8 bytes each)
//	root entry: name offset | object header | cache type u32 | 0 u32 | 16 bytes
func (b *block) superblock0(version int) (root, end int64) {
	b.skip(4)
	b.sizes()
	b.skip(1 + 2 + 2 + 4)
	if version == 1 {
		b.skip(4)
	}
	b.base()
	b.skip(8)
	end = b.address()
	b.skip(8 + 8)
	return b.address(), end
}

// superblock2 reads versions 2 and 3 after the version byte:
//
//	offset size u8 | length size u8 | flags u8
//	base | extension | end of file | root object header     (8 bytes each)
//	checksum u32
func (b *block) superblock2(verify bool) (root, end int64) {
	b.sizes()
	b.skip(1)
	b.base()
	b.skip(8)
	end = b.address()
	root = b.address()
	b.checksum(verify)
	return root, end
}

// sizes checks the widths of offsets and lengths.
func (b *block) sizes() {
	at := b.at()
	if o, l := b.u8(), b.u8(); (o != 8 || l != 8) && b.err == nil {
		b.err = fault(at, "offsets and lengths of 8 bytes", o, " and ", l)
	}
}

// base checks the address that all others are relative to.
func (b *block) base() {
	at := b.at()
	if v := b.address(); v != 0 && b.err == nil {
		b.err = fault(at, "base address 0", v)
	}
}

// resetBudget allows to read structures once more. They do not overlap in a sound
// file, so what is read to find one data set is less than the file. The rest is for
// headers, whose beginning is read twice.
func (f *File) resetBudget() { f.left = f.size + f.size/2 + 4096 }

// block reads n bytes at addr which belong to a structure.
func (f *File) block(addr, n int64, what string) (*block, error) {
	if err := f.within(addr, n, what); err != nil {
		return nil, err
	}
	if f.left -= n; f.left < 0 {
		return nil, fault(addr, "structures that do not overlap", what, " that leads back to itself")
	}
	b := &block{data: make([]byte, n), off: addr, what: what}
	return b, f.readAt(b.data, addr, what)
}

// readAt fills p, which lies within the file.
func (f *File) readAt(p []byte, addr int64, what string) error {
	// A reader may say io.EOF along with the last byte.
	if n, err := f.at.ReadAt(p, addr); n < len(p) {
		return fmt.Errorf("hdf5: read %s at offset %d: %w", what, addr, notEOF(err))
	}
	return nil
}

// notEOF makes the end of a file, where the size of the file says otherwise, an
// error that does not pass for the sound end of the rows.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// within checks that n bytes at addr are in the file.
func (f *File) within(addr, n int64, what string) error {
	if addr == undefined {
		return fault(0, what+" stored in the file", "none")
	}
	if addr < 0 || n < 0 || addr > f.size || n > f.size-addr {
		return fault(addr, fmt.Sprintf("%d bytes of %s", n, what), fmt.Sprintf("a file of %d bytes", f.size))
	}
	return nil
}
