package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func mustParse(t testing.TB, text string) *Filter {
	t.Helper()
	f, err := Parse([]byte(text), Options{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

// TestRefused: each line is refused as Invalid filter, strict or not.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{`[]`, "want an object, got a list"},
		{`"a"`, "want an object, got a string"},
		{`1`, "want an object, got a number"},
		{`true`, "want an object, got a boolean"},
		{`{"a":null}`, "a: want a string, a number or a boolean, got null"},
		{`{"a":[1]}`, "a: want a string, a number or a boolean, got a list"},
		{`{"a":{}}`, "a: want at least one operator"},
		{`{"a":{"b":1}}`, "a.b: want an operator of a field"},
		{`{"a":{"$eq":1,"b":1}}`, "a.b: want an operator of a field"},
		{`{"a":{"$and":[{"b":1}]}}`, "a.$and: want an operator of a field"},
		{`{"a":{"$or":[]}}`, "a.$or: want an operator of a field"},
		{`{"a":{"$not":1}}`, "a.$not: want an operator of a field"},
		{`{"a":{"$regex":"x"}}`, "a.$regex: want an operator"},
		{`{"$eq":1}`, "$eq: want $and, $or or a field"},
		{`{"$field":1}`, "$field: want $and, $or or a field"},
		{`{"$and":[]}`, "$and: want at least one filter"},
		{`{"$or":{}}`, "$or: want a list of filters, got an object"},
		{`{"$or":null}`, "$or: want a list of filters, got null"},
		{`{"$and":[1]}`, "$and[0]: want a filter, got a number"},
		{`{"$and":[{"a":1},[]]}`, "$and[1]: want a filter, got a list"},
		{`{"$and":[{"a":1},{"$or":[{"b":{"$gt":"x"}}]}]}`, "$and[1].$or[0].b.$gt: want a number, got a string"},
		{`{"a":{"$eq":null}}`, "a.$eq: want a string, a number or a boolean, got null"},
		{`{"a":{"$eq":[1]}}`, "a.$eq: want a string"},
		{`{"a":{"$ne":{}}}`, "a.$ne: want a string"},
		{`{"a":{"$gt":true}}`, "a.$gt: want a number, got a boolean"},
		{`{"a":{"$gte":null}}`, "a.$gte: want a string, a number or a boolean, got null"},
		{`{"a":{"$lt":"NaN"}}`, "a.$lt: want a number, got a string"},
		{`{"a":{"$lte":[1]}}`, "a.$lte: want a string"},
		{`{"a":{"$lte":1e999}}`, "a.$lte: want a finite number, got 1e999"},
		{`{"a":-1e999}`, "a: want a finite number, got -1e999"},
		{`{"a":{"$in":[]}}`, "a.$in: want at least one value"},
		{`{"a":{"$in":"x"}}`, "a.$in: want a list, got a string"},
		{`{"a":{"$in":[1,null]}}`, "a.$in: want a string, a number or a boolean, got null"},
		{`{"a":{"$nin":[[1]]}}`, "a.$nin: want a string"},
		{`{"a":{"$nin":1}}`, "a.$nin: want a list, got a number"},
		{`{"a":{"$exists":1}}`, "a.$exists: want true or false, got a number"},
		{`{"a":{"$exists":"true"}}`, "a.$exists: want true or false, got a string"},
		{`{"a":{"$exists":null}}`, "a.$exists: want a string, a number or a boolean, got null"},
		{`{"a":{"$startsWith":1}}`, "a.$startsWith: want a string, got a number"},
		{`{"a":{"$startsWith":["x"]}}`, "a.$startsWith: want a string"},
		{`{"a":{"$eq":1,"$eq":2}}`, "a.$eq: comes twice"},
		{strings.Repeat(`{"$and":[`, 65) + `{"a":1}` + strings.Repeat(`]}`, 65), "want at most 64 levels"},
		{`{"$or":[` + strings.Repeat(`{"a":1},`, 100) + `{"a":1}]}`, "$or[100].a: want at most 100 conditions"},
		{`{"a":{"$in":[` + strings.Repeat("1,", 10_000) + `1]}}`, "a.$in: want at most 10000 values"},
	} {
		for _, strict := range []bool{false, true} {
			_, err := Parse([]byte(c.filter), Options{Strict: strict})
			var refused *FilterError
			if !errors.As(err, &refused) || !errors.Is(err, ErrFilter) || refused.Message != InvalidFilter || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.80s (strict %v): got %v, want %q", c.filter, strict, err, c.want)
			}
		}
	}
}

