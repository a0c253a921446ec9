package filterindex

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/spratdb/sprat/internal/filter"
)

const (
	// MaxTerms is how many terms a document may have and not be irregular. The
	// documents that S3 Vectors takes have fewer.
	MaxTerms = 512
	// MaxFieldBytes is the longest field name that stands in rows as it is.
	MaxFieldBytes = 128
	// MaxStringBytes is how much of a string stands in rows as it is.
	MaxStringBytes = 64
)

// The first byte of a term.
const (
	fieldIrregular = 0x00
	fieldPlain     = 0x01
	fieldHashed    = 0x02
)

// Types of terms.
const (
	typeExists   = 0x00
	typeBool     = 0x01
	typeString   = 0x02
	typeElement  = 0x03 // a number in a list
	typeInterval = 0x10 // + level, of intervals
	typeNumber   = 0x20 // + level from which on the number's bits are zero
)

// What follows the zero byte in names and strings.
const (
	afterEnd    = 0x01
	afterCut    = 0x02
	afterEscape = 0xff
)

// Irregular is the term of documents with too many terms.
const Irregular = "\x00"

// Terms returns the terms of a document, distinct; none for a document without
// fields. nonFilterable, which may be nil, names fields that are left out. A text
// that is no JSON object has no terms: no filter matches it.
func Terms(doc []byte, nonFilterable func(field string) bool) []string {
	fields, err := filter.Values(doc)
	if err != nil {
		return nil
	}
	var terms []string
	for i := range fields {
		if f := &fields[i]; nonFilterable == nil || !nonFilterable(f.Key) {
			terms = appendField(terms, f)
		}
		if len(terms) > MaxTerms {
			return []string{Irregular}
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

func appendField(terms []string, f *filter.Field) []string {
	prefix := fieldTerm(nil, f.Key)
	terms = append(terms, string(append(prefix, typeExists)))
	for _, v := range f.Values {
		if len(terms) > MaxTerms {
			return terms
		}
		switch {
		case v.Kind == filter.Number && f.List:
			terms = append(terms, string(elementTerm(prefix, v.Number)))
		case v.Kind == filter.Number:
			terms = appendNumber(terms, prefix, v.Number)
		case v.Kind == filter.Bool:
			terms = append(terms, string(boolTerm(prefix, v.Bool)))
		case v.Kind == filter.String:
			terms = append(terms, string(stringTerm(prefix, v.String)))
		}
	}
	return terms
}

// fieldTerm appends the beginning of all terms of a field.
func fieldTerm(b []byte, name string) []byte {
	if len(name) > MaxFieldBytes {
		sum := sha256.Sum256([]byte(name))
		return append(append(b, fieldHashed), sum[:]...)
	}
	return append(escape(append(b, fieldPlain), name), 0, afterEnd)
}

// escape appends a text so that it can be ended, in the order of its bytes.
func escape(b []byte, text string) []byte {
	for i := range len(text) {
		if b = append(b, text[i]); text[i] == 0 {
			b = append(b, afterEscape)
		}
	}
	return b
}

// The functions below leave prefix, which the callers use again, as it is.

func boolTerm(prefix []byte, v bool) []byte {
	b := append(slices.Clip(prefix), typeBool, 0)
	if v {
		b[len(b)-1] = 1
	}
	return b
}

func stringTerm(prefix []byte, s string) []byte {
	b := append(slices.Clip(prefix), typeString)
	if len(s) <= MaxStringBytes {
		return append(escape(b, s), 0, afterEnd)
	}
	sum := sha256.Sum256([]byte(s))
	return append(append(escape(b, s[:MaxStringBytes]), 0, afterCut), sum[:]...)
}

func elementTerm(prefix []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(slices.Clip(prefix), typeElement), ordered(v))
}

func levelTerm(prefix []byte, kind byte, level int, x uint64) []byte {
	return binary.BigEndian.AppendUint64(append(slices.Clip(prefix), kind+byte(level)), x)
}

// intervalBits are the bits that intervals of each level leave open; beyond the
// last there are numbers alone.
var intervalBits = [...]int{64 - 16, 64 - 22, 64 - 28}

// levelOf is the first level at which nothing of a number is left open.
func levelOf(x uint64) int {
	for level, open := range intervalBits {
		if x&(1<<open-1) == 0 {
			return level
		}
	}
	return len(intervalBits)
}

func appendNumber(terms []string, prefix []byte, v float64) []string {
	x := ordered(v)
	last := levelOf(x)
	for level, open := range intervalBits[:last] {
		terms = append(terms, string(levelTerm(prefix, typeInterval, level, x>>open<<open)))
	}
	return append(terms, string(levelTerm(prefix, typeNumber, last, x)))
}

// ordered maps numbers to integers of the same order. Both zeros are one, and what
// is zero at the end of a number is zero at the end of the integer.
func ordered(v float64) uint64 {
	if v == 0 {
		v = 0
	}
	x := math.Float64bits(v)
	if x>>63 != 0 {
		return -x
	}
	return x | 1<<63
}
