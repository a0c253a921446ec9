package sprat

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/filter"
	"github.com/spratdb/sprat/rq/simd"
)

// TestModel: whatever is done to an index, in whatever order, with maintenance in
// between, with restarts and crashes, it answers as a map would. Keys are few, so
// that most puts replace and slots are given out again and again; vectors are few,
// so that distances tie.
func TestModel(t *testing.T) {
	t.Parallel()
	done, runs, failed := map[string]int{}, 0, false
	rapid.Check(t, func(rt *rapid.T) {
		// Once a run has failed, all that follow make it shorter.
		if runs++; runs > modelRuns && !failed && !flagGiven("rapid.checks") {
			return
		}
		ended := false
		defer func() { failed = failed || !ended }()
		m := startMachine(rt, t)
		m.done = done
		actions := map[string]func(*rapid.T){"": m.check}
		for _, a := range []struct {
			name string
			n    int // how often, of all
			do   func(*rapid.T)
		}{
			// Those that come first are drawn a little more often.
			{"1 put", 5, m.put}, {"2 step", 4, m.step}, {"3 delete", 2, m.delete}, {"4 get", 1, m.get}, {"5 list", 1, m.list},
			{"6 query", 1, m.query}, {"6 filtered query", 2, m.filtered}, {"7 begin a query", 1, m.begin}, {"7 finish", 1, m.finish}, {"7 settle", 1, m.settle},
			{"8 crash", 1, m.crash}, {"8 reopen", 1, m.reopen}, {"9 compact", 1, m.compact},
		} {
			for i := range a.n {
				actions[a.name+strings.Repeat("'", i)] = a.do
			}
		}
		rt.Repeat(actions)
		for len(m.slow) > 0 {
			m.finish(rt)
		}
		m.must(m.model.same(m.ix, m.vectors[0], m.vectors[1]))
		m.must(m.s.Close())
		ended = true
	})
	t.Logf("maintenance: %v", done)
}

// modelRuns is how many sequences TestModel tries unless -rapid.checks says.
const modelRuns = 40

// flagGiven says that a flag is on the command line.
func flagGiven(name string) (given bool) {
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// machine is an index with the map that it should be like.
type machine struct {
	rt      *rapid.T
	root    string // of all directories of a run
	dir     string
	opts    Options
	s       *Store
	ix      *Index
	model   held
	keys    []string
	vectors [][]float32
	long    []byte
	crashes int
	slow    []slowQuery
	done    map[string]int // what maintenance has done, in all runs
}

// slowQuery is a query that has begun and sees the index as it was then.
type slowQuery struct {
	searcher *searcher
	want     []Match
}

func startMachine(rt *rapid.T, t *testing.T) *machine {
	m := &machine{rt: rt, model: held{}, long: []byte(`{"text":"` + strings.Repeat("long ", 700) + `"}`)}
	metric := rapid.SampledFrom([]Metric{Cosine, Euclidean, Dot}).Draw(rt, "metric")
	cfg := IndexConfig{
		Dimension: rapid.SampledFrom([]int{3, 40, 150}).Draw(rt, "dimension"), Metric: metric, PostingBytes: 4 << 10,
		Copies: rapid.SampledFrom([]int{1, 4}).Draw(rt, "copies"),
	}
	m.opts = Options{
		MemoryLimit: 64 << 20,
		CacheBytes:  rapid.SampledFrom([]int64{-1, 1 << 20}).Draw(rt, "cache"),
		Direct:      rapid.SampledFrom([]string{"off", "off", "auto"}).Draw(rt, "direct"),
	}
	m.vectors = makeCloud(metric, rapid.SampledFrom([]int{300, 40, 3}).Draw(rt, "vectors"), cfg.Dimension, 1)
	for i := range rapid.SampledFrom([]int{150, 400, 12}).Draw(rt, "keys") {
		key := fmt.Sprintf("k%03d", i)
		if i%29 == 0 {
			key += strings.Repeat("ü", 500)
		}
		m.keys = append(m.keys, key)
	}
	var err error
	top := t.TempDir()
	if m.opts.Direct == "off" {
		top = quickDir(t)
	}
	m.root, err = os.MkdirTemp(top, "run")
	m.must(err)
	m.dir = filepath.Join(m.root, "store")
	rt.Cleanup(func() {
		if m.s != nil {
			_ = m.s.Close() // closed already unless the run failed
		}
		_ = os.RemoveAll(m.root) // the test's directory goes anyway
	})
	m.s, err = openByHand(m.dir, m.opts, hooks{})
	m.must(err)
	m.ix, err = m.s.CreateIndex(context.Background(), "b", "i", cfg)
	m.must(err)
	if metric == Dot { // the first call says how long vectors may be
		longest := slices.MaxFunc(m.vectors, func(a, b []float32) int { return cmp.Compare(simd.SumSqF64(a), simd.SumSqF64(b)) })
		m.must(m.ix.Put(context.Background(), []Record{{Key: m.keys[0], Vector: longest}}))
		m.model[m.keys[0]] = Record{Key: m.keys[0], Vector: longest}
	}
	return m
}

func (m *machine) must(err error) {
	m.rt.Helper()
	if err != nil {
		m.rt.Fatal(err)
	}
}

func (m *machine) drawKeys(rt *rapid.T, n int) []string {
	var keys []string
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(m.keys)-1), 1, n).Draw(rt, "keys") {
		keys = append(keys, m.keys[i])
	}
	return keys
}

