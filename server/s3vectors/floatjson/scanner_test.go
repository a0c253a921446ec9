package floatjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func scan(text string) (*Scanner, error) { return NewScanner([]byte(text)) }

// compact reads a whole text and returns its compact form.
func compact(text string) (string, error) {
	s, err := scan(text)
	if err != nil {
		return "", err
	}
	out, err := s.AppendCompact(nil)
	if err == nil {
		err = s.End()
	}
	return string(out), err
}

func TestCompact(t *testing.T) {
	for text, want := range map[string]string{
		" { } ": `{}`, "[ ]": `[]`, ` "a" `: `"a"`, "null": "null", "\ttrue\n": "true",
		`{ "a" : [ 1.0 , -2e5 ] , "\u0062" : { "c" : null } }`: `{"a":[1.0,-2e5],"b":{"c":null}}`,
		`"\u00e9\ud83d\ude00\/\b\u0000\""`:                     "\"\u00e9\U0001F600/\\b\\u0000\\\"\"",
		`{"a\nb":9007199254740993}`:                            `{"a\nb":9007199254740993}`,
	} {
		if got, err := compact(text); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", "}", "[", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, "[1,]", "[,]", "[1 2]", "tru", "nul", "True", "'a'",
		`"a`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"a\nb\"", "\"\x00\"", `"\`, "{} {}", "1 2", "NaN", "[Infinity]", `{"a":-Infinity}`,
		`"\ud800"`, `"\ud800x"`, `"\ud800\n"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\u0041"`, `{"\udfff":1}`,
		"\"\xff\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}",
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
	} {
		if got, err := compact(text); !errors.Is(err, ErrSyntax) {
			t.Errorf("%.40q: got %.40q, %v, want ErrSyntax", text, got, err)
		}
	}
	if _, err := compact(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)); err != nil {
		t.Errorf("the deepest nesting: %v", err)
	}
}

func TestWalk(t *testing.T) {
	s, err := scan(`{"name":"x\u0079","skipped":{"deep":[1,{"b":2}]},"list":[1,"two",null],"raw": [ 1 ],"on":true,"n":-12.50}`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	err = s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			got["name"], err = s.String()
		case "list":
			var kinds []Kind
			err = s.Array(func(int) error { kinds = append(kinds, s.Peek()); return nil })
			got["list"] = kinds
		case "raw":
			var raw []byte
			raw, err = s.Raw()
			got["raw"] = string(raw)
		case "on":
			got["on"], err = s.Bool()
		case "n":
			var n []byte
			n, err = s.Number()
			got["n"] = string(n)
		}
		return err
	})
	if err != nil || s.End() != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "xy", "list": []Kind{Number, String, Null}, "raw": "[ 1 ]", "on": true, "n": "-12.50"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		written := AppendString(nil, text)
		var theirs string
		if err := json.Unmarshal(written, &theirs); err != nil || theirs != text {
			t.Fatalf("%q: written %s, read %q, %v", text, written, theirs, err)
		}
		escaped, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{written, escaped} {
			s, err := NewScanner(form)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.String(); err != nil || got != text {
				t.Fatalf("%s: got %q, %v, want %q", form, got, err, text)
			}
		}
	})
	if got := string(AppendString(nil, "a\xffb")); got != "\"a\uFFFDb\"" {
		t.Errorf("invalid UTF-8 is written as %s", got)
	}
}

// FuzzScanner: what is read is what encoding/json reads, but for half surrogates, of
// which that makes U+FFFD, and the limit of depth.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e-3,"x\u00e9"],"b":null}`, `[]`, `"\ud83d\ude00"`, `"\ud83d"`, `{"a":1}x`, "[1,]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := compact(string(text))
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if !json.Valid(text) || !json.Valid([]byte(out)) {
			t.Fatalf("%q was read, as %q", text, out)
		}
		if again, err := compact(out); err != nil || again != out {
			t.Fatalf("%q became %q, which becomes %q, %v", text, out, again, err)
		}
		var a, b any
		read := func(text []byte, v *any) {
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			if err := d.Decode(v); err != nil {
				t.Fatal(err)
			}
		}
		read(text, &a)
		read([]byte(out), &b)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%q and its compact form %q differ", text, out)
		}
	})
}
