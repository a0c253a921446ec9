package hdf5

import (
	"encoding/binary"
	"fmt"
)

// undefined is the address of what was not written.
const undefined = int64(-1)

// block is a piece of the file and a position in it. The first read beyond its end
// sets err, and all reads from then on give zero, so that a structure is read field
// by field and checked once.
type block struct {
	data []byte
	off  int64 // of data[0] in the file
	pos  int
	what string
	err  error
}

// at is the position in the file.
func (b *block) at() int64 { return b.off + int64(b.pos) }

// left is the number of bytes not read yet.
func (b *block) left() int { return len(b.data) - b.pos }

// bytes returns the next n bytes.
func (b *block) bytes(n int) []byte {
	if b.err == nil && (n < 0 || n > b.left()) {
		b.err = fault(b.at(), fmt.Sprintf("%d more bytes of %s", n, b.what), b.left())
	}
	if b.err != nil {
		return make([]byte, min(max(n, 0), 64))
	}
	p := b.data[b.pos : b.pos+n]
	b.pos += n
	return p
}

func (b *block) skip(n int)  { b.bytes(n) }
func (b *block) u8() int     { return int(b.bytes(1)[0]) }
func (b *block) u16() int    { return int(binary.LittleEndian.Uint16(b.bytes(2))) }
func (b *block) u32() uint32 { return binary.LittleEndian.Uint32(b.bytes(4)) }

// size reads an 8-byte length. Lengths of 2^63 and more are faults.
func (b *block) size() int64 { return b.uint(8) }

// address reads an 8-byte address, or undefined.
func (b *block) address() int64 {
	at := b.at()
	v := binary.LittleEndian.Uint64(b.bytes(8))
	if v == 1<<64-1 {
		return undefined
	}
	return b.signed(at, v)
}

// uint reads an integer of n bytes, 1 to 8.
func (b *block) uint(n int) int64 {
	at := b.at()
	var p [8]byte
	copy(p[:n], b.bytes(n))
	return b.signed(at, binary.LittleEndian.Uint64(p[:]))
}

// signed refuses v, read at the position at, when int64 cannot hold it.
func (b *block) signed(at int64, v uint64) int64 {
	if v >= 1<<63 && b.err == nil {
		b.err = fault(at, "a number below 2^63", v)
	}
	return int64(v &^ (1 << 63))
}

// sign checks a four-letter signature.
func (b *block) sign(want string) {
	at := b.at()
	if got := string(b.bytes(len(want))); got != want && b.err == nil {
		b.err = fault(at, fmt.Sprintf("the signature %q", want), fmt.Sprintf("%q", got))
	}
}

// version checks a version byte.
func (b *block) version(low, high int) int {
	at := b.at()
	v := b.u8()
	if (v < low || v > high) && b.err == nil {
		want := fmt.Sprintf("%s version %d to %d", b.what, low, high)
		if low == high {
			want = fmt.Sprintf("%s version %d", b.what, low)
		}
		b.err = fault(at, want, v)
	}
	return v
}

// checksum compares the next four bytes with the hash of all that precede them.
func (b *block) checksum(verify bool) {
	at, sum := b.at(), lookup3(b.data[:b.pos])
	if got := b.u32(); got != sum && verify && b.err == nil {
		b.err = fault(at, fmt.Sprintf("checksum %#08x of %s", sum, b.what), fmt.Sprintf("%#08x", got))
	}
}