func (m *machine) drawVector(rt *rapid.T) []float32 {
	return m.vectors[rapid.IntRange(0, len(m.vectors)-1).Draw(rt, "vector")]
}

func (m *machine) put(rt *rapid.T) {
	// One draw stands for a call of many records: shrinking stays quick.
	first, n := rapid.IntRange(0, len(m.keys)-1).Draw(rt, "key"), min(len(m.keys), rapid.SampledFrom([]int{60, 1, 25, 7}).Draw(rt, "n"))
	vector, meta := rapid.IntRange(0, len(m.vectors)-1).Draw(rt, "vector"), rapid.IntRange(0, 20).Draw(rt, "metadata")
	var records []Record
	for i := range n {
		r := Record{Key: m.keys[(first+i*7)%len(m.keys)], Vector: m.vectors[(vector+i*i)%len(m.vectors)]}
		if slices.ContainsFunc(records, func(x Record) bool { return x.Key == r.Key }) {
			continue
		}
		switch {
		case (meta+i)%23 == 0:
			r.Metadata = m.long
		case (meta+i)%2 == 0:
			r.Metadata = fmt.Appendf(nil, `{"n":%d,"even":%t,"tags":["t%d","all",%d],"when":%d}`, meta*i, i%2 == 0, i%5, i%3, 1700000000+meta*i*3607)
		}
		records = append(records, r)
	}
	m.must(relax(m.ix))
	m.must(m.ix.Put(context.Background(), records))
	for _, r := range records {
		m.model[r.Key] = r
	}
}

func (m *machine) delete(rt *rapid.T) {
	keys := m.drawKeys(rt, 30)
	if rapid.IntRange(0, 3).Draw(rt, "most") == 0 {
		keys = slices.Concat(m.keys[rapid.IntRange(0, len(m.keys)-1).Draw(rt, "from"):], keys)
	}
	want := 0
	for _, key := range keys {
		if _, ok := m.model[key]; ok {
			want++
		}
		delete(m.model, key)
	}
	n, err := m.ix.Delete(context.Background(), keys)
	m.must(err)
	if n != want {
		rt.Fatalf("deleted %d, want %d", n, want)
	}
}

