package filterindex

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/internal/filter"
)

// table is Rows in memory.
type table map[string][]byte

func (t table) Scan(from, to []byte, f func(key, value []byte) (bool, error)) error {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if key < string(from) || to != nil && key >= string(to) {
			continue
		}
		if more, err := f([]byte(key), t[key]); err != nil || !more {
			return err
		}
	}
	return nil
}

// add puts the terms of a document into the rows, as a commit does.
func (t table) add(slot uint32, doc string) {
	for _, term := range Terms([]byte(doc), nil) {
		key := string(RowKey(nil, term, slot))
		var row Row
		if v, ok := t[key]; ok {
			if err := row.Read(v); err != nil {
				panic(err)
			}
		}
		row.Add(slot)
		t[key] = row.Append(nil)
	}
}

var (
	long      = strings.Repeat("long", 20)
	texts     = []any{"", "a", "ab", "a\x00b", "é", long, long + "x", long[:64], long[:63], "1", "true"}
	figures   = []any{0.0, math.Copysign(0, -1), 1.0, -1.0, 2.0, 3.0, 1.5, 1e300, -1e-300, 33.0, 2049.0, 123457.0, 123458.5, 1790000001.25, 1790000002.0, 5e-324}
	fields    = []string{"a", "b", "é", "a\x00b", strings.Repeat("name", 40)}
	operators = []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$startsWith"}
)

func drawScalar(rt *rapid.T) any {
	switch rapid.IntRange(0, 3).Draw(rt, "kind") {
	case 0:
		return rapid.SampledFrom(texts).Draw(rt, "text")
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2:
		return math.Round(rapid.Float64Range(-1e9, 1e9).Draw(rt, "any"))
	}
	return rapid.SampledFrom(figures).Draw(rt, "figure")
}

func drawDocument(rt *rapid.T) string {
	doc := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(rt, "fields") {
		var v any
		switch rapid.IntRange(0, 7).Draw(rt, "shape") {
		case 0:
			v = nil
		case 1, 2:
			v = rapid.SliceOfN(rapid.Custom(drawScalar), 0, 4).Draw(rt, "list")
		default:
			v = drawScalar(rt)
		}
		doc[rapid.SampledFrom(fields).Draw(rt, "field")] = v
	}
	if rapid.IntRange(0, 30).Draw(rt, "irregular") == 0 {
		var many []int
		for i := range MaxTerms + 1 {
			many = append(many, i)
		}
		doc["b"] = many
	}
	text, err := json.Marshal(doc)
	if err != nil {
		rt.Fatal(err)
	}
	return string(text)
}

func drawFilter(rt *rapid.T, depth int) any {
	if depth < 3 && rapid.IntRange(0, 2).Draw(rt, "join") == 0 {
		var branches []any
		for range rapid.IntRange(1, 3).Draw(rt, "branches") {
			branches = append(branches, drawFilter(rt, depth+1))
		}
		return map[string]any{rapid.SampledFrom([]string{"$and", "$or"}).Draw(rt, "joint"): branches}
	}
	op := rapid.SampledFrom(operators).Draw(rt, "op")
	var operand any
	switch op {
	case "$eq", "$ne":
		operand = drawScalar(rt)
	case "$in", "$nin":
		operand = rapid.SliceOfN(rapid.Custom(drawScalar), 1, 4).Draw(rt, "operands")
	case "$exists":
		operand = rapid.Bool().Draw(rt, "exists")
	case "$startsWith":
		operand = rapid.SampledFrom(texts).Draw(rt, "prefix")
	default:
		operand = rapid.SampledFrom(figures).Draw(rt, "bound")
	}
	return map[string]any{rapid.SampledFrom(fields).Draw(rt, "field"): map[string]any{op: operand}}
}

