package sprat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/filterindex"
	"github.com/spratdb/sprat/internal/realdata"
)

// labelled are n real texts with their sections, and numbers that say nothing about
// where a vector lies.
func labelled(t testing.TB, n int) (held, dataset) {
	t.Helper()
	set, d, rng := realdata.Text(), realSets(t)[0], rand.New(rand.NewPCG(5, 6))
	rows := held{}
	for i := 0; i < len(d.rows); i += len(d.rows) / n {
		doc, err := json.Marshal(map[string]any{"section": set.Labels[i], "n": rng.IntN(10_000), "list": []string{set.Labels[i][:1], "x"}})
		mustDo(t, err)
		rows[set.Keys[i]] = Record{Key: set.Keys[i], Vector: d.rows[i], Metadata: doc}
	}
	return rows, d
}

func (h held) build(t testing.TB, s *Store, cfg IndexConfig) *Index {
	t.Helper()
	ix, _, err := s.Build(context.Background(), "b", "i", cfg, func(yield func(Record, error) bool) {
		for _, key := range h.sortedKeys() {
			if !yield(h[key], nil) {
				return
			}
		}
	}, BuildOptions{})
	mustDo(t, err)
	return ix
}

// realFilters are filters over labelled: of any share, and of places near to the
// queries and far from them.
var realFilters = []string{
	`{"n":{"$lt":5000}}`, `{"n":{"$lt":1000}}`, `{"n":{"$lt":100}}`, `{"n":{"$lt":10}}`, `{"n":{"$gte":9000}}`,
	`{"section":"noun.plant"}`, `{"section":{"$ne":"noun.plant"}}`, `{"section":{"$startsWith":"noun."}}`, `{"section":"python"}`,
	`{"list":"n"}`, `{"list":{"$nin":["n","v"]}}`, `{"$or":[{"section":"python"},{"n":{"$lt":300}}]}`, `{"section":"nothing"}`,
}

// TestFilterRecall: of those that match, the nearest are found, as many as are
// wanted and nothing else, whatever a filter has to do with the query.
func TestFilterRecall(t *testing.T) {
	rows, d := labelled(t, 3000)
	s := openStore(t, t.TempDir(), Options{CacheBytes: 16 << 20, Direct: "off"})
	ix := rows.build(t, s, IndexConfig{Dimension: 384, Metric: d.metric, PostingBytes: 8 << 10})
	plans := map[string]int{}
	for _, text := range realFilters {
		_, some := rows.matching(text)
		right, total := 0, 0
		for _, q := range d.queries[:40] {
			res, err := ix.Query(t.Context(), q, 10, QueryOptions{Filter: []byte(text), RecallTarget: 0.99})
			mustDo(t, err)
			plans[res.Work.Plan]++
			want := some.nearest(d.metric, q, 10)
			if len(res.Matches) != len(want) {
				t.Fatalf("%s: %d results of %d", text, len(res.Matches), len(want))
			}
			if res.Work.Matching != len(some) {
				t.Fatalf("%s: %d match, want %d", text, res.Work.Matching, len(some))
			}
			for _, m := range res.Matches {
				if _, ok := some[m.Key]; !ok {
					t.Fatalf("%s: %s does not match", text, m.Key)
				}
				if m.Distance <= want[len(want)-1].Distance+1e-6 {
					right++
				}
			}
			total += len(want)
		}
		if float64(right) < 0.99*float64(total) {
			t.Errorf("%s: recall %d of %d", text, right, total)
		}
	}
	t.Logf("plans: %v", plans)
	for _, plan := range []string{planNone, planScan, planProbe} {
		if plans[plan] == 0 {
			t.Errorf("no query had the plan %q: %v", plan, plans)
		}
	}
	mustDo(t, whole(ix))
}

