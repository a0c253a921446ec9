package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/spratdb/sprat/bench/parquetpage"
)

// parquetExpansion bounds what the pages of one column of one row group may expand
// to, in bytes and in values for each byte of the file. Real vectors shrink a few
// times at most.
const parquetExpansion = 64

// parquetReader reads a Parquet file row group by row group, page by page.
type parquetReader struct {
	src    *source
	file   *parquet.File
	dim    int
	maxDim int
	group  int   // row group being read, -1 before the first
	left   int64 // rows left in it
	done   int64 // rows handed out
	first  *Row  // row 0, read at Open to know the dimension

	vector, key, metadata *parquetColumn // the latter two nil when absent
}

// openParquet finds the columns and reads the first row, which sets the dimension
// of all others.
func openParquet(src *source, o Options) (Reader, error) {
	r, err := newParquetReader(src, o)
	if err != nil {
		return nil, err
	}
	first := new(Row)
	err = r.read(first)
	if err == io.EOF {
		err = src.fault(0, "at least one row", "none")
	}
	if err != nil {
		r.closeColumns()
		return nil, err
	}
	r.first, r.dim = first, len(first.Vector)
	return r, nil
}

// newParquetReader reads the footer.
func newParquetReader(src *source, o Options) (*parquetReader, error) {
	r := &parquetReader{src: src, maxDim: o.MaxDim, group: -1}
	if err := parquetpage.CheckFooter(src.at, src.size); err != nil {
		return nil, footerError(src, err)
	}
	if err := r.parse(o); err != nil {
		return nil, footerError(src, err)
	}
	if n := r.file.NumRows(); n < 0 || n > parquetExpansion*src.size {
		return nil, src.fault(src.size, fmt.Sprintf("0 to %d rows in a file of %d bytes", parquetExpansion*src.size, src.size), strconv.FormatInt(n, 10))
	}
	return r, nil
}

// parse has the library parse the footer, and picks the columns. The library does
// not expect footers that contradict themselves; where it panics, that is the
// file's error.
func (r *parquetReader) parse(o Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parquet: %v", p)
		}
	}()
	r.file, err = parquet.OpenFile(r.src.at, r.src.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.ReadBufferSize(int(min(64<<10, r.src.size))))
	if err != nil {
		return err
	}
	return r.findColumns(o)
}

// footerError gives all errors of a footer this package's type.
func footerError(src *source, err error) error {
	var e *parquetpage.Error
	switch {
	case errors.Is(err, ErrFormat):
		return err
	case errors.As(err, &e):
		return &FormatError{Path: src.path, Offset: e.Offset, Want: e.Want, Got: e.Got, Err: e.Err}
	}
	return &FormatError{Path: src.path, Offset: src.size, Want: "a Parquet footer", Got: "another", Err: err}
}

func (r *parquetReader) Dim() int    { return r.dim }
func (r *parquetReader) Rows() int64 { return r.file.NumRows() }

func (r *parquetReader) Close() error {
	r.closeColumns()
	return r.src.Close()
}

func (r *parquetReader) closeColumns() {
	for _, c := range r.columns() {
		c.close()
	}
}

// columns lists those that are read.
func (r *parquetReader) columns() []*parquetColumn {
	cols := make([]*parquetColumn, 0, 3)
	for _, c := range []*parquetColumn{r.vector, r.key, r.metadata} {
		if c != nil {
			cols = append(cols, c)
		}
	}
	return cols
}

func (r *parquetReader) Next(row *Row) error {
	if r.first != nil {
		*row, r.first = *r.first, nil
		return nil
	}
	return r.read(row)
}

// read reads the next row of every column.
func (r *parquetReader) read(row *Row) error {
	for r.left == 0 {
		if err := r.nextGroup(); err != nil {
			return err
		}
	}
	row.grow(0)
	if err := r.readVector(row); err != nil {
		return err
	}
	if err := r.readKey(row); err != nil {
		return err
	}
	if err := r.readMetadata(row); err != nil {
		return err
	}
	r.left--
	r.done++
	return nil
}

