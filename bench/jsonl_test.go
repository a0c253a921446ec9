package bench

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// openText opens lines of JSON without a file.
func openText(text string, o Options) (Reader, error) {
	src := newSource("a.jsonl", strings.NewReader(text), int64(len(text)), nil)
	return newReader(src, o.withDefaults())
}

func TestJSONL(t *testing.T) {
	text := "\xef\xbb\xbf" + strings.Join([]string{
		`{"key": "a", "vector": [1, 2.5], "metadata": {"n": [1, {"x": "}]"}], "s": "\"{"}}`,
		``,
		` { "metadata" : null , "values" : [ -1e3 , 0 ] , "id" : 17 } ` + "\r",
		`{"other": {"vector": [9]}, "data": {"float64": [3], "float32": [1, 2]}, "key": "\u00e9\n\"", "more": "[", "x": true}`,
		`[3e-2,4]`,
		`{"vector":[1E+2,-0.0],"key":"","metadata":{}}`,
	}, "\n")
	r, err := openText(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, r)
	minusZero := float32(math.Copysign(0, -1))
	sameTable(t, "vectors", got.vectors, [][]float32{{1, 2.5}, {-1000, 0}, {1, 2}, {0.03, 4}, {100, minusZero}})
	if want := []string{"a", "17", "é\n\"", "-", ""}; !slices.Equal(got.keys, want) {
		t.Errorf("keys %q, want %q", got.keys, want)
	}
	if want := []string{`{"n": [1, {"x": "}]"}], "s": "\"{"}`, "", "", "", "{}"}; !slices.Equal(got.meta, want) {
		t.Errorf("metadata %q, want %q", got.meta, want)
	}
}

func TestJSONLMalformed(t *testing.T) {
	const ok = `[1, 2]` + "\n"
	for _, c := range []struct {
		text      string
		line, col int
		want      string
	}{
		{ok + `[1, NaN]`, 2, 5, `want a number, got "NaN]"`},
		{ok + `[1, Infinity]`, 2, 5, "want a number"},
		{ok + `[1, -Infinity]`, 2, 5, "want a number"},
		{ok + `[1, 3.5e38]`, 2, 5, "want a number in the range of float32"},
		{ok + `[1, -1e400]`, 2, 5, "range of float32"},
		{ok + `[1, 1e99999999999999999999]`, 2, 5, "range of float32"},
		{ok + "\n\n" + `[1, x]`, 4, 5, "want a number"},
		{ok + `[1, 01]`, 2, 5, "want a number"},
		{ok + `[1, +1]`, 2, 5, "want a number"},
		{ok + `[1, .5]`, 2, 5, "want a number"},
		{ok + `[1, 5.]`, 2, 5, "want a number"},
		{ok + `[1, 1e]`, 2, 5, "want a number"},
		{ok + `[1, 0x1]`, 2, 6, "want ']'"},
		{ok + `[1, "2"]`, 2, 5, "want a number"},
		{ok + `[1, null]`, 2, 5, "want a number"},
		{ok + `[1, 2,]`, 2, 7, "want a number"},
		{ok + `[1 2]`, 2, 4, "want ']'"},
		{ok + `[1, 2`, 2, 6, "want ']', got the end of the line"},
		{ok + `[1, 2] 3`, 2, 8, "want the end of the line after the row"},
		{ok + `[1]`, 2, 1, "want 2 values as in the first row, got 1"},
		{ok + `{"vector": [1, 2, 3]}`, 2, 12, "want 2 values as in the first row, got more than 2"},
		{`[]`, 1, 1, "want 1 to 4096 values, got 0"},
		{ok + `[]`, 2, 1, "want 2 values as in the first row, got 0"},
		{ok + `17`, 2, 1, "want an object or an array"},
		{ok + `{}`, 2, 1, `want a field "vector", "values" or "data"`},
		{ok + `{"data": {"int8": [1, 2]}}`, 2, 1, `want a field "vector"`},
		{ok + `{"vector": [1, 2], "values": [1, 2]}`, 2, 30, "want one vector in a row"},
		{ok + `{"vector": [1, 2], "key": "a", "id": "b"}`, 2, 32, `want one field "key" or "id"`},
		{ok + `{"vector": [1, 2], "key": 1.5}`, 2, 27, "want a text or a whole number"},
		{ok + `{"vector": [1, 2], "key": null}`, 2, 27, "want a text or a whole number"},
		{ok + `{"vector": [1, 2], "metadata": [1]}`, 2, 32, "want an object in UTF-8"},
		{ok + `{"vector": [1, 2], "metadata": {"a": 1,}}`, 2, 40, "want a JSON value"},
		{ok + `{"vector": [1, 2], "metadata": {"a": "` + "\xff" + `"}}`, 2, 32, "want an object in UTF-8"},
		{ok + `{"vector": [1, 2], "metadata": {}, "metadata": {}}`, 2, 36, `want one field "metadata"`},
		{ok + `{"vector": [1, 2], "key": "` + "\xff" + `"}`, 2, 27, "want a string in UTF-8"},
		{ok + `{"vector": [1, 2], "x": tru}`, 2, 27, "want a JSON value"},
		{ok + `{"vector": [1, 2], "x": {]}`, 2, 26, "want a JSON value"},
		{ok + `{"vector": [1, 2], "x"`, 2, 23, "want ':'"},
		{ok + `{vector: [1, 2]}`, 2, 2, "want a JSON value"},
		{ok + `{"vector": [1, 2]`, 2, 18, "want '}'"},
		{ok + strings.Repeat(" ", 300) + "[1,2]", 2, 0, "want a line of at most 256 bytes"},
		{" \n\n", 0, 0, "want at least one row of JSON"},
	} {
		r, err := openText(c.text, Options{MaxLine: 256})
		for row := new(Row); err == nil; {
			err = r.Next(row)
		}
		var fe *FormatError
		if !errors.As(err, &fe) {
			t.Errorf("%q: error %v, want a *FormatError", c.text, err)
			continue
		}
		if fe.Line != c.line || fe.Column != c.col || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %q, want line %d, column %d, %q", c.text, err, c.line, c.col, c.want)
		}
		if c.col > 0 {
			at := len(strings.Join(strings.SplitAfter(c.text, "\n")[:c.line-1], "")) + c.col - 1
			if fe.Offset != int64(at) {
				t.Errorf("%q: offset %d, want %d", c.text, fe.Offset, at)
			}
		}
	}
}

