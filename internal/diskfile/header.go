package diskfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// Kind says what a data file holds. Values are on disk and never renumbered.
type Kind uint16

const (
	Postings Kind = 1 // extents of package posting
	Refine   Kind = 2 // refine records of package rescore
	Records  Kind = 3 // vector records of package rescore
	Landing  Kind = 4 // both kinds of records, in the order of their arrival
)

const (
	// HeaderBytes is the length of a header; data starts here.
	HeaderBytes = 4096
	// Version of the header that this code writes.
	Version = 1

	magic   = 0x46525053 // "SPRF"
	covered = 64
)

var (
	// ErrCorrupt marks a header whose bytes are not what was written.
	ErrCorrupt = errors.New("file header is corrupt")
	// ErrVersion marks a file of a format newer than this program.
	ErrVersion = errors.New("file format is newer than this program")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Header is the decoded first block of a data file.
type Header struct {
	Kind     Kind
	IndexID  uint32
	Stride   uint32
	PerBlock uint32
	Dim      uint32
	KeyCap   uint32
	MetaCap  uint32
	Align    uint32
}

// Encode returns the HeaderBytes bytes of h.
func (h Header) Encode() []byte {
	b := make([]byte, HeaderBytes)
	le := binary.LittleEndian
	le.PutUint32(b, magic)
	le.PutUint16(b[8:], Version)
	le.PutUint16(b[10:], uint16(h.Kind))
	for i, v := range []uint32{h.IndexID, h.Stride, h.PerBlock, h.Dim, h.KeyCap, h.MetaCap, h.Align} {
		le.PutUint32(b[12+4*i:], v)
	}
	le.PutUint32(b[4:], crc32.Checksum(b[8:covered], castagnoli))
	return b
}

// Decode checks the first block of a file and returns its header. Errors are
// ErrCorrupt or ErrVersion, wrapped.
func Decode(b []byte) (Header, error) {
	le := binary.LittleEndian
	switch {
	case len(b) < HeaderBytes:
		return Header{}, fmt.Errorf("%w: %d bytes, want %d", ErrCorrupt, len(b), HeaderBytes)
	case le.Uint32(b) != magic:
		return Header{}, fmt.Errorf("%w: magic %#08x, want %#08x", ErrCorrupt, le.Uint32(b), uint32(magic))
	case le.Uint32(b[4:]) != crc32.Checksum(b[8:covered], castagnoli):
		return Header{}, fmt.Errorf("%w: checksum does not match", ErrCorrupt)
	case le.Uint16(b[8:]) != Version:
		return Header{}, fmt.Errorf("%w: version %d, this program reads %d", ErrVersion, le.Uint16(b[8:]), Version)
	}
	return Header{
		Kind: Kind(le.Uint16(b[10:])), IndexID: le.Uint32(b[12:]), Stride: le.Uint32(b[16:]),
		PerBlock: le.Uint32(b[20:]), Dim: le.Uint32(b[24:]), KeyCap: le.Uint32(b[28:]),
		MetaCap: le.Uint32(b[32:]), Align: le.Uint32(b[36:]),
	}, nil
}

// Read reads and checks the header of the file at path. Errors name the path.
func Read(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	b := make([]byte, HeaderBytes)
	if _, err := io.ReadFull(f, b); err != nil {
		return Header{}, fmt.Errorf("%s at offset 0: %w: %w", path, ErrCorrupt, err)
	}
	h, err := Decode(b)
	if err != nil {
		return Header{}, fmt.Errorf("%s at offset 0: %w", path, err)
	}
	return h, nil
}
