package filter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func hexEscapes(r rune) string {
	if r <= 0xffff {
		return fmt.Sprintf(`\u%04X`, r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Sprintf(`\u%04x\u%04X`, high, low)
}

// TestOperators is the table of the specification, line by line.
func TestOperators(t *testing.T) {
	for _, c := range []struct {
		filter string
		yes    string // documents that match, with | between
		no     string
	}{
		{`{"a":1}`, `{"a":1}|{"a":1.0}|{"a":10e-1}|{"a":[2,1]}`, `{}|{"a":"1"}|{"a":true}|{"a":2}|{"a":[2]}|{"a":null}|{"b":1}|{"A":1}`},
		{`{"a":"true"}`, `{"a":"true"}|{"a":["x","true"]}|{"a":"\u0074rue"}`, `{"a":true}|{"a":"True"}|{"a":"true "}`},
		{`{"a":true}`, `{"a":true}|{"a":[false,true]}`, `{"a":"true"}|{"a":false}|{"a":1}`},
		{`{"a":{"$ne":1}}`, `{}|{"a":2}|{"a":"1"}|{"a":[2,3]}|{"a":null}`, `{"a":1}|{"a":[2,1]}`},
		{`{"a":{"$gt":1}}`, `{"a":1.5}|{"a":1e3}`, `{}|{"a":1}|{"a":"2"}|{"a":true}|{"a":[2]}|{"a":null}`},
		{`{"a":{"$gte":1}}`, `{"a":1}|{"a":2}`, `{"a":0.5}|{"a":[1]}`},
		{`{"a":{"$lt":1}}`, `{"a":0}|{"a":-5}`, `{}|{"a":1}|{"a":"0"}|{"a":[0]}`},
		{`{"a":{"$lte":1}}`, `{"a":1}|{"a":-0}`, `{"a":1.0000000001}`},
		{`{"a":{"$gte":0,"$lte":5}}`, `{"a":0}|{"a":5}`, `{"a":6}|{"a":-1}|{}`},
		{`{"a":{"$in":[1,"x",true]}}`, `{"a":1}|{"a":"x"}|{"a":true}|{"a":["y","x"]}`, `{}|{"a":false}|{"a":"1"}|{"a":["y"]}|{"a":[]}`},
		{`{"a":{"$in":["a","b","c","d","e","f"]}}`, `{"a":"f"}|{"a":"\u0061"}`, `{"a":"g"}|{"a":""}`},
		{`{"a":{"$nin":[1,"x"]}}`, `{}|{"a":2}|{"a":["y"]}|{"a":[]}`, `{"a":1}|{"a":["y","x"]}`},
		{`{"a":{"$exists":true}}`, `{"a":0}|{"a":null}|{"a":[]}|{"a":{"b":1}}`, `{}|{"b":1}`},
		{`{"a":{"$exists":false}}`, `{}|{"b":{"a":1}}`, `{"a":false}`},
		{`{"a":{"$startsWith":"ab"}}`, `{"a":"ab"}|{"a":"abc"}|{"a":["x","abz"]}|{"a":"\u0061b!"}`, `{}|{"a":"a"}|{"a":"Ab"}|{"a":1}`},
		{`{"a":{"$startsWith":""}}`, `{"a":""}|{"a":"\n"}`, `{}|{"a":0}`},
		{`{"$and":[{"a":1},{"b":2}]}`, `{"a":1,"b":2}`, `{"a":1}|{"b":2}`},
		{`{"$or":[{"a":1},{"b":2}]}`, `{"a":1}|{"b":2,"a":9}`, `{"a":2}`},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":1}`},
		{`{}`, `{}|{"a":1}`, ``},
		{`{"a.b":1}`, `{"a.b":1}`, `{"a":{"b":1}}`},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740994}`}, // one float64
		{`{"a":1}`, `{"a":2,"a":1}`, `{"a":1,"a":2}|{"a":1,"a":null}`},                 // the last counts
	} {
		f := mustParse(t, c.filter)
		for want, docs := range map[bool]string{true: c.yes, false: c.no} {
			for doc := range strings.SplitSeq(docs, "|") {
				if doc != "" && f.Match([]byte(doc)) != want {
					t.Errorf("%s matches %s: %v, want %v", c.filter, doc, !want, want)
				}
			}
		}
	}
	if !mustParse(t, `{"a":{"$ne":1}}`).Match(nil) {
		t.Error("no bytes are not taken for an empty document")
	}
}

// TestHoldsWithout: the decision about missing fields stands in one place.
func TestHoldsWithout(t *testing.T) {
	for op := Eq; op <= StartsWith; op++ {
		if want := op == Ne || op == Nin; op != Exists && holdsWithout(op) != want {
			t.Errorf("%v without the field: %v, want %v", op, !want, want)
		}
	}
}

// TestMatchReference: any filter over any document, however it is written, gives
// what the reference gives; and what Values tells an index agrees.
func TestMatchReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		filter, doc := drawFilter(rt, 0), drawDocument(rt)
		f, err := Parse([]byte(drawText(rt, filter)), Options{})
		if err != nil {
			rt.Fatalf("%v: %v", filter, err)
		}
		text := drawText(rt, doc)
		if got, want := f.Match([]byte(text)), referenceMatch(filter, doc); got != want {
			rt.Fatalf("%v over %s: %v, want %v", filter, text, got, want)
		}
		// The tree means the same as the text that it came from.
		again := mustParse(t, describe(f.Root()))
		if got := again.Match([]byte(text)); got != referenceMatch(filter, doc) {
			rt.Fatalf("%s over %s: %v", describe(f.Root()), text, got)
		}
		fields, err := Values([]byte(text))
		if err != nil || len(fields) != len(doc) {
			rt.Fatalf("%s: %d fields, %v", text, len(fields), err)
		}
		for _, field := range fields {
			checkValues(rt, field, doc[field.Key])
		}
	})
}

// checkValues compares the values of a field with those that encoding/json has.
func checkValues(rt *rapid.T, f Field, want any) {
	list, isList := want.([]any)
	if !isList {
		list = []any{want}
	}
	if isList != f.List || len(list) != len(f.Values) {
		rt.Fatalf("%+v, want %v", f, want)
	}
	for i, v := range f.Values {
		got := map[Kind]any{String: v.String, Number: v.Number, Bool: v.Bool}[v.Kind]
		switch list[i].(type) {
		case string, float64, bool:
			if got != list[i] {
				rt.Fatalf("%+v, want %v", f, want)
			}
		default:
			if v.Kind != Other {
				rt.Fatalf("%+v, want %v", f, want)
			}
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	many := make([]string, 50)
	for i := range many {
		many[i] = fmt.Sprintf("%q", strings.Repeat("word", i))
	}
	f := mustParse(t, `{"$or":[{"tag":"é"},{"n":{"$gte":2.5,"$lt":1e6}},{"tag":{"$in":[`+strings.Join(many, ",")+`]}},
		{"x":{"$nin":[1,2,3]}},{"y":{"$startsWith":"pre"}},{"z":{"$exists":true}},{"w":{"$ne":"q"}}]}`)
	for _, doc := range []string{
		`{"tag":"\u00e9","n":2.25,"x":[1],"y":"\u0070re","w":"q"}`,
		`{"tag":["a","b\n","wordwordword\u0021"],"n":123456789.125e-3,"x":1,"w":"q","other":{"deep":[1,2,{"a":"b"}]}}`,
		`{"n":-1.7976931348623157e308,"tag":"` + strings.Repeat("long", 200) + `","x":2,"w":"\"q\""}`,
		`{"n":0.1234567890123456789012345678901234567890,"x":3,"w":"q"}`,
	} {
		text := []byte(doc)
		if n := testing.AllocsPerRun(100, func() { f.Match(text) }); n != 0 {
			t.Errorf("%.60s: %v allocations", doc, n)
		}
	}
}

// FuzzParse: no text is taken for a filter that is not one; an accepted filter can
// be written again and means the same.
func FuzzParse(f *testing.F) {
	for _, filter := range []string{`{"a":1}`, `{"a":{"$in":["x",1,true]}}`, `{"$and":[{"a":{"$gt":1}},{"$or":[{"b":"\ud83d\ude00"}]}]}`,
		`{"a":{"$exists":false}}`, `{"a":{"$startsWith":"\u0000"}}`, `null`, `{"a":[}`, `{"a":{"$eq":1,"$ne":2}}`} {
		f.Add([]byte(filter), []byte(`{"a":1,"b":["x"]}`))
	}
	f.Fuzz(func(t *testing.T, filter, doc []byte) {
		loose, err := Parse(filter, Options{})
		strict, strictErr := Parse(filter, Options{Strict: true})
		if err != nil && strictErr == nil {
			t.Fatalf("only strict accepts %q: %v", filter, err)
		}
		if err != nil || loose == nil {
			return
		}
		if !json.Valid(filter) {
			t.Fatalf("accepted %q", filter)
		}
		match := loose.Match(doc)
		if strictErr == nil && strict.Match(doc) != match {
			t.Fatalf("%q strict means something else over %q", filter, doc)
		}
		if again := mustParse(t, describe(loose.Root())); again.Match(doc) != match {
			t.Fatalf("%q is not %s over %q", filter, describe(loose.Root()), doc)
		}
	})
}

// FuzzMatch: nothing but a JSON object matches, and every object matches a filter or
// its opposite.
func FuzzMatch(f *testing.F) {
	for _, doc := range []string{`{"a":1}`, `{"a":["x","\ud800"],"b":{"c":[null]}}`, `{"a":1e999}`, "{\"a\":\"\xff\"}", `[1]`, `{"a":}`, `{"a":"\u12"}`,
		`{"a":0123}`, `{"a":-}`, `{"a":1.}`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":tru}`, `{"a":1}}`} {
		f.Add([]byte(doc), "a", "x")
	}
	f.Fuzz(func(t *testing.T, doc []byte, field, operand string) {
		if strings.HasPrefix(field, "$") {
			return
		}
		name, _ := json.Marshal(field)
		value, _ := json.Marshal(operand)
		filter := func(op string, v []byte) *Filter { return mustParse(t, fmt.Sprintf(`{%s:{%q:%s}}`, name, op, v)) }
		all := mustParse(t, `{}`)
		var object map[string]json.RawMessage
		isObject := len(doc) == 0 || json.Unmarshal(doc, &object) == nil && object != nil
		if all.Match(doc) != isObject {
			t.Fatalf("%q: matched %v, is an object %v", doc, !isObject, isObject)
		}
		eq, ne := filter("$eq", value), filter("$ne", value)
		if (eq.Match(doc) != ne.Match(doc)) != isObject {
			t.Fatalf("%q: $eq %v and $ne %v", doc, eq.Match(doc), ne.Match(doc))
		}
		in, nin := filter("$in", []byte("["+string(value)+"]")), filter("$nin", []byte("["+string(value)+"]"))
		if in.Match(doc) != eq.Match(doc) || nin.Match(doc) != ne.Match(doc) {
			t.Fatalf("%q: lists of one are not what $eq and $ne are", doc)
		}
		if eq.Match(doc) && !filter("$startsWith", value).Match(doc) {
			t.Fatalf("%q: equal, and no prefix", doc)
		}
		if _, err := Values(doc); (err == nil) != isObject {
			t.Fatalf("%q: Values: %v", doc, err)
		}
		if _, err := ParseDocument(doc, nil); err == nil && !isObject {
			t.Fatalf("%q is accepted as a document", doc)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	doc := []byte(`{"title":"A day at the sea","year":1987,"genre":["drama","family"],"country":"France","rating":7.25,"colour":true}`)
	for name, filter := range map[string]string{
		"equal": `{"country":"France"}`,
		"range": `{"year":{"$gte":1980,"$lt":1990}}`,
		"three": `{"$and":[{"genre":{"$in":["comedy","drama"]}},{"rating":{"$gt":7}},{"colour":true}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			f := mustParse(b, filter)
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if !f.Match(doc) {
					b.Fatal("no match")
				}
			}
		})
	}
}
