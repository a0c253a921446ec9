package sprat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spratdb/sprat/iopath"
)

// openDescriptors are the files that this process has open.
func openDescriptors(t *testing.T) map[string]int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("descriptors cannot be counted here: %v", err)
	}
	open := map[string]int{}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil {
			open[target]++ // the descriptor of the listing itself is gone by now
		}
	}
	return open
}

// checkNoMappings fails when this process has files below dir mapped.
func checkNoMappings(t *testing.T, dir string) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err == nil && strings.Contains(string(maps), dir+"/") {
		t.Errorf("files of %s are still mapped", dir)
	}
}

// TestNothingIsLeftAfterClose: cycles of every kind of use leave no goroutine,
// no descriptor and no mapping, on any engine, whether they succeed or not.
func TestNothingIsLeftAfterClose(t *testing.T) {
	d := fewTexts(60)
	leaks := goleak.IgnoreCurrent()
	before := openDescriptors(t)
	for _, o := range []Options{{}, {IOEngine: iopath.Pread, Direct: iopath.DirectOff, CacheBytes: -1}, {IOEngine: iopath.Mmap, MemoryLimit: 128 << 20}} {
		dir := t.TempDir()
		for cycle := range 2 {
			s, err := Open(dir, o)
			mustDo(t, err)
			if cycle == 0 {
				mustBuild(t, s, "i", fewConfig(d), d.rows)
			}
			ix := mustIndex(t, s, "i")
			_, err = answersOf(ix, d, everything)
			mustDo(t, err)
			mustVerify(t, ix)
			if _, _, err := s.Build(context.Background(), "b", "bad", fewConfig(d), recordsOf([]Record{{}}, nil), BuildOptions{}); !errors.Is(err, ErrInvalid) {
				t.Errorf("bad row: %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := ix.Query(ctx, d.queries[0], 10, QueryOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled query: %v", err)
			}
			if _, err := Open(dir, o); !errors.Is(err, ErrInUse) {
				t.Errorf("second open: %v", err)
			}
			mustClose(t, s)
		}
		checkNoMappings(t, dir)
		mustDo(t, os.WriteFile(filepath.Join(dir, storeFile), []byte("?"), 0o644))
		if _, err := Open(dir, o); !errors.Is(err, ErrCorrupt) {
			t.Errorf("damaged marker: %v", err)
		}
		mustDo(t, os.WriteFile(filepath.Join(dir, storeFile), []byte("sprat store, format 1\n"), 0o644))
		if _, err := Open(dir, Options{MemoryLimit: 64 << 20, CacheBytes: 1 << 40}); !errors.Is(err, ErrMemoryLimit) {
			t.Errorf("too large a cache: %v", err)
		}
	}
	for target, n := range openDescriptors(t) {
		if n > before[target] {
			t.Errorf("%d descriptors of %s are open, were %d", n, target, before[target])
		}
	}
	if err := goleak.Find(leaks); err != nil {
		t.Error(err)
	}
}

// TestAfterClose: every method of a closed store and its indexes says so, and
// none panics.
func TestAfterClose(t *testing.T) {
	t.Parallel()
	d, ctx := fewTexts(60), context.Background()
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	before := ix.Stats()
	mustClose(t, s)

	errs := map[string]error{
		"Close":        s.Close(),
		"CreateBucket": s.CreateBucket("c"),
		"SetDials":     ix.SetDials(Dials{SearchProbe: 1}),
	}
	_, errs["Buckets"] = s.Buckets()
	_, errs["Indexes"] = s.Indexes()
	_, errs["Index"] = s.Index("b", "i")
	_, errs["Index of none"] = s.Index("b", "none")
	_, errs["Store.Stats"] = s.Stats()
	_, errs["CreateIndex"] = s.CreateIndex(ctx, "b", "j", fewConfig(d))
	_, _, errs["Build"] = s.Build(ctx, "b", "j", fewConfig(d), rowsOf(d.rows), BuildOptions{})
	_, errs["Query"] = ix.Query(ctx, d.queries[0], 10, QueryOptions{})
	_, errs["Verify"] = ix.Verify(ctx, nil)
	for call, err := range errs {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want %v", call, err, ErrClosed)
		}
	}
	// Bad input is bad input, closed or not.
	if _, err := ix.Query(ctx, nil, 10, QueryOptions{}); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrClosed) {
		t.Errorf("bad query: %v", err)
	}
	if st := ix.Stats(); st.Vectors != before.Vectors || st.Postings != before.Postings {
		t.Errorf("stats %+v, were %+v", st, before)
	}
	if s.IOInfo().Engine == "" || ix.Name() != "b/i" || ix.Len() != 60 || ix.Dimension() != len(d.rows[0]) || ix.Metric() != Cosine ||
		ix.MemoryBytes() == 0 || ix.DialsFor(10, QueryOptions{}).RescoreLimit < 10 {
		t.Error("what an index is must not change when it closes")
	}
}

