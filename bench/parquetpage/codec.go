package parquetpage

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// Codec is how the payload of pages is compressed, by its number in the format.
type Codec int

// The codecs that are read.
const (
	None   Codec = 0
	Snappy Codec = 1
	Gzip   Codec = 2
	Zstd   Codec = 6
)

// known tells whether c is one that is read.
func (c Codec) known() bool { return c == None || c == Snappy || c == Gzip || c == Zstd }

// errExpanded is the fault of a stream that gives another size than the page
// header.
var errExpanded = errors.New("stream of another size than the page header says")

// expander decompresses payloads. It keeps the states of the codecs.
type expander struct {
	gzip *gzip.Reader
	zstd *zstd.Decoder
	src  bytes.Reader
}

// expand decompresses src into dst, which it fills exactly. Whatever the stream
// claims or holds, no more memory is taken than dst has.
func (e *expander) expand(codec Codec, dst, src []byte) error {
	switch codec {
	case Snappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return errors.Join(errExpanded, err)
		}
		_, err := snappy.Decode(dst, src)
		return err
	case Gzip:
		return e.gunzip(dst, src)
	case Zstd:
		return e.unzstd(dst, src)
	}
	if len(src) != len(dst) {
		return errExpanded
	}
	copy(dst, src)
	return nil
}

func (e *expander) gunzip(dst, src []byte) (err error) {
	e.src.Reset(src)
	if e.gzip == nil {
		e.gzip, err = gzip.NewReader(&e.src)
	} else {
		err = e.gzip.Reset(&e.src)
	}
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(e.gzip, dst); err != nil {
		return err
	}
	var one [1]byte
	if n, err := e.gzip.Read(one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return errors.Join(errExpanded, err)
	}
	return nil
}

func (e *expander) unzstd(dst, src []byte) (err error) {
	if e.zstd == nil {
		e.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
	}
	out, err := e.zstd.DecodeAll(src, dst[:0:len(dst)])
	if err != nil || len(out) != len(dst) {
		return errors.Join(errExpanded, err)
	}
	if len(dst) > 0 && &out[0] != &dst[0] {
		copy(dst, out) // the decoder may prefer memory of its own
	}
	return nil
}

// close ends what the codecs keep running.
func (e *expander) close() {
	if e.zstd != nil {
		e.zstd.Close()
		e.zstd = nil
	}
}