// A row longer than the buffer is read whole, and memory of one row does not leak
// into the next.
func TestJSONLLongLines(t *testing.T) {
	long := strings.Repeat("x", bufferBytes)
	text := `{"key":"` + long + `1","vector":[1]}` + "\n" + `{"key":"` + long + `2","vector":[2]}` + "\n[3]"
	r, err := openText(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, r)
	if want := []string{long + "1", long + "2", "-"}; !slices.Equal(got.keys, want) {
		t.Error("the keys differ")
	}
	sameTable(t, "vectors", got.vectors, [][]float32{{1}, {2}, {3}})
}

// number rounds as strconv does, on any spelling.
func TestNumberRounds(t *testing.T) {
	digits := rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?`)
	near := rapid.Custom(func(t *rapid.T) string {
		// Close to half way between two float32, where rounding twice goes wrong.
		f := rapid.Float32Range(1e-10, 1e10).Draw(t, "f")
		half := float64(f) + float64(math.Nextafter32(f, 2*f)-f)/2
		return strconv.FormatFloat(half, 'g', rapid.IntRange(6, 20).Draw(t, "digits"), 64)
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(digits, near).Draw(t, "text")
		want, wantErr := strconv.ParseFloat(text, 32)
		s := jsonScanner{line: []byte(text)}
		got, err := s.number()
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%s: error %v, strconv's %v", text, err, wantErr)
		}
		if err == nil && (math.Float32bits(got) != math.Float32bits(float32(want)) || s.pos != len(text)) {
			t.Fatalf("%s: %v and %d bytes left, want %v", text, got, len(text)-s.pos, want)
		}
	})
}

// Whatever rows are written as JSON are read back.
func TestJSONLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 5).Draw(t, "rows")
		dim := rapid.IntRange(1, 9).Draw(t, "dim")
		var text bytes.Buffer
		var want [][]float32
		var keys []string
		for range rows {
			v := rapid.SliceOfN(rapid.Float32(), dim, dim).Draw(t, "vector")
			key := strings.ToValidUTF8(rapid.String().Draw(t, "key"), "?")
			text.WriteString(`{"vector":[`)
			for i, f := range v {
				if i > 0 {
					text.WriteByte(',')
				}
				text.WriteString(strconv.FormatFloat(float64(f), 'e', -1, 32))
			}
			text.WriteString(`],"key":` + jsonText(key) + "}\n")
			want, keys = append(want, v), append(keys, key)
		}
		r, err := openText(text.String(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			var row Row
			if err := r.Next(&row); err != nil {
				t.Fatalf("row %d of %q: %v", i, text.String(), err)
			}
			if !slices.Equal(row.Vector, want[i]) || row.Key != keys[i] {
				t.Fatalf("row %d: %v %q, want %v %q", i, row.Vector, row.Key, want[i], keys[i])
			}
		}
	})
}
