package filter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestDocumentRefused(t *testing.T) {
	keys := make([]string, 51)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":true`, i)
	}
	for _, c := range []struct{ doc, message, key string }{
		{`[]`, NotAnObject, ""},
		{`"x"`, NotAnObject, ""},
		{`null`, NotAnObject, ""},
		{`{"a":null}`, BadValue, "a"},
		{`{"ok":1,"a":{}}`, BadValue, "a"},
		{`{"a":{"b":{"c":1}}}`, BadValue, "a"},
		{`{"a":[]}`, EmptyArray, "a"},
		{`{"a":[true]}`, BadElement, "a"},
		{`{"a":[null]}`, BadElement, "a"},
		{`{"a":[{}]}`, BadElement, "a"},
		{`{"a":[["x"]]}`, BadElement, "a"},
		{`{"a":["x",1]}`, BadElement, "a"},
		{`{"a":[1,"x"]}`, BadElement, "a"},
		{`{"a":1,"\u0061":2}`, DuplicateKey, "a"},
		{`{"a":1e999}`, NumberOutOfRange, "a"},
		{`{"a":[1,-1e999]}`, NumberOutOfRange, "a"},
		{"{" + strings.Join(keys, ",") + "}", TooManyKeys, ""},
		{`{"f":"` + strings.Repeat("x", 2036) + `"}`, TooMuchFilter, ""},
		{`{"bulk":"` + strings.Repeat("x", 40_945) + `"}`, TooMuchMetadata, ""},
	} {
		_, err := ParseDocument([]byte(c.doc), func(key string) bool { return key == "bulk" })
		var refused *DocumentError
		if !errors.As(err, &refused) || !errors.Is(err, ErrDocument) || err.Error() != c.message || refused.Key != c.key {
			t.Errorf("%.60s: got %v (key %q), want %q of %q", c.doc, err, refused.Key, c.message, c.key)
		}
	}
	for _, doc := range []string{" ", "{", `{"a":Infinity}`, `{"a":NaN}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"\udfff":1}`, `{"a":["\ud800"]}`, `{"a":1}x`} {
		if _, err := ParseDocument([]byte(doc), nil); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: got %v, want ErrSyntax", doc, err)
		}
	}
}

// TestDocumentLimits are the boundaries that were measured on the service.
func TestDocumentLimits(t *testing.T) {
	bulk := func(key string) bool { return key == "bulk" }
	fifty := make([]string, 50)
	for i := range fifty {
		fifty[i] = fmt.Sprintf(`"k%d":true`, i)
	}
	for _, c := range []struct {
		doc  string
		ok   bool
		size int
	}{
		{``, true, 4},
		{`{}`, true, 4},
		{`{"f":"` + strings.Repeat("x", 2035) + `"}`, true, 2048},
		{`{"f":"` + strings.Repeat("x", 2036) + `"}`, false, 2049},
		{`{"0123456789":"` + strings.Repeat("x", 2026) + `"}`, true, 2048},
		{`{"0123456789":"` + strings.Repeat("x", 2027) + `"}`, false, 2049},
		{`{"bulk":"` + strings.Repeat("x", 40_944) + `"}`, true, 40_960},
		{`{"f":"` + strings.Repeat("é", 1017) + `"}`, true, 2047},
		{`{"f":"` + strings.Repeat("é", 1018) + `"}`, false, 2049},
		{`{"f":"` + strings.Repeat(`\u00e9`, 1017) + `"}`, true, 2047},
		{`{"f":"` + strings.Repeat(`\n`, 2035) + `"}`, true, 2048},
		{`{"a":1,"b":true,"c":["xy","z"],"d":[1,2]}`, true, 4 + 9 + 4 + 9 + 9 + 4 + 2 + 4 + 1 + 9 + 8 + 8},
		{`{"":"","$eq":1,"a.b":false,"e":["x","x"]}`, true, 4 + 8 + 8 + 3 + 4 + 8 + 3 + 9 + 10},
		{"{" + strings.Join(fifty, ",") + "}", true, 4 + 50*8 + 10*2 + 40*3},
	} {
		d, err := ParseDocument([]byte(c.doc), bulk)
		if (err == nil) != c.ok {
			t.Errorf("%.40s: got %v, want accepted %v", c.doc, err, c.ok)
			continue
		}
		var refused *DocumentError
		switch {
		case errors.As(err, &refused):
			if refused.Size != c.size {
				t.Errorf("%.40s: size %d, want %d", c.doc, refused.Size, c.size)
			}
		case d.Size(nil) != c.size:
			t.Errorf("%.40s: size %d, want %d", c.doc, d.Size(nil), c.size)
		}
	}
}

func TestDocumentFields(t *testing.T) {
	d, err := ParseDocument([]byte(`{"s":"\u00e9\n","n":-1.5e2,"b":false,"l":["x","x"],"":[1,2]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "[{s [{0 é\n 0 false}] false} {n [{1  -150 false}] false} {b [{2  0 false}] false} {l [{0 x 0 false} {0 x 0 false}] true} {[{1  1 false} {1  2 false}] true}]"
	got := strings.Replace(fmt.Sprint(d.Fields), "{ [", "{[", 1)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestValues(t *testing.T) {
	fields, err := Values([]byte(`{"a":1,"n":null,"o":{"x":[1,2]},"l":[1,null,"s",[2],true],"e":[],"a":"last","i":1e999}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "[{a [{0 last 0 false}] false} {n [{3  0 false}] false} {o [{3  0 false}] false} " +
		"{l [{1  1 false} {3  0 false} {0 s 0 false} {3  0 false} {2  0 true}] true} {e [] true} {i [{1  +Inf false}] false}]"
	if got := fmt.Sprint(fields); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, doc := range []string{"", "{}"} {
		if fields, err := Values([]byte(doc)); len(fields) != 0 || err != nil {
			t.Errorf("%q: %v, %v, want nothing", doc, fields, err)
		}
	}
	for _, doc := range []string{"[]", "null", "{", "x"} {
		if _, err := Values([]byte(doc)); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: got %v, want ErrSyntax", doc, err)
		}
	}
}
