package sprat

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWritesRefuseBadInput: a call with one bad record changes nothing, and the
// error says which record, which field and what is allowed.
func TestWritesRefuseBadInput(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 3, Metric: Cosine})
	mustDo(t, err)
	good := Record{Key: "good", Vector: []float32{1, 2, 3}}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for what, c := range map[string]struct {
		rec   Record
		field string
	}{
		"no key":          {Record{Vector: good.Vector}, "key"},
		"a long key":      {Record{Key: strings.Repeat("k", MaxKeyBytes+1), Vector: good.Vector}, "key"},
		"a torn key":      {Record{Key: "\xff", Vector: good.Vector}, "key"},
		"the same key":    {good, "key"},
		"two dimensions":  {Record{Key: "k", Vector: []float32{1, 2}}, "vector"},
		"NaN":             {Record{Key: "k", Vector: []float32{1, nan, 3}}, "vector"},
		"infinity":        {Record{Key: "k", Vector: []float32{1, -inf, 3}}, "vector"},
		"zero":            {Record{Key: "k", Vector: []float32{0, 0, 0}}, "vector"},
		"no object":       {Record{Key: "k", Vector: good.Vector, Metadata: []byte(`[1]`)}, "metadata"},
		"torn metadata":   {Record{Key: "k", Vector: good.Vector, Metadata: []byte(`{"a":`)}, "metadata"},
		"a long document": {Record{Key: "k", Vector: good.Vector, Metadata: fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("x", MaxMetadataBytes))}, "metadata"},
	} {
		err := ix.Put(t.Context(), []Record{good, c.rec})
		var row *RowError
		var in *InputError
		if !errors.Is(err, ErrInvalid) || !errors.As(err, &row) || row.Row != 1 || !errors.As(err, &in) || in.Field != c.field {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := ix.Delete(t.Context(), []string{"a", ""}); !errors.Is(err, ErrInvalid) {
		t.Errorf("deleting no key: %v", err)
	}
	if _, err := ix.Get(t.Context(), []string{"\xff"}, Fields{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("getting a torn key: %v", err)
	}
	if n := ix.Len(); n != 0 {
		t.Errorf("%d vectors after refused calls", n)
	}
	mustDo(t, ix.Put(t.Context(), nil))
	mustDo(t, ix.Put(t.Context(), []Record{good}))
	mustClose(t, s)
	if err := ix.Put(t.Context(), []Record{good}); !errors.Is(err, ErrClosed) {
		t.Errorf("put after Close: %v", err)
	}
	s = openStore(t, s.dir, Options{ReadOnly: true})
	if err := mustIndex(t, s, "i").Put(t.Context(), []Record{good}); !errors.Is(err, ErrInvalid) {
		t.Errorf("put into a read-only store: %v", err)
	}
	mustClose(t, s)
}

// TestUnusualKeys: keys come back as they were given, and are told apart by their
// bytes alone.
func TestUnusualKeys(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 2, Metric: Euclidean})
	mustDo(t, err)
	keys := []string{"\x00", "a\x00b", "a", "é", "e\u0301", "🐟", "שלום", strings.Repeat("k", MaxKeyBytes), " ", "\xef\xbf\xbf"}
	var recs []Record
	for i, key := range keys {
		recs = append(recs, Record{Key: key, Vector: []float32{float32(i), 1}, Metadata: fmt.Appendf(nil, `{"i":%d}`, i)})
	}
	mustDo(t, ix.Put(t.Context(), recs))
	mustDo(t, ix.Settle(t.Context()))
	got, err := ix.Get(t.Context(), append(slices.Clone(keys), "not there"), Fields{Vectors: true, Metadata: true})
	mustDo(t, err)
	if len(got) != len(keys) {
		t.Fatalf("%d of %d keys", len(got), len(keys))
	}
	for i, r := range got {
		if r.Key != keys[i] || r.Vector[0] != float32(i) || string(r.Metadata) != fmt.Sprintf(`{"i":%d}`, i) {
			t.Errorf("key %q: %+v", keys[i], r)
		}
	}
	for i := range keys {
		res, err := ix.Query(t.Context(), []float32{float32(i), 1}, 1, QueryOptions{})
		if err != nil || len(res.Matches) != 1 || res.Matches[0].Key != keys[i] {
			t.Errorf("query for %q: %+v, %v", keys[i], res, err)
		}
	}
	mustClose(t, s)
}

