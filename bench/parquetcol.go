package bench

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/spratdb/sprat/bench/parquetpage"
)

// parquetKinds maps the types of the columns that can be read.
var parquetKinds = map[parquet.Kind]parquetpage.Kind{
	parquet.Float: parquetpage.Float, parquet.Double: parquetpage.Double,
	parquet.Int32: parquetpage.Int32, parquet.Int64: parquetpage.Int64, parquet.ByteArray: parquetpage.Text,
}

// parquetColumn streams the values of one leaf column, one row group after another.
type parquetColumn struct {
	name   string
	leaf   *parquet.Column
	kind   parquetpage.Kind
	reader *parquetpage.Reader // nil before the first row group
	off    int64               // where the chunk of the row group starts
	page   *parquetpage.Page   // nil at the start of a row group
	entry  int                 // next one of page
	value  int                 // next present value of page
}

// newParquetColumn makes a column of a leaf, or nil if its type is not among kinds.
func newParquetColumn(name string, leaf *parquet.Column, kinds ...parquetpage.Kind) *parquetColumn {
	kind := parquetKinds[leaf.Type().Kind()]
	for _, k := range kinds {
		if k == kind {
			return &parquetColumn{name: name, leaf: leaf, kind: kind}
		}
	}
	return nil
}

// open begins the current row group of r.
func (c *parquetColumn) open(r *parquetReader) error {
	meta := &r.file.Metadata().RowGroups[r.group].Columns[c.leaf.Index()].MetaData
	c.off = meta.DataPageOffset
	if d := meta.DictionaryPageOffset; d != 0 && d < c.off {
		c.off = d
	}
	size := r.src.size
	if n := meta.TotalCompressedSize; c.off < 0 || n < 0 || c.off > size || n > size-c.off {
		return r.src.fault(size, fmt.Sprintf("column %q within the file", c.name), fmt.Sprintf("%d bytes at %d", n, c.off))
	}
	if c.reader == nil {
		c.reader = parquetpage.NewReader(r.src.at)
	}
	c.page = nil
	return c.pageError(r, c.reader.Reset(parquetpage.Column{
		Start: c.off, End: c.off + meta.TotalCompressedSize,
		Codec: parquetpage.Codec(meta.Codec), Kind: c.kind,
		MaxRep: c.leaf.MaxRepetitionLevel(), MaxDef: c.leaf.MaxDefinitionLevel(),
		Limit: parquetExpansion * size,
	}))
}

// close releases the column's reader.
func (c *parquetColumn) close() {
	if c.reader != nil {
		c.reader.Close()
	}
}

// pageError gives a format error this package's type, and other errors the path.
func (c *parquetColumn) pageError(r *parquetReader, err error) error {
	var e *parquetpage.Error
	if errors.As(err, &e) {
		return &FormatError{Path: r.src.path, Offset: e.Offset, Want: e.Want,
			Got: fmt.Sprintf("%s in column %q", e.Got, c.name), Err: e.Err}
	}
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("bench: %s: %w", r.src.path, err)
}

// more makes sure that there is a next entry, or returns io.EOF at the end of the
// row group.
func (c *parquetColumn) more(r *parquetReader) error {
	for c.page == nil || c.entry == c.page.N {
		page, err := c.reader.Next()
		if err != nil {
			return c.pageError(r, err)
		}
		c.page, c.entry, c.value = page, 0, 0
	}
	return nil
}

// begin makes sure that a row starts at the next entry.
func (c *parquetColumn) begin(r *parquetReader) error {
	err := c.more(r)
	if err == io.EOF {
		return r.rowFault(c, fmt.Sprintf("%d more rows", r.left), "the end of the column")
	}
	if err == nil && c.page.Rep != nil && c.page.Rep[c.entry] != 0 {
		return r.rowFault(c, "the start of a row", "a further value of a row")
	}
	return err
}

// finish checks that the row group has no more values.
func (c *parquetColumn) finish(r *parquetReader) error {
	switch err := c.more(r); err {
	case io.EOF:
		return nil
	case nil:
		return r.rowFault(c, "the end of the column after the last row", "more values")
	default:
		return err
	}
}

// next moves behind the next entry, the value of a row of a column that is not
// repeated. It tells whether the value is present; if so, it is number at.
func (c *parquetColumn) next(r *parquetReader) (at int, present bool, err error) {
	if err := c.begin(r); err != nil {
		return 0, false, err
	}
	present = c.page.Def == nil || int(c.page.Def[c.entry]) == c.leaf.MaxDefinitionLevel()
	at = c.value
	c.entry++
	if present {
		c.value++
	}
	return at, present, nil
}

// run moves behind the entries that belong to the row at the next one, within the
// page, and returns their bytes. It is false if a value among them is missing.
func (c *parquetColumn) run() ([]byte, bool) {
	start := c.entry
	for c.entry++; c.entry < c.page.N && c.page.Rep[c.entry] != 0; c.entry++ {
	}
	for _, d := range c.page.Def[start:c.entry] {
		if int(d) != c.leaf.MaxDefinitionLevel() {
			return nil, false
		}
	}
	size := elementOf(c.kind).size()
	from := c.value
	c.value += c.entry - start
	return c.page.Raw[from*size : c.value*size], true
}

// elementOf is the element of the values of a vector column.
func elementOf(k parquetpage.Kind) element {
	if k == parquetpage.Double {
		return elemF64
	}
	return elemF32
}