func (m *machine) get(rt *rapid.T) {
	keys := m.drawKeys(rt, 30)
	want := Fields{Vectors: rapid.Bool().Draw(rt, "vectors"), Metadata: rapid.Bool().Draw(rt, "metadata")}
	got, err := m.ix.Get(context.Background(), keys, want)
	m.must(err)
	for _, key := range keys {
		r, ok := m.model[key]
		if !ok {
			continue
		}
		if len(got) == 0 {
			rt.Fatalf("key %.40q is missing", key)
		}
		if d := differ(got[0].Key, got[0].Vector, got[0].Metadata, only(r, want)); d != "" {
			rt.Fatal(d)
		}
		got = got[1:]
	}
	if len(got) > 0 {
		rt.Fatalf("key %.40q should not be there", got[0].Key)
	}
}

// only is a record with what is wanted of it.
func only(r Record, want Fields) Record {
	if !want.Vectors {
		r.Vector = nil
	}
	if !want.Metadata {
		r.Metadata = nil
	}
	return r
}

func (m *machine) list(rt *rapid.T) {
	segments, limit := rapid.IntRange(1, MaxListSegments).Draw(rt, "segments"), rapid.IntRange(1, 200).Draw(rt, "limit")
	var all []Record
	for i := range segments {
		o := ListOptions{Limit: limit, Segment: i, Segments: segments, Fields: Fields{Vectors: true, Metadata: true}}
		for {
			page, err := m.ix.List(context.Background(), o)
			m.must(err)
			if len(page.Records) > limit {
				rt.Fatalf("%d records on a page of %d", len(page.Records), limit)
			}
			all = append(all, page.Records...)
			if o.Token = page.Next; o.Token == "" {
				break
			}
		}
	}
	m.must(m.model.sameRecords(all))
}

func (m *machine) query(rt *rapid.T) {
	q, k := m.drawVector(rt), rapid.IntRange(1, 70).Draw(rt, "k")
	m.must(m.model.sameQuery(m.ix, q, k))
	// By default an answer may lack something, but nothing in it is wrong.
	res, err := m.ix.Query(context.Background(), q, k, QueryOptions{Vectors: true, Metadata: true})
	m.must(err)
	some := held{}
	for _, x := range res.Matches {
		r, ok := m.model[x.Key]
		if !ok {
			rt.Fatalf("key %.40q is found though it is not there", x.Key)
		}
		some[x.Key] = r
	}
	m.must(sameMatches(res.Matches, some.nearest(m.ix.Metric(), q, k)))
}

// modelFilters are filters over what put writes.
var modelFilters = []string{
	`{"even":true}`, `{"even":{"$ne":true}}`, `{"n":{"$exists":false}}`, `{"text":{"$startsWith":"long long"}}`,
	`{"text":{"$startsWith":"long long long long long long long long long long long long long long long lung"}}`,
	`{"tags":"t3"}`, `{"tags":{"$nin":["t1","t2",2]}}`, `{"tags":2}`, `{"n":{"$gt":20,"$lte":200}}`, `{"n":0}`,
	`{"$or":[{"n":{"$lt":5}},{"even":false,"tags":{"$in":["t0","t4"]}}]}`, `{"when":{"$gte":1700050000,"$lt":1700300000}}`,
	`{"nothing":1}`, `{"tags":"all","n":{"$ne":0}}`,
}

// matching are the records that a filter holds for.
func (h held) matching(text string) (*filter.Filter, held) {
	f, err := filter.Parse([]byte(text), filter.Options{})
	if err != nil {
		panic(err)
	}
	some := held{}
	for key, r := range h {
		if f.Match(r.Metadata) {
			some[key] = r
		}
	}
	return f, some
}

// filtered asks with a filter: what matches is found, and nothing else.
func (m *machine) filtered(rt *rapid.T) {
	q, k := m.drawVector(rt), rapid.SampledFrom([]int{3, 1, 40}).Draw(rt, "k")
	text := rapid.SampledFrom(modelFilters).Draw(rt, "filter")
	_, some := m.model.matching(text)
	m.must(some.sameFiltered(m.ix, q, k, text))
}

