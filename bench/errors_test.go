package bench

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestFormatErrorText(t *testing.T) {
	for want, e := range map[string]*FormatError{
		"bench: a.fbin: offset 8: want x, got y": {Path: "a.fbin", Offset: 8, Want: "x", Got: "y"},
		"bench: a.hdf5: want x: below":           {Path: "a.hdf5", Offset: -1, Want: "x", Err: errors.New("below")},
		"bench: a.jsonl:3: want x":               {Path: "a.jsonl", Offset: 8, Line: 3, Want: "x"},
		"bench: a.jsonl:3:7: want x":             {Path: "a.jsonl", Offset: 8, Line: 3, Column: 7, Want: "x"},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
}

// A malformed file never passes for the sound end of the rows.
func TestFormatErrorIsNotEOF(t *testing.T) {
	below := fmt.Errorf("inflate: %w", io.EOF)
	if err := error(&FormatError{Err: below}); errors.Is(err, io.EOF) || !errors.Is(err, ErrFormat) {
		t.Errorf("%v: is io.EOF, or not ErrFormat", err)
	}
	below = errors.New("other")
	if err := error(&FormatError{Err: below}); !errors.Is(err, below) || !errors.Is(err, ErrFormat) {
		t.Errorf("%v: is not both", err)
	}
}
