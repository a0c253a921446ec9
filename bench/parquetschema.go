package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/spratdb/sprat/bench/parquetpage"
)

// findColumns picks the columns by option or by default.
func (r *parquetReader) findColumns(o Options) error {
	var lists []*parquet.Column
	flat := make(map[string]*parquet.Column)
	var names []string
	for _, c := range r.file.Root().Columns() {
		names = append(names, fmt.Sprintf("%.40q", c.Name()))
		if leaf := floatList(c); leaf != nil {
			lists = append(lists, c)
		}
		if c.Leaf() && c.MaxRepetitionLevel() == 0 {
			flat[c.Name()] = c
		}
	}
	have := "the columns [" + strings.Join(names[:min(len(names), 32)], " ") + "]"
	v := pickVector(lists, o.VectorColumn)
	if v == nil {
		want := "one column that is a list of floats or doubles, or one of them named vector, embedding or emb"
		if o.VectorColumn != "" {
			want = fmt.Sprintf("a column %q that is a list of floats or doubles", o.VectorColumn)
		}
		return r.src.fault(0, want, have)
	}
	r.vector = newParquetColumn(v.Name(), floatList(v), parquetpage.Float, parquetpage.Double)
	r.key = pickFlat(flat, o.KeyColumn, []string{"key", "id"}, parquetpage.Text, parquetpage.Int32, parquetpage.Int64)
	if r.key == nil && o.KeyColumn != "" {
		return r.src.fault(0, fmt.Sprintf("a column %q of text, int32 or int64", o.KeyColumn), have)
	}
	r.metadata = pickFlat(flat, o.MetadataColumn, []string{"metadata"}, parquetpage.Text)
	if r.metadata == nil && o.MetadataColumn != "" {
		return r.src.fault(0, fmt.Sprintf("a column %q of text", o.MetadataColumn), have)
	}
	return nil
}

// floatList returns the leaf of a column that is a list of floats or doubles, or
// nil.
func floatList(c *parquet.Column) *parquet.Column {
	leaf := c
	for !leaf.Leaf() {
		if len(leaf.Columns()) != 1 {
			return nil
		}
		leaf = leaf.Columns()[0]
	}
	kind := leaf.Type().Kind()
	if leaf.MaxRepetitionLevel() != 1 || kind != parquet.Float && kind != parquet.Double {
		return nil
	}
	return leaf
}

// pickVector returns the wanted column, or by default the first with a usual name,
// or the only one.
func pickVector(lists []*parquet.Column, want string) *parquet.Column {
	names := []string{"vector", "embedding", "emb"}
	if want != "" {
		names = []string{want}
	}
	for _, c := range lists {
		if slices.Contains(names, c.Name()) {
			return c
		}
	}
	if want == "" && len(lists) == 1 {
		return lists[0]
	}
	return nil
}

// pickFlat returns the wanted column, or by default the first of the usual names,
// if it is of one of the kinds; else nil.
func pickFlat(cols map[string]*parquet.Column, want string, usual []string, kinds ...parquetpage.Kind) *parquetColumn {
	if want != "" {
		usual = []string{want}
	}
	for _, name := range usual {
		if leaf := cols[name]; leaf != nil {
			if c := newParquetColumn(name, leaf, kinds...); c != nil {
				return c
			}
		}
	}
	return nil
}
