package sprat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAttributes(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	mustDo(t, s.CreateBucket("b"))
	mustDo(t, s.CreateBucket("bb"))
	_, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 2, Metric: Cosine, NonFilterable: []string{"x"}})
	mustDo(t, err)
	mustDo(t, s.SetAttributes("b", map[string][]byte{"tags": []byte("1"), "policy": {}}))
	mustDo(t, s.SetAttributes("b/i", map[string][]byte{"tags": {0, 255}}))
	mustDo(t, s.SetAttributes("b", map[string][]byte{"tags": nil, "encryption": []byte("e"), "never": nil}))
	mustClose(t, s)

	s = openStore(t, dir, Options{})
	want := func(scope string, want map[string][]byte) {
		t.Helper()
		got, err := s.Attributes(scope)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v, want %v", scope, got, err, want)
		}
	}
	want("b", map[string][]byte{"policy": {}, "encryption": []byte("e")})
	want("b/i", map[string][]byte{"tags": {0, 255}})
	want("bb", nil)
	b, err := s.Bucket("b")
	if err != nil || b.Name != "b" || b.Created.IsZero() {
		t.Errorf("%+v, %v", b, err)
	}
	ix := mustIndex(t, s, "i")
	if c := ix.Config(); !slices.Equal(c.NonFilterable, []string{"x"}) || c.Dimension != 2 || c.Metric != Cosine || ix.Created().Before(b.Created) {
		t.Errorf("%+v", c)
	}
	// They go with their owners, and do not come back with others of the same name.
	mustDo(t, s.DropIndex(t.Context(), "b", "i"))
	_, err = s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 2, Metric: Cosine})
	mustDo(t, err)
	want("b/i", nil)
	mustDo(t, s.DropIndex(t.Context(), "b", "i"))
	mustDo(t, s.DropBucket("b"))
	mustDo(t, s.CreateBucket("b"))
	want("b", nil)
}

func TestAttributesRefused(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	mustDo(t, s.CreateBucket("b"))
	many := map[string][]byte{}
	for i := range MaxAttributes + 1 {
		many[fmt.Sprint(i)] = []byte("x")
	}
	for _, c := range []struct {
		scope  string
		change map[string][]byte
		want   error
	}{
		{"", nil, ErrInvalid},
		{"b/", nil, ErrInvalid},
		{"b/i/j", nil, ErrInvalid},
		{"none", nil, ErrNotFound},
		{"b/i", nil, ErrNotFound},
		{"b", map[string][]byte{"": nil}, ErrInvalid},
		{"b", map[string][]byte{"a\x00": nil}, ErrInvalid},
		{"b", map[string][]byte{strings.Repeat("n", 256): nil}, ErrInvalid},
		{"b", map[string][]byte{"a": bytes.Repeat([]byte("x"), MaxAttributeBytes+1)}, ErrInvalid},
		{"b", many, ErrInvalid},
	} {
		if err := s.SetAttributes(c.scope, c.change); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.scope, err, c.want)
		}
	}
	if _, err := s.Attributes("none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := s.Bucket("none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if all, err := s.Attributes("b"); err != nil || len(all) > 0 {
		t.Errorf("%d attributes were set, %v", len(all), err)
	}
}

// TestPutStrict: documents that S3 Vectors refuses are refused when asked for, with
// its messages, and nothing is put.
func TestPutStrict(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 2, Metric: Cosine, NonFilterable: []string{"bulk"}})
	mustDo(t, err)
	long := strings.Repeat("x", 3000)
	for doc, want := range map[string]string{
		`{"a":null}`:             "Metadata values must be strings, numbers, booleans, or arrays",
		`{"a":[]}`:               "Empty arrays are not allowed in metadata",
		`{"a":"` + long + `"}`:   "Filterable metadata must have at most 2048 bytes",
		`{"a":`:                  MalformedJSON,
		`{"a":1,"a":2}`:          "Metadata keys must be unique",
		`{"a":[[1]],"bulk":"x"}`: "Metadata array values must be strings or numbers",
	} {
		err := ix.PutWith(t.Context(), []Record{{Key: "good", Vector: []float32{1, 0}}, {Key: "k", Vector: []float32{1, 0}, Metadata: []byte(doc)}},
			PutOptions{StrictMetadata: true})
		var row *RowError
		var in *InputError
		if !errors.As(err, &row) || row.Row != 1 || !errors.As(err, &in) || in.Field != "metadata" || in.Got != want {
			t.Errorf("%.30s: %v, want %q", doc, err, want)
		}
	}
	put := func(doc string, o PutOptions) error {
		return ix.PutWith(context.Background(), []Record{{Key: "k", Vector: []float32{1, 0}, Metadata: []byte(doc)}}, o)
	}
	mustDo(t, put(`{"bulk":"`+long+`","a":["x"]}`, PutOptions{StrictMetadata: true}))
	mustDo(t, put("", PutOptions{StrictMetadata: true}))
	mustDo(t, put(`{"a":null}`, PutOptions{}))
	if n := ix.Len(); n != 1 {
		t.Errorf("%d vectors", n)
	}
}
