package sprat

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// recordsOf yields records, then err when it is not nil.
func recordsOf(records []Record, err error) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// TestDuplicateKeys: of rows with equal keys the last wins, and the others are
// counted.
func TestDuplicateKeys(t *testing.T) {
	t.Parallel()
	d := fewTexts(120)
	const distinct = 50
	var records []Record
	last := map[string]int{}
	for i, v := range d.rows {
		key := "key-" + strconv.Itoa(i*i%distinct)
		last[key] = i
		records = append(records, Record{Key: key, Vector: v, Metadata: []byte(`{"row":` + strconv.Itoa(i) + `}`)})
	}
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	ix, st, err := s.Build(context.Background(), "b", "i", fewConfig(d), recordsOf(records, nil), BuildOptions{})
	mustDo(t, err)
	if st.Rows != 120 || st.Vectors != int64(len(last)) || st.Duplicates != 120-int64(len(last)) || ix.Len() != uint64(len(last)) {
		t.Errorf("%+v and length %d, want %d vectors", st, ix.Len(), len(last))
	}
	res, err := ix.Query(context.Background(), d.queries[0], 1000, everything)
	mustDo(t, err)
	if len(res.Matches) != len(last) {
		t.Errorf("%d results, want %d", len(res.Matches), len(last))
	}
	for _, m := range res.Matches {
		row := last[m.Key]
		if string(m.Metadata) != `{"row":`+strconv.Itoa(row)+`}` || !slices.Equal(m.Vector, d.rows[row]) {
			t.Errorf("key %s: metadata %s, want that of row %d", m.Key, m.Metadata, row)
		}
	}
	mustVerify(t, ix)
}

func mustVerify(t *testing.T, ix *Index) {
	t.Helper()
	if r, err := ix.Verify(context.Background(), nil); err != nil || !r.OK() {
		t.Errorf("verify: %v %+v", err, r)
	}
}

// badRows are records that no index of four dimensions and their metric takes.
func badRows() map[string]struct {
	metric Metric
	rec    Record
	field  string
} {
	v := func(x ...float32) []float32 { return x }
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	type bad = struct {
		metric Metric
		rec    Record
		field  string
	}
	doc := func(n int) []byte { return []byte(`{"t":"` + strings.Repeat("x", n-8) + `"}`) }
	return map[string]bad{
		"short":                 {Euclidean, Record{Key: "k", Vector: v(1, 2, 3)}, "vector"},
		"long":                  {Dot, Record{Key: "k", Vector: v(1, 2, 3, 4, 5)}, "vector"},
		"no vector":             {Cosine, Record{Key: "k"}, "vector"},
		"NaN":                   {Cosine, Record{Key: "k", Vector: v(1, 2, 3, nan)}, "vector"},
		"infinity":              {Euclidean, Record{Key: "k", Vector: v(inf, 2, 3, 4)}, "vector"},
		"minus infinity":        {Dot, Record{Key: "k", Vector: v(1, -inf, 3, 4)}, "vector"},
		"overflow when squared": {Euclidean, Record{Key: "k", Vector: v(1, 2, 1e30, 4)}, "vector"},
		"just too large":        {Dot, Record{Key: "k", Vector: v(1, 2, 1.001e15, 4)}, "vector"},
		"zero":                  {Cosine, Record{Key: "k", Vector: v(0, 0, 0, 0)}, "vector"},
		"negative zero":         {Cosine, Record{Key: "k", Vector: v(float32(math.Copysign(0, -1)), 0, 0, 0)}, "vector"},
		"as good as zero":       {Cosine, Record{Key: "k", Vector: v(1e-40, 1e-42, 0, 0)}, "vector"},
		"no key":                {Cosine, Record{Vector: v(1, 2, 3, 4)}, "key"},
		"long key":              {Cosine, Record{Key: strings.Repeat("k", MaxKeyBytes+1), Vector: v(1, 2, 3, 4)}, "key"},
		"key not UTF-8":         {Cosine, Record{Key: "k\xc3", Vector: v(1, 2, 3, 4)}, "key"},
		"not JSON":              {Cosine, Record{Key: "k", Vector: v(1, 2, 3, 4), Metadata: []byte("{color: red}")}, "metadata"},
		"cut JSON":              {Cosine, Record{Key: "k", Vector: v(1, 2, 3, 4), Metadata: []byte(`{"color":"re`)}, "metadata"},
		"two documents":         {Cosine, Record{Key: "k", Vector: v(1, 2, 3, 4), Metadata: []byte(`{}{}`)}, "metadata"},
		"no object":             {Cosine, Record{Key: "k", Vector: v(1, 2, 3, 4), Metadata: []byte(`["color"]`)}, "metadata"},
		"large metadata":        {Cosine, Record{Key: "k", Vector: v(1, 2, 3, 4), Metadata: doc(MaxMetadataBytes + 1)}, "metadata"},
	}
}

