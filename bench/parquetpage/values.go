package parquetpage

import (
	"encoding/binary"
	"fmt"
)

// Encodings, by their numbers in the format.
const (
	encPlain           = 0
	encPlainDictionary = 2 // as encDictionary, by its old name
	encHybrid          = 3 // of levels
	encDelta           = 5
	encDeltaLength     = 6
	encDictionary      = 8
	encSplit           = 9
)

// encodingError is the fault of an encoding that is not read, or not for this type.
func encodingError(e int64) error { return fmt.Errorf("encoding %d is not read for this type", e) }

// decode decodes the n values in body into r.page.
func (r *Reader) decode(encoding int64, body []byte, n int) (err error) {
	if r.col.Kind == Text {
		r.texts, err = r.decodeTexts(encoding, body, n)
		r.page.Texts = r.texts
		return err
	}
	r.page.Raw, err = r.decodeRaw(encoding, body, n)
	return err
}

// decodeRaw returns n values of a fixed size.
func (r *Reader) decodeRaw(encoding int64, body []byte, n int) ([]byte, error) {
	size := r.col.Kind.size()
	switch encoding {
	case encPlain:
		return plainRaw(body, n, size)
	case encPlainDictionary, encDictionary:
		if err := r.indexes(body, n); err != nil {
			return nil, err
		}
		r.raw = grow(r.raw, n*size)
		for i, x := range r.index {
			copy(r.raw[i*size:(i+1)*size], r.dict.Raw[int(x)*size:])
		}
		return r.raw, nil
	case encSplit:
		if n*size > len(body) {
			return nil, errShort
		}
		r.raw = grow(r.raw, n*size)
		for p := range size { // byte p of every value is in stream p
			for i, b := range body[p*n : (p+1)*n] {
				r.raw[i*size+p] = b
			}
		}
		return r.raw, nil
	case encDelta:
		if r.col.Kind != Int32 && r.col.Kind != Int64 {
			break
		}
		r.ints = grow(r.ints, n)
		if _, err := deltaInts(r.ints, body); err != nil {
			return nil, err
		}
		r.raw = grow(r.raw, n*size)
		putInts(r.raw, r.ints, size)
		return r.raw, nil
	}
	return nil, encodingError(encoding)
}

// decodeTexts returns n byte arrays, in the memory of r.texts, which refer to body
// or to the dictionary.
func (r *Reader) decodeTexts(encoding int64, body []byte, n int) ([][]byte, error) {
	texts := r.texts[:0]
	switch encoding {
	case encPlain:
		return plainTexts(texts, n, body)
	case encPlainDictionary, encDictionary:
		if err := r.indexes(body, n); err != nil {
			return nil, err
		}
		for _, x := range r.index {
			texts = append(texts, r.dict.Texts[x])
		}
		return texts, nil
	case encDeltaLength: // the lengths, delta binary packed, then the bytes of all
		r.ints = grow(r.ints, n)
		rest, err := deltaInts(r.ints, body)
		if err != nil {
			return nil, err
		}
		for _, l := range r.ints {
			if l < 0 || l > int64(len(rest)) {
				return nil, errShort
			}
			texts, rest = append(texts, rest[:l]), rest[l:]
		}
		return texts, nil
	}
	return nil, encodingError(encoding)
}

// indexes decodes n indexes of the dictionary into r.index: their width u8, then
// the hybrid.
func (r *Reader) indexes(body []byte, n int) error {
	r.index = grow(r.index, n)
	if n == 0 {
		return nil
	}
	if !r.hasDict {
		return fmt.Errorf("page that refers to a dictionary without one before it")
	}
	if len(body) == 0 {
		return errShort
	}
	if err := hybrid(r.index, body[1:], int(body[0])); err != nil {
		return err
	}
	for _, x := range r.index {
		if int64(x) >= int64(r.dict.N) {
			return errIndex
		}
	}
	return nil
}

// plainRaw returns n values of size bytes, which are stored as they are.
func plainRaw(body []byte, n, size int) ([]byte, error) {
	if n*size > len(body) {
		return nil, errShort
	}
	return body[:n*size], nil
}

// plainTexts appends n byte arrays, each behind its length.
func plainTexts(texts [][]byte, n int, body []byte) ([][]byte, error) {
	for range n {
		text, rest, err := prefixed(body)
		if err != nil {
			return nil, err
		}
		texts, body = append(texts, text), rest
	}
	return texts, nil
}

// prefixed splits what follows a length u32 from the rest.
func prefixed(b []byte) (part, rest []byte, err error) {
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
		return nil, nil, errShort
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	return b[4:n], b[n:], nil
}
