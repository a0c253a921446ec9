package bench

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// maxNpyHeader bounds the header text that is read; numpy itself refuses more than
// 10,000 bytes.
const maxNpyHeader = 10_000

// npyTypes maps the descr of a header to an element. Values of one byte have no
// byte order, which numpy writes as '|'.
var npyTypes = map[string]element{
	"<f2": elemF16, "<f4": elemF32, "<f8": elemF64,
	"<i2": elemI16, "<i4": elemI32, "<i8": elemI64,
	"|i1": elemI8, "|u1": elemU8,
}

// openNpy reads the header of a NumPy file:
//
//	"\x93NUMPY" | major u8 | minor u8 | header length u16 (v1) or u32 (v2, v3) | header
//
// The header is a Python dictionary with the keys descr, fortran_order and shape,
// padded by spaces; the values follow.
func openNpy(src *source, o Options) (*binRows, error) {
	header, at, err := readNpyHeader(src)
	if err != nil {
		return nil, err
	}
	h, err := parseNpyHeader(header)
	if err != nil {
		return nil, src.fault(at, "a NumPy header {'descr':..., 'fortran_order':..., 'shape':...}", err.Error())
	}
	elem, ok := npyTypes[h.descr]
	if !ok {
		return nil, src.fault(at, "descr <f2, <f4, <f8, |u1, |i1, <i2, <i4 or <i8", strconv.Quote(h.descr))
	}
	if h.fortran {
		return nil, src.fault(at, "C order ('fortran_order': False)", "Fortran order")
	}
	if len(h.shape) != 2 {
		return nil, src.fault(at, "a shape of two dimensions", fmt.Sprint(h.shape))
	}
	if err := src.checkDim(at, h.shape[1], o.MaxDim); err != nil {
		return nil, err
	}
	return newBinRows(src, elem, h.shape[0], h.shape[1])
}

// readNpyHeader returns the header text and its offset, and leaves the source at
// the first value.
func readNpyHeader(src *source) (string, int64, error) {
	var pre [8]byte
	if err := src.readFull(pre[:], "NumPy magic and version"); err != nil {
		return "", 0, err
	}
	if string(pre[:6]) != magicNpy {
		return "", 0, src.fault(0, "the NumPy magic "+strconv.Quote(magicNpy), strconv.Quote(string(pre[:6])))
	}
	var size [4]byte
	var lenBytes int
	switch pre[6] {
	case 1:
		lenBytes = 2
	case 2, 3:
		lenBytes = 4
	default:
		return "", 0, src.fault(6, "NumPy format version 1, 2 or 3", fmt.Sprint(pre[6]))
	}
	if err := src.readFull(size[:lenBytes], "NumPy header length"); err != nil {
		return "", 0, err
	}
	n := int64(binary.LittleEndian.Uint32(size[:]))
	if n > maxNpyHeader || n > src.size-src.off {
		return "", 0, src.fault(8, fmt.Sprintf("a header length of at most %d", min(maxNpyHeader, src.size-src.off)), fmt.Sprint(n))
	}
	at, header := src.off, make([]byte, n)
	return string(header), at, src.readFull(header, "NumPy header")
}

// npyHeader is the parsed dictionary.
type npyHeader struct {
	descr   string
	fortran bool
	shape   []int64
}

// parseNpyHeader parses the dictionary as numpy writes it: each of the three keys
// once, in any order, and nothing else.
func parseNpyHeader(s string) (npyHeader, error) {
	var h npyHeader
	seen := make(map[string]bool)
	p := pyParser{rest: s}
	if err := p.take("{"); err != nil {
		return h, err
	}
	for !p.accept("}") {
		key, err := p.text()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, fmt.Errorf("%s twice", key)
		}
		seen[key] = true
		if err := p.take(":"); err != nil {
			return h, err
		}
		switch key {
		case "descr":
			h.descr, err = p.text()
		case "fortran_order":
			h.fortran, err = p.boolean()
		case "shape":
			h.shape, err = p.tuple()
		default:
			err = fmt.Errorf("key %q", key)
		}
		if err != nil {
			return h, err
		}
		if !p.accept(",") {
			if err := p.take("}"); err != nil {
				return h, err
			}
			break
		}
	}
	if len(seen) != 3 {
		return h, fmt.Errorf("%d of 3 keys", len(seen))
	}
	if p.space(); p.rest != "" {
		return h, fmt.Errorf("%q after the dictionary", p.rest)
	}
	return h, nil
}

// pyParser reads the few Python literals a header consists of.
type pyParser struct {
	rest string
}

func (p *pyParser) space() { p.rest = strings.TrimLeft(p.rest, " \n") }

// accept consumes token if it comes next.
func (p *pyParser) accept(token string) bool {
	p.space()
	var ok bool
	p.rest, ok = strings.CutPrefix(p.rest, token)
	return ok
}

func (p *pyParser) take(token string) error {
	if p.accept(token) {
		return nil
	}
	return fmt.Errorf("%.20q where %q belongs", p.rest, token)
}

// text reads a quoted string without escapes.
func (p *pyParser) text() (string, error) {
	p.space()
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", fmt.Errorf("%.20q where a quoted text belongs", p.rest)
	}
	end := strings.IndexByte(p.rest[1:], p.rest[0])
	if end < 0 {
		return "", fmt.Errorf("%.20q without its closing quote", p.rest)
	}
	s := p.rest[1 : 1+end]
	p.rest = p.rest[end+2:]
	return s, nil
}

func (p *pyParser) boolean() (bool, error) {
	if p.accept("True") {
		return true, nil
	}
	return false, p.take("False")
}

// tuple reads (), (1,), (1, 2) and so on: whole numbers that are not negative.
func (p *pyParser) tuple() ([]int64, error) {
	if err := p.take("("); err != nil {
		return nil, err
	}
	var dims []int64
	for !p.accept(")") {
		p.space()
		end := 0
		for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
			end++
		}
		v, err := strconv.ParseInt(p.rest[:end], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.20q where a size belongs", p.rest)
		}
		dims = append(dims, v)
		p.rest = p.rest[end:]
		if !p.accept(",") {
			return dims, p.take(")")
		}
	}
	return dims, nil
}
