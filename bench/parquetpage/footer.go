package parquetpage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const magic = "PAR1"

// CheckFooter checks the frame of a file of size bytes, and that its footer is a
// Thrift structure no list or text in which claims more than the footer's bytes, so
// that a parser may believe the lengths in it. The error is an [*Error] or one of
// at.
//
//	"PAR1" | pages | footer | its length u32 | "PAR1"
func CheckFooter(at io.ReaderAt, size int64) error {
	const frame = 4 + 4 + 4
	if size < frame {
		return fault(size, fmt.Sprintf("a file of at least %d bytes", frame), size)
	}
	var head [4]byte
	if err := readAt(at, head[:], 0); err != nil {
		return err
	}
	if string(head[:]) != magic {
		return fault(0, fmt.Sprintf("%q at the start of the file", magic), fmt.Sprintf("%q", head))
	}
	var tail [8]byte
	if err := readAt(at, tail[:], size-8); err != nil {
		return err
	}
	if string(tail[4:]) != magic {
		return fault(size-4, fmt.Sprintf("%q at the end of the file", magic), fmt.Sprintf("%q", tail[4:]))
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-frame {
		return fault(size-8, fmt.Sprintf("a footer of at most %d bytes", size-frame), n)
	}
	footer := make([]byte, n)
	start := size - 8 - n
	if err := readAt(at, footer, start); err != nil {
		return err
	}
	t := thriftReader{b: footer}
	if err := t.structure(0, nil); err != nil {
		return &Error{Offset: start + int64(t.pos), Want: "file metadata in compact Thrift", Got: "another", Err: err}
	}
	return nil
}

// readAt fills b, which lies in the file.
func readAt(at io.ReaderAt, b []byte, off int64) error {
	// A reader may say io.EOF along with the last byte.
	if n, err := at.ReadAt(b, off); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // io.EOF would pass for the sound end of the pages
		}
		return fmt.Errorf("parquetpage: read %d bytes at offset %d: %w", len(b), off, err)
	}
	return nil
}
