package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/spratdb/sprat"
)

// InputFiles name the files of a set to load. Only Vectors is required.
type InputFiles struct {
	// Vectors is any file that [Open] reads.
	Vectors string
	// Keys holds one key a line, line i for row i. Without it the keys are those
	// that come with the vectors, or else the row numbers in decimal, from 0.
	Keys string
	// Metadata holds one JSON object a line, line i for row i. Without it the
	// metadata is that which comes with the vectors.
	Metadata string
}

// Input joins vectors with their keys and metadata into records to load. It is
// not safe for use by several goroutines at once.
type Input struct {
	files   InputFiles
	vectors Reader
	keys    *lineReader // nil without a file of keys
	meta    *lineReader // nil without a file of metadata
}

// OpenInput opens the files and reads their headers. Errors are those of [Open]
// and of the file system.
func OpenInput(files InputFiles) (_ *Input, err error) {
	in := &Input{files: files}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	if in.vectors, err = Open(files.Vectors); err != nil {
		return nil, err
	}
	if files.Keys != "" {
		if in.keys, err = openLines(files.Keys); err != nil {
			return nil, err
		}
	}
	if files.Metadata != "" {
		if in.meta, err = openLines(files.Metadata); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Dim is the number of values in each vector.
func (in *Input) Dim() int { return in.vectors.Dim() }

// Rows is the number of records, or -1 when that is not known before all were
// read.
func (in *Input) Rows() int64 { return in.vectors.Rows() }

// Close releases the files.
func (in *Input) Close() error {
	var errs []error
	if in.vectors != nil {
		errs = append(errs, in.vectors.Close())
	}
	for _, l := range []*lineReader{in.keys, in.meta} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// Records yields the rows in order, as [sprat.Store.Build] takes them: a record
// is valid until the next. The sequence can be run once. It ends with the first
// error: a [*FormatError] which names the file and the place, also when the
// files do not have the same number of rows.
func (in *Input) Records() iter.Seq2[sprat.Record, error] {
	return func(yield func(sprat.Record, error) bool) {
		var row Row
		for n := int64(0); ; n++ {
			rec, err := in.next(&row, n)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// next reads record n; io.EOF after the last of all files.
func (in *Input) next(row *Row, n int64) (sprat.Record, error) {
	if err := in.vectors.Next(row); errors.Is(err, io.EOF) {
		return sprat.Record{}, in.ended(n)
	} else if err != nil {
		return sprat.Record{}, err
	}
	rec := sprat.Record{Key: row.Key, Vector: row.Vector, Metadata: row.Metadata}
	if !row.HasKey {
		rec.Key = strconv.FormatInt(n, 10)
	}
	if in.keys != nil {
		key, err := in.line(in.keys, n, "keys")
		if err != nil {
			return sprat.Record{}, err
		}
		rec.Key = string(key)
	}
	if in.meta != nil {
		meta, err := in.line(in.meta, n, "objects")
		if err != nil {
			return sprat.Record{}, err
		}
		if len(meta) == 0 || meta[0] != '{' || !json.Valid(meta) {
			return sprat.Record{}, in.meta.lineFault("one JSON object", fmt.Sprintf("%.60q", meta))
		}
		rec.Metadata = meta
	}
	return rec, nil
}

// line reads the line that belongs to row n. When the file is too short, the
// rest of the vectors is counted for the error.
func (in *Input) line(l *lineReader, n int64, what string) ([]byte, error) {
	b, err := l.next()
	if !errors.Is(err, io.EOF) {
		return b, err
	}
	rows := in.Rows()
	if rows < 0 {
		rows = n + 1
		for row := new(Row); in.vectors.Next(row) == nil; rows++ {
		}
	}
	return nil, in.unequal(l, rows, what)
}

// ended returns io.EOF when no file goes on after row n-1, the last.
func (in *Input) ended(n int64) error {
	if err := in.endedLines(in.keys, n, "keys"); err != nil {
		return err
	}
	if err := in.endedLines(in.meta, n, "objects"); err != nil {
		return err
	}
	return io.EOF
}

// endedLines checks that a file of lines, if there is one, has n.
func (in *Input) endedLines(l *lineReader, n int64, what string) error {
	if l == nil {
		return nil
	}
	lines, err := l.count()
	if err == nil && lines != n {
		err = in.unequal(l, n, what)
	}
	return err
}

// unequal says that a file of lines does not fit the vectors.
func (in *Input) unequal(l *lineReader, rows int64, what string) error {
	return l.fault(fmt.Sprintf("%d %s, one for each row of %s", rows, what, in.files.Vectors),
		fmt.Sprintf("%d", l.n))
}