// TestBadRows: one bad row in the middle fails the whole load, named by number
// and key, and leaves no trace.
func TestBadRows(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	good := make([]Record, 40)
	for i := range good {
		good[i] = Record{Key: "good-" + strconv.Itoa(i), Vector: []float32{1, float32(i), 3, 4}}
	}
	for name, c := range badRows() {
		t.Run(name, func(t *testing.T) {
			rows := slices.Concat(good[:25], []Record{c.rec}, good[25:])
			ix, _, err := s.Build(context.Background(), "b", "i", IndexConfig{Dimension: 4, Metric: c.metric}, recordsOf(rows, nil), BuildOptions{})
			var re *RowError
			var in *InputError
			if ix != nil || !errors.Is(err, ErrInvalid) || !errors.As(err, &re) || !errors.As(err, &in) {
				t.Fatalf("index %v, error %v, want a row error", ix, err)
			}
			if re.Row != 25 || re.Key != c.rec.Key || in.Field != c.field {
				t.Errorf("%v: row %d, key %.20q, field %s; want 25, %.20q, %s", err, re.Row, re.Key, in.Field, c.rec.Key, c.field)
			}
			checkNothingOf(t, s, "i")
		})
	}
	if buckets, err := s.Buckets(); err != nil || len(buckets) != 0 {
		t.Errorf("buckets %q, %v", buckets, err)
	}
	ix, _, err := s.Build(context.Background(), "b", "i", IndexConfig{Dimension: 4, Metric: Cosine}, recordsOf(good, nil), BuildOptions{})
	mustDo(t, err)
	mustVerify(t, ix)
}

