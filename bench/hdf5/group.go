package hdf5

import (
	"bytes"
	"fmt"
	"strings"
)

// linkFunc is told a name in a group, valid during the call, and the address of its
// object header.
type linkFunc func(name []byte, addr int64)

// links calls visit for every hard link of the root group.
func (f *File) links(visit linkFunc) error {
	msgs, err := f.header(f.root)
	if err != nil {
		return err
	}
	for i := range msgs {
		b := &msgs[i].body
		switch msgs[i].typ {
		case msgSymbolTable:
			err = f.symbolTable(b, visit)
		case msgLinkInfo:
			err = b.linkInfo()
		case msgLink:
			err = b.link(visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find returns the object header of a name in the root group.
func (f *File) find(name string) (int64, error) {
	addr := undefined
	var others []string // some of them, for the error
	err := f.links(func(n []byte, at int64) {
		if string(n) == name {
			addr = at
		} else if len(others) < 8 {
			others = append(others, fmt.Sprintf("%.40q", n))
		}
	})
	if err == nil && addr == undefined {
		err = fault(f.root, fmt.Sprintf("a data set %q in the root group", name), "[", strings.Join(others, " "), "]")
	}
	return addr, err
}

// link reads a link message and visits it if it is a hard link:
//
//	version u8 = 1 | flags u8 | type u8 if flags&8 | creation order u64 if flags&4
//	character set u8 if flags&16 | length of name, 1<<(flags&3) bytes | name | address
func (b *block) link(visit linkFunc) error {
	b.what = "link"
	b.version(1, 1)
	flags := b.u8()
	kind := 0
	if flags&0x08 != 0 {
		kind = b.u8()
	}
	if flags&0x04 != 0 {
		b.skip(8)
	}
	if flags&0x10 != 0 {
		b.skip(1)
	}
	n := b.uint(1 << (flags & 3))
	name := b.bytes(int(min(n, int64(b.left())+1)))
	if kind != 0 {
		return b.err // soft and external links lead nowhere in this file
	}
	addr := b.address()
	if b.err == nil {
		visit(name, addr)
	}
	return b.err
}

// linkInfo refuses groups whose links are not in messages:
//
//	version u8 = 0 | flags u8 | greatest creation order u64 if flags&1 | fractal heap address
func (b *block) linkInfo() error {
	b.what = "link info"
	b.version(0, 0)
	if b.u8()&1 != 0 {
		b.skip(8)
	}
	at := b.at()
	if heap := b.address(); heap != undefined && b.err == nil {
		return fault(at, "a group with compact links", "dense links, as of many data sets")
	}
	return b.err
}

// symbolTable reads an old-style group: a message of two addresses, of the B-tree
// and of the local heap that holds the names.
//
//	"HEAP" | version u8 = 0 | 3 bytes | size u64 | free list u64 | address of the data
func (f *File) symbolTable(m *block, visit linkFunc) error {
	tree, heap := m.address(), m.address()
	if m.err != nil {
		return m.err
	}
	h, err := f.block(heap, 32, "local heap")
	if err != nil {
		return err
	}
	h.sign("HEAP")
	h.version(0, 0)
	h.skip(3)
	size := h.size()
	h.skip(8)
	addr := h.address()
	if h.err != nil {
		return h.err
	}
	names, err := f.block(addr, size, "local heap data")
	if err != nil {
		return err
	}
	return f.tree(tree, treeGroup, func(_ []byte, child int64) error {
		return f.symbols(child, names, visit)
	})
}

// symbols reads a leaf of the B-tree of a group:
//
//	"SNOD" | version u8 = 1 | 0 | entries u16
//	entries: name offset u64 | object header address | 24 bytes of cache
func (f *File) symbols(addr int64, names *block, visit linkFunc) error {
	b, err := f.block(addr, 8, "symbol node")
	if err != nil {
		return err
	}
	b.sign("SNOD")
	b.version(1, 1)
	b.skip(1)
	n := b.u16()
	if b.err != nil {
		return b.err
	}
	if b, err = f.block(addr+8, int64(n)*40, "symbol node"); err != nil {
		return err
	}
	for range n {
		at, name, object := b.at(), b.size(), b.address()
		b.skip(24)
		if name < 0 || name >= int64(len(names.data)) {
			return fault(at, fmt.Sprintf("a name offset below %d", len(names.data)), name)
		}
		text, _, ok := bytes.Cut(names.data[name:], []byte{0})
		if !ok {
			return fault(names.off+name, "a name that ends in a zero byte", "none in the heap")
		}
		visit(text, object)
	}
	return b.err
}