// sameFiltered compares answers to a filter with those of what matches it.
func (h held) sameFiltered(ix *Index, q []float32, k int, text string) error {
	o := everything
	o.Filter = []byte(text)
	res, err := ix.Query(context.Background(), q, k, o)
	if err != nil {
		return fmt.Errorf("filter %s: %w", text, err)
	}
	if err := sameMatches(res.Matches, h.nearest(ix.Metric(), q, k)); err != nil {
		return fmt.Errorf("filter %s, plan %s: %w", text, res.Work.Plan, err)
	}
	// By default an answer may lack something, but as many come as there are.
	res, err = ix.Query(context.Background(), q, k, QueryOptions{Vectors: true, Metadata: true, Filter: []byte(text)})
	if err != nil {
		return err
	}
	found := held{}
	for _, x := range res.Matches {
		if r, ok := h[x.Key]; ok {
			found[x.Key] = r
		}
	}
	if err := sameMatches(res.Matches, found.nearest(ix.Metric(), q, k)); err != nil || len(found) != min(k, len(h)) {
		return fmt.Errorf("filter %s, plan %s by default: %d of %d matches, %w", text, res.Work.Plan, len(found), min(k, len(h)), err)
	}
	return nil
}

// begin starts a query that is finished when more has happened.
func (m *machine) begin(rt *rapid.T) {
	if len(m.slow) == 3 {
		rt.Skip()
	}
	q, k := m.drawVector(rt), rapid.IntRange(1, 70).Draw(rt, "k")
	s, o, among := newSearcher(m.ix), everything, m.model
	if rapid.Bool().Draw(rt, "filtered") {
		var f *filter.Filter
		o.Filter = []byte(rapid.SampledFrom(modelFilters).Draw(rt, "filter"))
		f, among = m.model.matching(string(o.Filter))
		s.filter.filter = f
	}
	s.begin(q, k, &o)
	m.slow = append(m.slow, slowQuery{searcher: s, want: among.nearest(m.ix.Metric(), q, k)})
}

// finish has a query that began earlier read and answer.
func (m *machine) finish(rt *rapid.T) {
	if len(m.slow) == 0 {
		rt.Skip()
	}
	i := rapid.IntRange(0, len(m.slow)-1).Draw(rt, "which")
	s := m.slow[i].searcher
	err := s.search(newClock(context.Background(), time.Time{}))
	var got []Match
	if err == nil {
		got, err = s.answer()
	}
	if err == nil {
		err = sameMatches(got, m.slow[i].want)
	}
	s.end()
	m.slow = slices.Delete(m.slow, i, i+1)
	if err != nil {
		rt.Fatalf("a query that began earlier: %v", err)
	}
}

func (m *machine) step(*rapid.T) {
	did, err := m.ix.writer.upkeep.step(context.Background())
	m.must(err)
	m.done[did]++
}

func (m *machine) settle(*rapid.T) {
	did, err := settleByHand(m.ix)
	m.must(err)
	for _, w := range did {
		m.done[w]++
	}
}

func (m *machine) compact(*rapid.T) {
	m.must(compactByHand(m.ix))
	m.done["tidied"]++
}

func (m *machine) reopen(rt *rapid.T) {
	for len(m.slow) > 0 {
		m.finish(rt)
	}
	m.must(m.s.Close())
	m.open()
}

// crash goes on with a copy of the store as a sudden death leaves it.
func (m *machine) crash(rt *rapid.T) {
	for len(m.slow) > 0 {
		m.finish(rt)
	}
	m.crashes++
	to := filepath.Join(m.root, fmt.Sprint("crash ", m.crashes))
	m.must(copyStore(m.dir, to))
	m.must(m.s.Close())
	m.must(os.RemoveAll(m.dir))
	m.dir = to
	m.open()
}

