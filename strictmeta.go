package sprat

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/spratdb/sprat/internal/filter"
)

// PutOptions change one Put. The zero value is Put.
type PutOptions struct {
	// StrictMetadata refuses documents that S3 Vectors refuses: values other than
	// strings, numbers, booleans and lists of strings or of numbers; more than 50
	// fields; more than 2 KiB of filterable fields, or 40 KiB in all, as S3 Vectors
	// counts them. Put takes any JSON object of at most 40 KiB of text.
	StrictMetadata bool
}

// PutWith is Put with options. The *InputError of a document has the field
// "metadata", and as Got the message of S3 Vectors.
func (ix *Index) PutWith(ctx context.Context, records []Record, opts PutOptions) error {
	if opts.StrictMetadata {
		for i := range records {
			if err := ix.checkStrictly(records[i].Metadata); err != nil {
				return &RowError{Row: int64(i), Key: records[i].Key, Err: err}
			}
		}
	}
	return ix.Put(ctx, records)
}

func (ix *Index) checkStrictly(doc []byte) error {
	_, err := filter.ParseDocument(doc, ix.nonFilterable())
	var refused *filter.DocumentError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Key != "":
		return &InputError{Field: "metadata", Want: "a flat document, see field " + refused.Key, Got: refused.Message}
	case errors.As(err, &refused):
		return &InputError{Field: "metadata", Want: "a document within the limits", Got: refused.Message}
	}
	return &InputError{Field: "metadata", Want: "a JSON object", Got: MalformedJSON}
}

// MalformedJSON is what an *InputError has as Got when a filter, or a document of a
// strict put, is no JSON text.
const MalformedJSON = "malformed JSON"

// nonFilterable tells the fields that filters may not name; nil when there are none.
func (ix *Index) nonFilterable() func(field string) bool {
	return keySet(ix.row.NonFilterable)
}

func keySet(names []string) func(string) bool {
	if len(names) == 0 {
		return nil
	}
	return func(name string) bool { return slices.Contains(names, name) }
}

const (
	maxNonFilterable      = 64
	maxNonFilterableBytes = 1024
)

// checkNonFilterable checks the names of an index to be made.
func checkNonFilterable(names []string) error {
	if len(names) > maxNonFilterable {
		return invalid("nonFilterable", "at most 64 names", "%d", len(names))
	}
	for i, name := range names {
		switch {
		case name == "" || len(name) > maxNonFilterableBytes || !utf8.ValidString(name):
			return invalid("nonFilterable", "names of 1 to 1,024 bytes of UTF-8", "%.100q", name)
		case slices.Contains(names[:i], name):
			return invalid("nonFilterable", "each name once", "%.100q again", name)
		}
	}
	return nil
}