// TestFilterRefused: bad filters are bad input, with the messages of S3 Vectors.
func TestFilterRefused(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 2, Metric: Cosine, NonFilterable: []string{"secret"}})
	mustDo(t, err)
	for _, c := range []struct {
		filter, got string
		strict      bool
	}{
		{`{"a":`, MalformedJSON, false},
		{`[]`, "Invalid filter", false},
		{`{"a":{"$near":1}}`, "Invalid filter", false},
		{`{"a":1,"b":2}`, "Invalid filter", true},
		{`{}`, "Invalid filter", true},
		{`{"$or":[{"a":1},{"secret":2}]}`, "Invalid use of non-filterable metadata in filter", false},
	} {
		_, err := ix.Query(t.Context(), []float32{1, 0}, 1, QueryOptions{Filter: []byte(c.filter), StrictFilter: c.strict})
		var in *InputError
		if !errors.As(err, &in) || in.Field != "filter" || in.Got != c.got {
			t.Errorf("%s: %v, want %q", c.filter, err, c.got)
		}
	}
	for _, text := range []string{"", "null", "{}", `{"a":1,"b":2}`} {
		if _, err := ix.Query(t.Context(), []float32{1, 0}, 1, QueryOptions{Filter: []byte(text)}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, names := range [][]string{{""}, {"a", "a"}, {strings.Repeat("x", 1025)}, {"\xff"}} {
		if _, err := s.CreateIndex(t.Context(), "b", "j", IndexConfig{Dimension: 2, Metric: Cosine, NonFilterable: names}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", names, err)
		}
	}
}

// TestFilterTrace: a query tells how its filter was evaluated, and what was expected.
func TestFilterTrace(t *testing.T) {
	rows, d := labelled(t, 1000)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1, Direct: "off"})
	ix := rows.build(t, s, IndexConfig{Dimension: 384, Metric: d.metric, PostingBytes: 8 << 10})
	for text, want := range map[string]string{
		`{"section":"nothing"}`: "none of 1000 vectors matches",
		`{"n":{"$lt":10}}`:      "cost of a scan",
		`{"n":{"$lt":5000}}`:    "vectors seen within the k-th distance",
	} {
		res, err := ix.Query(t.Context(), d.queries[0], 5, QueryOptions{Filter: []byte(text), Trace: true})
		if err != nil || !strings.Contains(res.Trace, want) {
			t.Errorf("%s: trace lacks %q (%v):\n%s", text, want, err, res.Trace)
		}
	}
}

// TestFilterRowsMadeAnew: an index of an older store has no filter rows. Queries
// look at its documents, and maintenance makes the rows while it is written to.
func TestFilterRowsMadeAnew(t *testing.T) {
	rows, d := labelled(t, 1000)
	dir := t.TempDir()
	s := mustOpenByHand(t, dir, Options{Direct: "off"}, hooks{})
	ix := rows.build(t, s, IndexConfig{Dimension: 384, Metric: d.metric, PostingBytes: 8 << 10})
	b := s.catalog.NewBatch()
	b.DeleteFilterRows(ix.row.ID)
	state := ix.current.Load().state
	state.Filters, state.Filtered = catalog.FiltersNone, 0
	b.PutState(ix.row.ID, state)
	mustDo(t, b.Commit())
	mustClose(t, s)

	s = mustOpenByHand(t, dir, Options{Direct: "off"}, hooks{})
	ix = mustIndex(t, s, "i")
	const text = `{"section":{"$startsWith":"noun."},"n":{"$ne":7}}`
	check := func(documents bool) {
		t.Helper()
		_, some := rows.matching(text)
		res, err := ix.Query(t.Context(), d.queries[0], 10, QueryOptions{Filter: []byte(text)})
		if err != nil || documents != (res.Work.Plan == planCheck) {
			t.Fatalf("plan %q, %v, by documents alone %v", res.Work.Plan, err, documents)
		}
		mustDo(t, some.sameFiltered(ix, d.queries[1], 10, text))
		mustDo(t, whole(ix))
	}
	keys := rows.sortedKeys()
	change := func(i int) {
		r := rows[keys[i]]
		r.Metadata = []byte(`{"section":"noun.new"}`)
		rows[r.Key] = r
		mustDo(t, ix.Put(t.Context(), []Record{r}))
		n, err := ix.Delete(t.Context(), []string{keys[i+1]})
		if delete(rows, keys[i+1]); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}
	check(true)
	change(0)
	for i := 1; ix.current.Load().state.Filters != catalog.FiltersWhole; i++ {
		_, err := ix.writer.upkeep.stepFilters(t.Context())
		mustDo(t, err)
		change(100 * i)
	}
	check(false)
	mustClose(t, s)
	s = mustOpenByHand(t, dir, Options{Direct: "off"}, hooks{})
	ix = mustIndex(t, s, "i")
	check(false)
}