func (m *machine) open() {
	var err error
	m.s, err = openByHand(m.dir, m.opts, hooks{})
	m.must(err)
	m.ix, err = m.s.Index("b", "i")
	m.must(err)
	m.must(m.model.same(m.ix, m.vectors[0]))
}

func (m *machine) check(rt *rapid.T) {
	if n := m.ix.Len(); n != uint64(len(m.model)) {
		rt.Fatalf("%d vectors, want %d", n, len(m.model))
	}
	m.must(m.model.sameQuery(m.ix, m.vectors[0], 5))
}

// TestGenerationsWrap: a slot lives more often than a generation can count. A key
// that is replaced thousands of times leaves the right answers, and files that do
// not grow.
func TestGenerationsWrap(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{1, 1000} { // from time to time
		t.Run(fmt.Sprintf("%d steps", steps), func(t *testing.T) {
			t.Parallel()
			wrapGenerations(t, steps)
		})
	}
}

func wrapGenerations(t *testing.T, steps int) {
	const dim, times = 8, 2600
	vectors := makeCloud(Euclidean, 500, dim, 3)
	dir, o := quickDir(t), Options{CacheBytes: 1 << 20, Direct: "off"}
	s := mustOpenByHand(t, dir, o, hooks{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: dim, Metric: Euclidean, PostingBytes: 4 << 10})
	mustDo(t, err)
	model := held{}
	put := func(key string, v []float32) {
		mustDo(t, relax(ix))
		r := Record{Key: key, Vector: v, Metadata: fmt.Appendf(nil, `{"n":%q}`, key)}
		mustDo(t, ix.Put(t.Context(), []Record{r}))
		model[key] = r
	}
	for i := range 40 {
		put(fmt.Sprint("still ", i), vectors[i])
	}
	wraps := 0
	for n := range times {
		before := ix.current.Load()
		put("moving", vectors[(n*37)%len(vectors)])
		if n%7 == 0 && steps == 1 {
			_, err := ix.writer.upkeep.step(t.Context())
			mustDo(t, err)
		} else if n%400 == 0 && steps > 1 {
			_, err := settleByHand(ix)
			mustDo(t, err)
		}
		wraps += countWraps(before, ix.current.Load())
		if n%50 == 0 {
			mustDo(t, model.sameQuery(ix, vectors[n%len(vectors)], 3))
		}
		if n%700 == 699 {
			mustDo(t, model.same(ix, vectors[0]))
			mustClose(t, s)
			s = mustOpenByHand(t, dir, o, hooks{})
			ix = mustIndex(t, s, "i")
			mustDo(t, model.same(ix, vectors[0]))
		}
	}
	if wraps == 0 {
		t.Error("no generation has wrapped")
	}
	if slots := ix.current.Load().state.Slots; slots > 256 {
		t.Errorf("%d slots for %d vectors", slots, len(model))
	}
	did, err := settleByHand(ix)
	mustDo(t, err)
	t.Logf("%d wraps, then %s", wraps, counted(did))
	mustDo(t, model.same(ix, vectors[0], vectors[1]))
	mustClose(t, s)
	for name, most := range map[string]int64{recordsFile: 1 << 20, postingsFile: 1 << 20, ".": 3 * segmentKeep} {
		if n := bytesBelow(t, ix.path(name)); n > most {
			t.Errorf("%s holds %d bytes at the end", name, n)
		}
	}
}

// countWraps counts the slots whose generation fell.
func countWraps(before, now *version) (n int) {
	for r := range min(before.runs.Len(), now.runs.Len()) {
		a, b := before.runs.At(r), now.runs.At(r)
		for i := range catalog.RunSlots {
			if b.gens[i] < a.gens[i] {
				n++
			}
		}
	}
	return n
}

// bytesBelow is the size of a file, or of all files below a directory.
func bytesBelow(t *testing.T, path string) (n int64) {
	t.Helper()
	mustDo(t, filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return err
	}))
	return n
}