// TestEvaluate: a set holds every slot whose document matches, and no other when it
// says so.
func TestEvaluate(t *testing.T) {
	exact, given := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		rows, docs := table{}, map[uint32]string{}
		for range rapid.IntRange(0, 30).Draw(rt, "documents") {
			slot := rapid.SampledFrom([]uint32{0, 1, 2, 63, 64, 8191, 8192, 8193, 16384, 1 << 20, 1<<32 - 1, 70_000}).Draw(rt, "slot") -
				uint32(rapid.IntRange(0, 1).Draw(rt, "less"))
			if _, taken := docs[slot]; taken {
				continue
			}
			docs[slot] = drawDocument(rt)
			rows.add(slot, docs[slot])
		}
		text, err := json.Marshal(drawFilter(rt, 0))
		if err != nil {
			rt.Fatal(err)
		}
		f, err := filter.Parse(text, filter.Options{})
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		e := Evaluator{Rows: rows}
		set, err := e.Evaluate(f.Root())
		if err != nil {
			rt.Fatal(err)
		}
		given++
		if set.Exact {
			exact++
		}
		n := uint64(0)
		for slot, doc := range docs {
			want, got := f.Match([]byte(doc)), set.Has(slot)
			if want && !got || got && !want && set.Exact {
				rt.Fatalf("%s over %s in slot %d: %v, want %v (exact %v)", text, doc, slot, got, want, set.Exact)
			}
			if got {
				n++
			}
		}
		if !set.Neg && n != set.Bits.GetCardinality() {
			rt.Fatalf("%s: %d slots of %d live", text, set.Bits.GetCardinality(), n)
		}
		if set.Exact && set.Len(uint64(len(docs))) != n {
			rt.Fatalf("%s: length %d, want %d", text, set.Len(uint64(len(docs))), n)
		}
	})
	if exact < given/5 {
		t.Errorf("%d of %d sets are exact", exact, given)
	}
}

// TestRanges: a range over many different numbers reads few rows.
func TestRanges(t *testing.T) {
	rows := table{}
	const n = 3000
	for i := range uint32(n) {
		rows.add(i, fmt.Sprintf(`{"time":%d}`, 1_700_000_000+i*977))
	}
	for _, c := range []struct {
		filter string
		want   int
	}{
		{`{"time":{"$gte":1700000000}}`, n},
		{`{"time":{"$gt":1700000000}}`, n - 1},
		{`{"time":{"$gte":1700977000,"$lt":1701954000}}`, 1000},
		{`{"time":{"$lt":0}}`, 0},
		{`{"time":{"$gt":-1e300,"$lte":1701465500}}`, 1501},
	} {
		f, err := filter.Parse([]byte(c.filter), filter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := Evaluator{Rows: rows}
		set, err := e.Evaluate(f.Root())
		if err != nil || !set.Exact || set.Len(n) != uint64(c.want) {
			t.Errorf("%s: %d (exact %v, %v), want %d", c.filter, set.Len(n), set.Exact, err, c.want)
		}
		if e.RowsRead > 500 {
			t.Errorf("%s: %d rows read", c.filter, e.RowsRead)
		}
	}
}

// TestGivenUp: a condition that would read too many rows is given up for its field.
func TestGivenUp(t *testing.T) {
	e := Evaluator{Rows: many{}}
	f, err := filter.Parse([]byte(`{"name":{"$startsWith":"a"}}`), filter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := e.Evaluate(f.Root())
	if err != nil || set.Exact || set.Bits.GetCardinality() != 1 || !set.Has(7) {
		t.Errorf("%+v, %v", set, err)
	}
}

// many has too many strings, and one row that says where the field is.
type many struct{}

func (many) Scan(from, _ []byte, f func(key, value []byte) (bool, error)) error {
	if string(from) == Irregular {
		return nil
	}
	if from[len(from)-1] == typeExists {
		_, err := f(append(slices.Clone(from), 0, 0, 0, 0), []byte{formList, 7, 0})
		return err
	}
	for i := range 2 * MaxScan {
		key := RowKey(nil, fmt.Sprintf("%s%08d", from, i), 0)
		if more, err := f(key, []byte{formList, 9, 0}); !more || err != nil {
			return err
		}
	}
	return nil
}
