package hdf5

// Types of the header messages that are read.
const (
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgFilters      = 0x0b
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
)

// message is one message of an object header, positioned at its first byte.
type message struct {
	typ    int
	shared bool // the body is a reference to another object
	body   block
}

// header reads the object header at addr with all its continuations.
func (f *File) header(addr int64) ([]message, error) {
	b, err := f.block(addr, min(34, max(f.size-addr, 0)), "object header")
	if err != nil {
		return nil, err
	}
	var h headerReader
	if string(b.data[:min(4, len(b.data))]) == "OHDR" {
		err = h.prefix2(f, b)
	} else {
		err = h.prefix1(f, b)
	}
	for i := 0; err == nil && i < len(h.more); i++ {
		err = h.continuation(f, h.more[i])
	}
	return h.found, err
}

// extent is a piece of the file.
type extent struct{ addr, size int64 }

// headerReader collects the messages of one object header.
type headerReader struct {
	two     bool // version 2
	ordered bool // version 2 messages carry their creation order
	found   []message
	more    []extent // continuations met so far
}

// prefix1 reads a version 1 header:
//
//	version u8 | 0 | messages u16 | references u32 | size u32 | 4 bytes of padding | messages
func (h *headerReader) prefix1(f *File, b *block) error {
	b.version(1, 1)
	b.skip(7)
	size := int64(b.u32())
	if b.err != nil {
		return b.err
	}
	body, err := f.block(b.off+16, size, "object header")
	if err != nil {
		return err
	}
	return h.messages(body, body.left())
}

// prefix2 reads a version 2 header:
//
//	"OHDR" | version u8 | flags u8 | 4 times u32 if flags&0x20 | 2 limits u16 if flags&0x10
//	size of the messages, 1<<(flags&3) bytes | messages | checksum u32
func (h *headerReader) prefix2(f *File, b *block) error {
	b.sign("OHDR")
	b.version(2, 2)
	flags := b.u8()
	if flags&0x20 != 0 {
		b.skip(16)
	}
	if flags&0x10 != 0 {
		b.skip(4)
	}
	size := b.uint(1 << (flags & 3))
	if b.err != nil {
		return b.err
	}
	if err := f.within(b.at(), size, b.what); err != nil {
		return err
	}
	all, err := f.block(b.off, int64(b.pos)+size+4, "object header")
	if err != nil {
		return err
	}
	h.two, h.ordered = true, flags&0x04 != 0
	all.skip(b.pos)
	return h.messages2(f, all)
}

// continuation reads further messages of the header.
func (h *headerReader) continuation(f *File, e extent) error {
	b, err := f.block(e.addr, e.size, "object header continuation")
	if err != nil {
		return err
	}
	if !h.two {
		return h.messages(b, b.left())
	}
	b.sign("OCHK")
	if b.err != nil {
		return b.err
	}
	return h.messages2(f, b)
}

// messages2 reads version 2 messages up to the checksum that ends the block.
func (h *headerReader) messages2(f *File, b *block) error {
	if err := h.messages(b, b.left()-4); err != nil {
		return err
	}
	b.pos = max(len(b.data)-4, 0) // over a gap too short for a message
	b.checksum(f.verify)
	return b.err
}

// messages reads the messages in the next n bytes of b:
//
//	version 1: type u16 | size u16 | flags u8 | 3 bytes | body
//	version 2: type u8  | size u16 | flags u8 | creation order u16 if kept | body
func (h *headerReader) messages(b *block, n int) error {
	head := 8
	if h.two {
		head = 4
		if h.ordered {
			head = 6
		}
	}
	for end := b.pos + n; b.err == nil && end-b.pos >= head; {
		start := b.pos
		var m message
		if h.two {
			m.typ = b.u8()
		} else {
			m.typ = b.u16()
		}
		size := b.u16()
		m.shared = b.u8()&2 != 0
		b.skip(head - (b.pos - start))
		if size > end-b.pos {
			return fault(b.at(), "a message within its header", size, " bytes where ", end-b.pos, " are left")
		}
		m.body = block{off: b.at(), data: b.bytes(size), what: "header message"}
		if m.typ == msgContinuation {
			e := extent{m.body.address(), m.body.size()}
			if m.body.err != nil {
				return m.body.err
			}
			h.more = append(h.more, e)
			continue
		}
		h.found = append(h.found, m)
	}
	return b.err
}