// TestStrict: what S3 Vectors refuses and other servers take.
func TestStrict(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{`{}`, "want one entry, got 0"},
		{`{"a":1,"b":2}`, "want one entry, got 2"},
		{`{"$and":[{"a":1}],"a":1}`, "want one entry, got 2"},
		{`{"$and":[{"a":1}],"$or":[{"a":1}]}`, "want one entry, got 2"},
		{`{"$or":[{"a":1},{"a":1,"b":2}]}`, "$or[1]: want one entry, got 2"},
		{`{"$or":[{}]}`, "$or[0]: want one entry, got 0"},
	} {
		_, err := Parse([]byte(c.filter), Options{Strict: true})
		if !errors.Is(err, ErrFilter) || !strings.HasPrefix(err.Error(), InvalidFilter+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.filter, err, c.want)
		}
		mustParse(t, c.filter)
	}
	for _, filter := range []string{`{"a":1}`, `{"":""}`, `{"a.b":true}`, `{"n":{"$gte":0,"$lte":5}}`, `{"$and":[{"a":1},{"$or":[{"b":2}]}]}`,
		`{"a":{"$in":[1,"1",true]}}`, strings.Repeat(`{"$and":[`, 64) + `{"a":1}` + strings.Repeat(`]}`, 64)} {
		if _, err := Parse([]byte(filter), Options{Strict: true}); err != nil {
			t.Errorf("%.60s: %v", filter, err)
		}
	}
}

// TestFilterSyntax: malformed text is a fault of another kind.
func TestFilterSyntax(t *testing.T) {
	for _, filter := range []string{"", " ", "{", `{"a"}`, `{"a":1,}`, `{"a":01}`, `{"a":NaN}`, `{"a":Infinity}`, `{"a":1}{}`, `nul`, `null null`,
		"{\"a\":\"\xff\"}", "{\"\xff\":1}", `{"a":"\ud800"}`, `{"\udc00":1}`, `{"a":{"$in":["\ud800x"]}}`, `{"a":"` + "\n" + `"}`, `{"$and":[}`,
		strings.Repeat(`{"$and":[`, 20_000)} {
		if _, err := Parse([]byte(filter), Options{}); !errors.Is(err, ErrSyntax) {
			t.Errorf("%.60q: got %v, want ErrSyntax", filter, err)
		}
	}
}

func TestNoFilter(t *testing.T) {
	f, err := Parse([]byte(" null "), Options{Strict: true})
	if f != nil || err != nil || !f.Match([]byte(`{"a":1}`)) {
		t.Errorf("null: %v, %v, want no filter, which matches everything", f, err)
	}
}

// describe writes a tree as a filter that means the same.
func describe(n *Node) string {
	var parts []string
	if n.Op == And && len(n.Nodes) == 0 {
		return "{}"
	}
	if n.Op == And || n.Op == Or {
		for i := range n.Nodes {
			parts = append(parts, describe(&n.Nodes[i]))
		}
		return fmt.Sprintf("{%q:[%s]}", n.Op, strings.Join(parts, ","))
	}
	for _, v := range n.Values {
		value := map[Kind]any{String: v.String, Number: v.Number, Bool: v.Bool}[v.Kind]
		text, _ := json.Marshal(value)
		parts = append(parts, string(text))
	}
	operand := strings.Join(parts, ",")
	if n.Op == In || n.Op == Nin {
		operand = "[" + operand + "]"
	}
	field, _ := json.Marshal(n.Field)
	return fmt.Sprintf("{%s:{%q:%s}}", field, n.Op, operand)
}

func TestTree(t *testing.T) {
	for _, c := range []struct{ filter, want, fields string }{
		{`{"a":1}`, `{"a":{"$eq":1}}`, "a"},
		{`{"n":{"$gte":0,"$lte":5}}`, `{"$and":[{"n":{"$gte":0}},{"n":{"$lte":5}}]}`, "n"},
		{`{"b":{"$nin":["x",2,true]},"a":"\u0041"}`, `{"$and":[{"b":{"$nin":["x",2,true]}},{"a":{"$eq":"A"}}]}`, "a b"},
		{`{"$or":[{"a":{"$exists":false}},{"b":{"$startsWith":"p"},"c":{"$ne":1}}]}`,
			`{"$or":[{"a":{"$exists":false}},{"$and":[{"b":{"$startsWith":"p"}},{"c":{"$ne":1}}]}]}`, "a b c"},
		{`{}`, `{}`, ""},
	} {
		f := mustParse(t, c.filter)
		if got := describe(f.Root()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.filter, got, c.want)
		}
		if got := strings.Join(f.Fields(), " "); got != c.fields {
			t.Errorf("%s: fields %q, want %q", c.filter, got, c.fields)
		}
	}
	visited := 0
	for range mustParse(t, `{"$or":[{"a":1},{"b":1}]}`).Root().All() {
		if visited++; visited == 2 {
			break
		}
	}
	if visited != 2 {
		t.Errorf("visited %d nodes after stopping at 2", visited)
	}
}

func TestCheckFilterable(t *testing.T) {
	f := mustParse(t, `{"$or":[{"a":1},{"text":{"$exists":true}}]}`)
	is := func(name string) func(string) bool { return func(s string) bool { return s == name } }
	var refused *FilterError
	if err := f.CheckFilterable(is("text")); !errors.As(err, &refused) || refused.Message != NonFilterable || refused.Path != "text" {
		t.Errorf("got %v, want %q", err, NonFilterable)
	}
	if err := f.CheckFilterable(is("b")); err != nil {
		t.Error(err)
	}
}
