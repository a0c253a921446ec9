package bench

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

func TestParquetKeysAndMetadata(t *testing.T) {
	var keys, ids, meta, none []string
	for i := range 10 {
		keys, ids = append(keys, fmt.Sprint("key-", i)), append(ids, fmt.Sprint(i))
		m := fmt.Sprintf(`{"row": %d}`, i)
		if i == 3 {
			m = ""
		}
		meta, none = append(meta, m), append(none, "")
	}
	dashes := slices.Repeat([]string{"-"}, 10)
	for _, c := range []struct {
		file       string
		o          Options
		keys, meta []string
	}{
		{"list.parquet", Options{}, keys, meta},
		{"fixed.parquet", Options{}, ids, none},
		{"fixed.parquet", Options{KeyColumn: "text"}, keys, none},
		{"encoded.parquet", Options{}, keys, meta},
		{"encoded.parquet", Options{KeyColumn: "id"}, series(-9, 7), meta},
		{"encoded.parquet", Options{KeyColumn: "small"}, series(3, -1), meta},
		{"double.parquet", Options{}, dashes, none},
		{"two.parquet", Options{VectorColumn: "other"}, dashes, none},
		{"list.parquet", Options{KeyColumn: "metadata", MetadataColumn: "metadata"}, nil, meta},
	} {
		r, err := OpenOptions(seedPath(c.file), c.o)
		if err != nil {
			t.Errorf("%s %+v: %v", c.file, c.o, err)
			continue
		}
		if r.Rows() != 10 || r.Dim() != 4 {
			t.Errorf("%s: %d rows of %d", c.file, r.Rows(), r.Dim())
		}
		got := readAll(t, r)
		sameTable(t, c.file, got.vectors, table(10, 4, value))
		if c.keys != nil && !slices.Equal(got.keys, c.keys) || !slices.Equal(got.meta, c.meta) {
			t.Errorf("%s %+v: keys %q, metadata %q", c.file, c.o, got.keys, got.meta)
		}
	}
}

// series is ten numbers as text.
func series(from, step int) (s []string) {
	for i := range 10 {
		s = append(s, fmt.Sprint(from+i*step))
	}
	return s
}

func TestParquetOptionsMustFit(t *testing.T) {
	for _, o := range []Options{{VectorColumn: "key"}, {VectorColumn: "none"}, {KeyColumn: "none"}, {MetadataColumn: "vector"}} {
		_, err := OpenOptions(seedPath("list.parquet"), o)
		checkFault(t, "list.parquet", err, 0, `want a column "`)
	}
}

// Rows as another writer lays them out: many pages in a row group.
type parquetRow struct {
	ID       int64     `parquet:"id"`
	Vector   []float32 `parquet:"vector"`
	Metadata string    `parquet:"metadata"`
}

// parquetFile writes rows with small pages.
func parquetFile(t testing.TB, rows []parquetRow, o ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&b, append(o, parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(300))...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquetPages(t *testing.T) {
	rows := make([]parquetRow, 1000)
	want := table(1000, 16, value)
	for i := range rows {
		rows[i] = parquetRow{ID: int64(i), Vector: want[i], Metadata: "{}"}
	}
	for name, version := range map[string]int{"v1.parquet": 1, "v2.parquet": 2} {
		data := parquetFile(t, rows, parquet.DataPageVersion(version), parquet.Compression(&parquet.Gzip))
		r, err := Open(put(t, name, data))
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, r)
		sameTable(t, name, got.vectors, want)
		if got.keys[999] != "999" || got.meta[0] != "{}" {
			t.Errorf("%s: key %q, metadata %q", name, got.keys[999], got.meta[0])
		}
	}
}

func TestParquetRefusesRows(t *testing.T) {
	for want, row := range map[string]parquetRow{
		"want a JSON object as metadata, got \"[]\" in row 1": {Vector: []float32{1}, Metadata: "[]"},
		"want a vector, got a missing or empty one":           {Vector: nil, Metadata: "{}"},
		"want a vector of at most 1 values, got 2 in row 1":   {Vector: []float32{1, 2}, Metadata: "{}"},
		"got +Inf in column 0 in row 1 of column \"vector\"":  {Vector: []float32{float32FromBits(expF32)}, Metadata: "{}"},
	} {
		data := parquetFile(t, []parquetRow{{Vector: []float32{1}, Metadata: "{}"}, row})
		err := drain(newSource("a.parquet", bytes.NewReader(data), int64(len(data)), nil), Options{})
		checkFault(t, "a.parquet", err, -1, want)
	}
}

func TestParquetWithoutRows(t *testing.T) {
	data := parquetFile(t, nil)
	err := drain(newSource("a.parquet", bytes.NewReader(data), int64(len(data)), nil), Options{})
	checkFault(t, "a.parquet", err, 0, "want at least one row")
}