// TestCloseDuringEverything: Close while others query, verify, list, change and
// build waits for what it must, each call ends well or with ErrClosed, and of two
// calls of Close one does it.
func TestCloseDuringEverything(t *testing.T) {
	t.Parallel()
	d, dir := fewTexts(60), t.TempDir()
	s := openStore(t, dir, Options{})
	want, err := answersOf(mustBuild(t, s, "i", fewConfig(d), d.rows), d, everything)
	mustDo(t, err)
	for range 2 {
		closeUnderLoad(t, s, d)
		s = openStore(t, dir, Options{})
		checkNothingOf(t, s, "never")
		mustAnswer(t, "after closing under load", mustIndex(t, s, "i"), d, want)
	}
}

// closeUnderLoad closes the store when every kind of call has been made once and
// all of them go on.
func closeUnderLoad(t *testing.T, s *Store, d dataset) {
	t.Helper()
	ix, ctx := mustIndex(t, s, "i"), context.Background()
	unique := func(what string, n int) string { return fmt.Sprintf("%s-%x-%d", what, rand.Uint64(), n) }
	calls := []func(n int) error{
		func(int) error { _, err := answersOf(ix, d, everything); return err },
		func(int) error { _, err := answersOf(ix, d, QueryOptions{Trace: true}); return err },
		func(int) error { _, err := ix.Verify(ctx, nil); return err },
		func(int) error { ix.Stats(); _, err := s.Stats(); return err },
		func(int) error { s.IOInfo(); _, err := s.Indexes(); return err },
		func(n int) error { return ix.SetDials(Dials{SearchProbe: 1 + n%9}) },
		func(n int) error { return s.CreateBucket(unique("bucket", n)) },
		func(n int) error {
			_, _, err := s.Build(ctx, "b", unique("index", n), fewConfig(d), rowsOf(d.rows[:9]), BuildOptions{})
			return err
		},
		func(n int) error { _, err := s.CreateIndex(ctx, "b", unique("empty", n), fewConfig(d)); return err },
	}
	var called, done sync.WaitGroup
	called.Add(len(calls))
	for i, call := range calls {
		done.Go(func() {
			err := call(0)
			called.Done()
			for n := 1; err == nil; n++ {
				err = call(n)
			}
			if !errors.Is(err, ErrClosed) {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	called.Wait()
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- s.Close() }()
	}
	if a, b := <-closed, <-closed; !(a == nil && errors.Is(b, ErrClosed) || b == nil && errors.Is(a, ErrClosed)) {
		t.Errorf("two calls of Close: %v and %v", a, b)
	}
	done.Wait()
}

// TestQueriesDuringBuilds: queries of every kind go on while other indexes are
// built, and answer as if they were alone.
func TestQueriesDuringBuilds(t *testing.T) {
	t.Parallel()
	d := fewTexts(100)
	s := openStore(t, t.TempDir(), Options{MemoryLimit: 128 << 20})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	want, err := answersOf(ix, d, everything)
	mustDo(t, err)
	kinds := []QueryOptions{
		everything, {}, {SearchProbe: 2}, {RescoreLimit: 20, FixedWork: true}, {RecallTarget: 0.8, Metadata: true},
		{MaxReads: 4}, {Deadline: time.Now().Add(-time.Hour)}, {Deadline: time.Now().Add(time.Hour), Vectors: true, Trace: true},
	}
	var built atomic.Bool
	var queries, builds sync.WaitGroup
	for client := range 3 {
		queries.Go(func() {
			for n := client; !built.Load() || n < len(kinds); n++ {
				o := kinds[n%len(kinds)]
				got, err := answersOf(ix, d, o)
				if err != nil {
					t.Errorf("%+v: %v", o, err)
					return
				}
				if n%len(kinds) == 0 && !reflect.DeepEqual(got, want) {
					t.Error("other answers during a build")
				}
			}
		})
	}
	for i := range 2 {
		builds.Go(func() {
			other, _, err := s.Build(context.Background(), "b", fmt.Sprint("other-", i), fewConfig(d), rowsOf(d.rows), BuildOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			mustAnswer(t, "built meanwhile", other, d, want)
		})
	}
	builds.Wait()
	built.Store(true)
	queries.Wait()
}