// TestExtremeRows: what is just allowed comes back as it was given.
func TestExtremeRows(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"t":"` + strings.Repeat("é", (MaxMetadataBytes-8)/2) + `"}`)
	records := []Record{
		{Key: strings.Repeat("k", MaxKeyBytes), Vector: []float32{1e15, -1e15, 1e15, -1e15}, Metadata: doc},
		{Key: "\x00", Vector: []float32{math.SmallestNonzeroFloat32, float32(math.Copysign(0, -1)), 0, 0}},
		{Key: "\x00\x00", Vector: []float32{1e-20, 1e-20, 1e-20, 1e-20}, Metadata: []byte(`{}`)},
		{Key: "é", Vector: []float32{1, 0, 0, 0}, Metadata: []byte(`{"form":"composed"}`)},
		{Key: "e\u0301", Vector: []float32{1, 0, 0, 0}, Metadata: []byte(`{"form":"decomposed"}`)},
		{Key: "😀 שלום/../", Vector: []float32{0, 0, 0, 0}},
		{Key: "K", Vector: []float32{0, 0, 1, 0}},
		{Key: "k", Vector: []float32{0, 0, 0, 1}},
	}
	for _, m := range []Metric{Euclidean, Dot} {
		dir := t.TempDir()
		s := openStore(t, dir, Options{CacheBytes: -1})
		_, _, err := s.Build(context.Background(), "b", "i", IndexConfig{Dimension: 4, Metric: m}, recordsOf(records, nil), BuildOptions{})
		mustDo(t, err)
		mustClose(t, s)
		s = openStore(t, dir, Options{CacheBytes: -1})
		ix := mustIndex(t, s, "i")
		mustVerify(t, ix)
		res, err := ix.Query(context.Background(), []float32{1, 1, 1, 1}, 100, everything)
		mustDo(t, err)
		got := map[string]Match{}
		for _, r := range res.Matches {
			got[r.Key] = r
		}
		if len(got) != len(records) || len(res.Matches) != len(records) {
			t.Errorf("%v: %d results, %d keys, want %d", m, len(res.Matches), len(got), len(records))
		}
		for _, r := range records {
			if g := got[r.Key]; !reflect.DeepEqual(bitsOf(g.Vector), bitsOf(r.Vector)) || !bytes.Equal(g.Metadata, r.Metadata) {
				t.Errorf("%v, key %.20q: %v with %.40q, want %v with %.40q", m, r.Key, g.Vector, g.Metadata, r.Vector, r.Metadata)
			}
		}
	}
}

func bitsOf(v []float32) (bits []uint32) {
	for _, x := range v {
		bits = append(bits, math.Float32bits(x))
	}
	return bits
}

// TestFailingInput: the error of the input is returned and nothing is left.
func TestFailingInput(t *testing.T) {
	t.Parallel()
	s, d := openStore(t, t.TempDir(), Options{CacheBytes: -1}), fewTexts(50)
	broken := errors.New("the file ends early")
	for _, n := range []int{0, 1, 50} {
		var records []Record
		for i, v := range d.rows[:n] {
			records = append(records, Record{Key: strconv.Itoa(i), Vector: v})
		}
		_, _, err := s.Build(context.Background(), "b", "i", fewConfig(d), recordsOf(records, broken), BuildOptions{})
		if !errors.Is(err, broken) {
			t.Errorf("after %d rows: %v, want %v", n, err, broken)
		}
		checkNothingOf(t, s, "i")
	}
}

// TestPanickingInput: a panic of the caller's own code goes through, and leaves
// nothing in a store that works on.
func TestPanickingInput(t *testing.T) {
	s, d := openStore(t, t.TempDir(), Options{CacheBytes: -1}), fewTexts(30)
	trouble := errors.New("trouble")
	for name, build := range map[string]func(){
		"rows": func() {
			_, _, _ = s.Build(context.Background(), "b", "i", fewConfig(d), func(yield func(Record, error) bool) {
				yield(Record{Key: "a", Vector: d.rows[0]}, nil)
				panic(trouble)
			}, BuildOptions{})
		},
		"progress": func() {
			_, _, _ = s.Build(context.Background(), "b", "i", fewConfig(d), rowsOf(d.rows), BuildOptions{
				Progress: func(step string, _, _ int64) {
					if step == "commit" {
						panic(trouble)
					}
				},
			})
		},
	} {
		func() {
			defer func() {
				if r := recover(); r != trouble {
					t.Errorf("%s: recovered %v, want %v", name, r, trouble)
				}
			}()
			build()
		}()
		checkNothingOf(t, s, "i")
	}
	if _, _, err := s.Build(context.Background(), "b", "i", fewConfig(d), nil, BuildOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no rows at all: %v, want %v", err, ErrInvalid)
	}
	mustVerify(t, mustBuild(t, s, "i", fewConfig(d), d.rows))
	mustClose(t, s)
}

// TestCancelledBuild: a context that ends at any step ends the build with its
// error, and nothing is left.
func TestCancelledBuild(t *testing.T) {
	t.Parallel()
	s, d := openStore(t, t.TempDir(), Options{CacheBytes: -1}), fewTexts(100)
	var steps []string
	b := newTestBuild(t, s, "steps", fewConfig(d), 100<<10)
	b.opts.Progress = func(step string, _, _ int64) {
		if !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	runTestBuild(t, b, rowsOf(d.rows))
	for _, step := range []string{"train", "partition", "assign", "place", "encode", "write", "calibrate", "commit"} {
		if !slices.Contains(steps, step) {
			t.Errorf("no step %q in %q", step, steps)
		}
	}
	for _, step := range append(steps, "read") {
		ctx, cancel := context.WithCancel(context.Background())
		b := newTestBuild(t, s, "i", fewConfig(d), 100<<10)
		b.opts.Progress = func(at string, _, _ int64) {
			if at == step {
				cancel()
			}
		}
		_, err := b.run(ctx, func(yield func(Record, error) bool) {
			for i, v := range d.rows {
				if i == 70 && step == "read" {
					cancel()
				}
				if !yield(Record{Key: strconv.Itoa(i), Vector: v}, nil) {
					return
				}
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: %v, want %v", step, err, context.Canceled)
		}
		mustDo(t, b.abandon())
		checkNothingOf(t, s, "i")
		cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := s.Build(ctx, "b", "i", fewConfig(d), rowsOf(d.rows), BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before the start: %v", err)
	}
	checkNothingOf(t, s, "i")
	mustVerify(t, mustBuild(t, s, "i", fewConfig(d), d.rows))
}

// newTestBuild is a build that may hold the given bytes of memory, however few:
// small inputs then take the ways of inputs that do not fit.
func newTestBuild(t *testing.T, s *Store, name string, cfg IndexConfig, memory int64) *build {
	t.Helper()
	b, err := s.newBuild(t.Context(), "b", name, cfg, BuildOptions{empty: true})
	mustDo(t, err)
	b.memory = memory
	return b
}

func runTestBuild(t *testing.T, b *build, rows iter.Seq2[Record, error]) *Index {
	t.Helper()
	ix, err := b.run(context.Background(), rows)
	if err != nil {
		t.Fatal(errors.Join(err, b.abandon()))
	}
	mustDo(t, errors.Join(b.staged.close(), b.keys.Close(), b.placed.close(), b.batch.Discard(), os.RemoveAll(b.tmp)))
	return ix
}

// TestBuildsOfOneName: of builds of the same name at the same time one wins.
func TestBuildsOfOneName(t *testing.T) {
	t.Parallel()
	s, d := openStore(t, t.TempDir(), Options{CacheBytes: -1}), fewTexts(60)
	const builds = 4
	var started, done sync.WaitGroup
	started.Add(builds)
	errs := make([]error, builds)
	for i := range builds {
		done.Go(func() {
			_, _, errs[i] = s.Build(context.Background(), "b", "i", fewConfig(d), func(yield func(Record, error) bool) {
				started.Done()
				started.Wait() // all have found the name free
				rowsOf(d.rows)(yield)
			}, BuildOptions{Workers: 1})
		})
	}
	done.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrExists) {
			t.Errorf("%v, want %v", err, ErrExists)
		}
	}
	if won != 1 {
		t.Errorf("%d builds of one name succeeded", won)
	}
	mustVerify(t, mustIndex(t, s, "i"))
	checkNothingOf(t, s, "other") // no files of the losers
	if _, _, err := s.Build(context.Background(), "b", "i", fewConfig(d), rowsOf(d.rows), BuildOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("a build later: %v, want %v", err, ErrExists)
	}
}

// TestCloseDuringBuild: Close ends a build with ErrClosed, waits for it, and
// nothing of it is found when the store opens again.
func TestCloseDuringBuild(t *testing.T) {
	t.Parallel()
	d := fewTexts(60)
	for _, at := range []string{"read", "assign", "encode", "write", "commit"} {
		dir := t.TempDir()
		s := openStore(t, dir, Options{CacheBytes: -1})
		closed := make(chan error, 1)
		var once sync.Once
		closeNow := func(step string) {
			if step != at {
				return
			}
			once.Do(func() {
				go func() { closed <- s.Close() }()
				<-s.ending.Done()
			})
		}
		_, _, err := s.Build(context.Background(), "b", "i", fewConfig(d), func(yield func(Record, error) bool) {
			for i, v := range d.rows {
				if i == 30 {
					closeNow("read")
				}
				if !yield(Record{Key: strconv.Itoa(i), Vector: v}, nil) {
					return
				}
			}
		}, BuildOptions{Progress: func(step string, _, _ int64) { closeNow(step) }})
		if !errors.Is(err, ErrClosed) {
			t.Errorf("closed at %s: %v, want %v", at, err, ErrClosed)
		}
		if err := <-closed; err != nil {
			t.Errorf("closed at %s: Close: %v", at, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*", "*0000*1*")); err != nil || slices.ContainsFunc(left, inBuildDirs) {
			t.Errorf("closed at %s: left %q (%v)", at, left, err)
		}
		s = openStore(t, dir, Options{CacheBytes: -1})
		checkNothingOf(t, s, "i")
		mustClose(t, s)
	}
}

func inBuildDirs(path string) bool {
	dir := filepath.Base(filepath.Dir(path))
	return dir == indexesDir || dir == temporaryDir
}