// readKey reads the row's key: a text as it is, or the digits of a number.
func (r *parquetReader) readKey(row *Row) error {
	c := r.key
	if c == nil {
		return nil
	}
	at, ok, err := c.next(r)
	if err != nil || !ok {
		return err
	}
	switch c.kind {
	case parquetpage.Int32:
		row.Key = strconv.FormatInt(int64(int32(binary.LittleEndian.Uint32(c.page.Raw[4*at:]))), 10)
	case parquetpage.Int64:
		row.Key = strconv.FormatInt(int64(binary.LittleEndian.Uint64(c.page.Raw[8*at:])), 10)
	default:
		if !utf8.Valid(c.page.Texts[at]) {
			return r.rowFault(c, "a key in UTF-8", fmt.Sprintf("%.40q", c.page.Texts[at]))
		}
		row.Key = string(c.page.Texts[at])
	}
	row.HasKey = true
	return nil
}

// readMetadata reads the row's metadata.
func (r *parquetReader) readMetadata(row *Row) error {
	c := r.metadata
	if c == nil {
		return nil
	}
	at, ok, err := c.next(r)
	if err != nil || !ok {
		return err
	}
	if text := c.page.Texts[at]; !isJSONObject(text) {
		return r.rowFault(c, "a JSON object as metadata", fmt.Sprintf("%.40q", text))
	}
	row.setMetadata(c.page.Texts[at])
	return nil
}

// nextGroup moves all columns to the next row group, or returns io.EOF.
func (r *parquetReader) nextGroup() error {
	for _, c := range r.columns() {
		if c.reader == nil {
			continue
		}
		if err := c.finish(r); err != nil {
			return err
		}
	}
	groups := r.file.RowGroups()
	if r.group+1 == len(groups) {
		if r.done != r.file.NumRows() {
			return r.src.fault(r.src.size, fmt.Sprintf("%d rows as the footer says", r.file.NumRows()), fmt.Sprintf("%d in the row groups", r.done))
		}
		return io.EOF
	}
	r.group++
	r.left = groups[r.group].NumRows()
	if r.left < 0 || r.left > r.file.NumRows()-r.done {
		return r.src.fault(r.src.size, fmt.Sprintf("row groups of %d rows in all", r.file.NumRows()), fmt.Sprintf("%d in group %d", r.left, r.group))
	}
	if r.left == 0 {
		return nil
	}
	for _, c := range r.columns() {
		if err := c.open(r); err != nil {
			return err
		}
	}
	return nil
}

// readVector reads the list that is the next row's vector, which may go on in
// further pages.
func (r *parquetReader) readVector(row *Row) error {
	c := r.vector
	if err := c.begin(r); err != nil {
		return err
	}
	most := r.dim
	if most == 0 {
		most = r.maxDim
	}
	e := elementOf(c.kind)
	for {
		raw, ok := c.run()
		if !ok {
			return r.rowFault(c, "a vector", "a missing or empty one, or a missing value in it")
		}
		had := len(row.Vector)
		n := had + len(raw)/e.size()
		if n > most {
			return r.rowFault(c, fmt.Sprintf("a vector of at most %d values", most), strconv.Itoa(n))
		}
		row.Vector = slices.Grow(row.Vector, n-had)[:n]
		if bad := e.floats(row.Vector[had:], raw); bad >= 0 {
			return r.rowFault(c, "a finite value in the range of float32", fmt.Sprintf("%v in column %d", row.Vector[had+bad], had+bad))
		}
		err := c.more(r)
		if err == io.EOF || err == nil && c.page.Rep[c.entry] == 0 {
			break
		}
		if err != nil {
			return err
		}
	}
	if n := len(row.Vector); r.dim > 0 && n != r.dim {
		return r.rowFault(c, fmt.Sprintf("a vector of %d values as in the first row", r.dim), strconv.Itoa(n))
	}
	return nil
}

// rowFault makes the error for the row that is being read.
func (r *parquetReader) rowFault(c *parquetColumn, want, got string) error {
	return r.src.fault(c.off, want, fmt.Sprintf("%s in row %d of column %q (its row group starts at the offset)", got, r.done, c.name))
}