// TestFilterRowsRepaired: rows that are not those of the documents are found, and
// made again.
func TestFilterRowsRepaired(t *testing.T) {
	rows, d := labelled(t, 1000)
	s := mustOpenByHand(t, t.TempDir(), Options{Direct: "off"}, hooks{})
	ix := rows.build(t, s, IndexConfig{Dimension: 384, Metric: d.metric, PostingBytes: 8 << 10})
	term := filterindex.Terms([]byte(`{"section":"python"}`), nil)[1]
	for name, spoil := range map[string]func(b *catalog.Batch, key, value []byte){
		"a row is missing": func(b *catalog.Batch, key, _ []byte) { b.DeleteFilterRow(ix.row.ID, key) },
		"a slot too many": func(b *catalog.Batch, key, value []byte) {
			var row filterindex.Row
			mustDo(t, row.Read(value))
			for slot := range uint32(3000) {
				row.Add(slot)
			}
			b.PutFilterRow(ix.row.ID, key, row.Append(nil))
		},
		"no row at all": func(b *catalog.Batch, key, _ []byte) { b.PutFilterRow(ix.row.ID, key, []byte("?")) },
	} {
		key := filterindex.RowKey(nil, term, 0)
		value, err := s.catalog.FilterRow(ix.row.ID, key)
		mustDo(t, err)
		b := s.catalog.NewBatch()
		spoil(b, key, value)
		mustDo(t, b.Commit())
		if err := whole(ix); err == nil || !strings.Contains(err.Error(), "filter") {
			t.Errorf("%s: %v", name, err)
		}
		report, err := s.Repair(t.Context(), "b", "i")
		if err != nil || len(report.Fixed) != 1 || !strings.Contains(report.Fixed[0], "filter rows") {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		mustDo(t, whole(ix))
		_, some := rows.matching(`{"section":"python"}`)
		mustDo(t, some.sameFiltered(ix, d.queries[0], 10, `{"section":"python"}`))
	}
}

// TestFilterRowsOfTheUnreadable: a vector whose document cannot be read leaves the
// rows when it is replaced.
func TestFilterRowsOfTheUnreadable(t *testing.T) {
	rows, d := labelled(t, 1000)
	dir := t.TempDir()
	s := mustOpenByHand(t, dir, Options{Direct: "off"}, hooks{})
	ix := rows.build(t, s, IndexConfig{Dimension: 384, Metric: d.metric, PostingBytes: 8 << 10})
	key := rows.sortedKeys()[17]
	at, err := s.catalog.Placement(ix.row.ID, []byte(key))
	mustDo(t, err)
	path, off := ix.path(recordsFile), ix.records.Offset(at.Slot)
	mustClose(t, s)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	mustDo(t, err)
	_, err = f.WriteAt([]byte("spoilt"), off+40)
	mustDo(t, err)
	mustDo(t, f.Close())

	s = mustOpenByHand(t, dir, Options{Direct: "off"}, hooks{})
	ix = mustIndex(t, s, "i")
	if whole(ix) == nil {
		t.Fatal("the record is not damaged")
	}
	r := rows[key]
	r.Metadata = []byte(`{"new":true}`)
	rows[key] = r
	mustDo(t, ix.Put(t.Context(), []Record{r}))
	mustDo(t, whole(ix))
	for _, text := range []string{`{"new":true}`, `{"new":{"$exists":false},"n":{"$gte":0}}`} {
		_, some := rows.matching(text)
		mustDo(t, some.sameFiltered(ix, d.queries[0], 10, text))
	}
}

// TestFilterSetsOfOtherMoments: sets that were made before are right about what has
// changed since, and are not kept for ever.
func TestFilterSetsOfOtherMoments(t *testing.T) {
	rows, d := labelled(t, 1000)
	s := mustOpenByHand(t, t.TempDir(), Options{Direct: "off"}, hooks{})
	ix := rows.build(t, s, IndexConfig{Dimension: 384, Metric: d.metric, PostingBytes: 8 << 10})
	keys := rows.sortedKeys()
	const text = `{"section":{"$ne":"python"},"n":{"$lt":5000}}`
	cached := 0
	for i := range 30 {
		r := rows[keys[i]]
		r.Metadata = []byte([]string{`{"section":"python","n":3}`, `{"section":"x","n":3}`}[i%2])
		rows[r.Key] = r
		mustDo(t, ix.Put(t.Context(), []Record{r}))
		_, some := rows.matching(text)
		res, err := ix.Query(t.Context(), r.Vector, 10, QueryOptions{Filter: []byte(text)})
		mustDo(t, err)
		if res.Work.FilterRows == 0 {
			cached++
		}
		mustDo(t, some.sameFiltered(ix, r.Vector, 10, text))
	}
	if cached < 20 {
		t.Errorf("%d of 30 queries had their set from the one before", cached)
	}
	for i := range 1000 {
		ix.filterSets.put(filterSet{text: fmt.Sprint(i), set: ix.filterSets.order.Front().Value.(filterSet).set}, 100<<10)
	}
	if n := ix.filterSets.bytes; n > 100<<10 || n < 50<<10 || len(ix.filterSets.at) != ix.filterSets.order.Len() {
		t.Errorf("%d bytes of sets, the limit is 100 KiB", n)
	}
}

// TestFilterBounds: a read budget and a deadline bound a query with a filter as any
// other, and the answer says that it was cut short.
func TestFilterBounds(t *testing.T) {
	rows, d := labelled(t, 1000)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1, Direct: "off"})
	ix := rows.build(t, s, IndexConfig{Dimension: 384, Metric: d.metric, PostingBytes: 8 << 10})
	for _, text := range []string{`{"n":{"$lt":5000}}`, `{"n":{"$lt":500}}`, `{"section":"python"}`} {
		_, some := rows.matching(text)
		all, err := ix.Query(t.Context(), d.queries[1], 10, QueryOptions{Filter: []byte(text)})
		mustDo(t, err)
		for most := 1; most < 12; most += 5 {
			res, err := ix.Query(t.Context(), d.queries[1], 10, QueryOptions{Filter: []byte(text), MaxReads: most})
			mustDo(t, err)
			if res.Work.Reads > most || !res.Partial && fmt.Sprint(res.Matches) != fmt.Sprint(all.Matches) || most == 1 && !res.Partial {
				t.Errorf("%s: %d reads of %d, partial %v", text, res.Work.Reads, most, res.Partial)
			}
			for _, m := range res.Matches {
				if _, ok := some[m.Key]; !ok {
					t.Errorf("%s: %s does not match", text, m.Key)
				}
			}
		}
		res, err := ix.Query(t.Context(), d.queries[1], 10, QueryOptions{Filter: []byte(text), Deadline: time.Now().Add(-time.Second)})
		if err != nil || !res.Partial {
			t.Errorf("%s: past its deadline: %v, partial %v", text, err, res.Partial)
		}
	}
}