// TestListing: every number of parts holds every key once, page by page, while
// others come and go; tokens of elsewhere are refused.
func TestListing(t *testing.T) {
	t.Parallel()
	d := fewTexts(700)
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows[:500])
	var recs []Record
	for i := 500; i < 700; i++ {
		recs = append(recs, Record{Key: fmt.Sprint(i), Vector: d.rows[i]})
	}
	mustDo(t, ix.Put(t.Context(), recs))
	for _, segments := range []int{0, 1, 3, 16} {
		seen := map[string]int{}
		for segment := range max(segments, 1) {
			o := ListOptions{Limit: 37, Segment: segment, Segments: segments}
			for page := 0; ; page++ {
				p, err := ix.List(t.Context(), o)
				mustDo(t, err)
				if len(p.Records) > o.Limit {
					t.Fatalf("a page of %d", len(p.Records))
				}
				for _, r := range p.Records {
					seen[r.Key]++
				}
				// One that is not of the 700 comes and goes.
				mustDo(t, ix.Put(t.Context(), []Record{{Key: fmt.Sprint("extra", page%3), Vector: d.rows[0]}}))
				_, err = ix.Delete(t.Context(), []string{fmt.Sprint("extra", (page+1)%3)})
				mustDo(t, err)
				if o.Token = p.Next; o.Token == "" {
					break
				}
			}
		}
		for i := range 700 {
			if n := seen[fmt.Sprint(i)]; n != 1 {
				t.Fatalf("%d segments: key %d listed %d times", segments, i, n)
			}
		}
	}
	p, err := ix.List(t.Context(), ListOptions{Limit: 5})
	mustDo(t, err)
	other := mustBuild(t, s, "other", fewConfig(d), d.rows[:50])
	for what, c := range map[string]struct {
		ix *Index
		o  ListOptions
	}{
		"limit":            {ix, ListOptions{Limit: MaxListLimit + 1}},
		"segments":         {ix, ListOptions{Segments: MaxListSegments + 1}},
		"segment":          {ix, ListOptions{Segment: 2, Segments: 2}},
		"no token":         {ix, ListOptions{Token: "x"}},
		"a changed token":  {ix, ListOptions{Token: "B" + p.Next[1:]}},
		"another index":    {other, ListOptions{Token: p.Next}},
		"another division": {ix, ListOptions{Token: p.Next, Segments: 2}},
	} {
		if _, err := c.ix.List(t.Context(), c.o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	mustClose(t, s)
}

// FuzzListToken: whatever a token holds, it is a place in the listing or refused.
func FuzzListToken(f *testing.F) {
	ix := &Index{}
	f.Add(ix.encodeToken(ListOptions{Segments: 1}, []byte("xkey")))
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, token string) {
		after, err := ix.decodeToken(ListOptions{Token: token, Segments: 1})
		switch {
		case err != nil && !errors.Is(err, ErrInvalid):
			t.Fatalf("error %v is not ErrInvalid", err)
		case err == nil && token != "" && ix.encodeToken(ListOptions{Segments: 1}, after) != token:
			t.Fatalf("%q stands for %q, whose token is another", token, after)
		}
	})
}

// TestEqualVectors: equal vectors, far more than a posting holds, and then others,
// are all there.
func TestEqualVectors(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 8, Metric: Euclidean, PostingBytes: 4 << 10})
	mustDo(t, err)
	v := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	const n = 20_000
	for i := 0; i < n; i += 500 {
		var recs []Record
		for k := i; k < i+500; k++ {
			recs = append(recs, Record{Key: fmt.Sprint(k), Vector: v})
		}
		mustDo(t, ix.Put(t.Context(), recs))
	}
	mustDo(t, ix.Settle(t.Context()))
	mustBeWhole(t, ix, "all equal")
	if st := ix.Stats(); st.PostingBytesMax > 3*4<<10 {
		t.Errorf("a posting of %d bytes", st.PostingBytesMax)
	}
	res, err := ix.Query(t.Context(), v, 100, QueryOptions{})
	if err != nil || len(res.Matches) != 100 || res.Matches[99].Distance != 0 {
		t.Errorf("%d matches, %v", len(res.Matches), err)
	}
	mustClose(t, s)
}

// TestFullVolumeIsTyped: what says that the volume is full is told apart from all
// else, wherever it comes from.
func TestFullVolumeIsTyped(t *testing.T) {
	err := publicError(fmt.Errorf("somewhere: %w", unix.ENOSPC))
	var full *VolumeFullError
	if !errors.Is(err, ErrVolumeFull) || !errors.As(err, &full) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
}
