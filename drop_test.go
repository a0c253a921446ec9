package sprat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spratdb/sprat/iopath"
)

// checkGone fails unless every call on a dropped index says that there is none.
func checkGone(t *testing.T, ix *Index, d dataset) {
	t.Helper()
	ctx := context.Background()
	errs := map[string]error{
		"Put": ix.Put(ctx, numbered(d, "w", 1)), "Settle": ix.Settle(ctx), "SetDials": ix.SetDials(Dials{SearchProbe: 1}),
		"Compact": ix.Compact(ctx, nil),
	}
	_, errs["Query"] = ix.Query(ctx, d.queries[0], 3, QueryOptions{})
	_, errs["Get"] = ix.Get(ctx, []string{"1"}, Fields{})
	_, errs["List"] = ix.List(ctx, ListOptions{})
	_, errs["Delete"] = ix.Delete(ctx, []string{"1"})
	_, errs["Verify"] = ix.Verify(ctx, nil)
	_, errs["Index"] = ix.store.Index("b", ix.row.Name)
	for call, err := range errs {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s of a dropped index: %v, want %v", call, err, ErrNotFound)
		}
	}
}

// TestDropIndex: a dropped index leaves nothing, disturbs no other, and its name
// is free for an index of another shape.
func TestDropIndex(t *testing.T) {
	d, dir := fewTexts(100), t.TempDir()
	s := openStore(t, dir, Options{})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	other := mustBuild(t, s, "j", fewConfig(d), d.rows)
	want, err := answersOf(other, d, everything)
	mustDo(t, err)
	long := Record{Key: strings.Repeat("k", MaxKeyBytes), Vector: d.rows[0], Metadata: []byte(`{"n":"` + strings.Repeat("m", 9000) + `"}`)}
	mustDo(t, ix.Put(t.Context(), append(numbered(d, "w", 1), long))) // some landed, some in the catalog
	mustDo(t, s.DropIndex(t.Context(), "b", "i"))
	checkNothingOf(t, s, "i")
	checkGone(t, ix, d)
	if st := ix.Stats(); st.Name != "b/i" {
		t.Errorf("stats of a dropped index: %+v", st)
	}
	for name := range openDescriptors(t) {
		if strings.HasPrefix(name, ix.dir+"/") {
			t.Errorf("%s is still open", name)
		}
	}
	checkNoMappings(t, ix.dir)
	if err := s.DropIndex(t.Context(), "b", "i"); !errors.Is(err, ErrNotFound) {
		t.Errorf("drop again: %v, want %v", err, ErrNotFound)
	}
	if err := s.DropIndex(t.Context(), "b", ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("drop without a name: %v, want %v", err, ErrInvalid)
	}
	mustAnswer(t, "the other index", other, d, want)

	again, err := s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 3, Metric: Euclidean})
	mustDo(t, err)
	mustDo(t, again.Put(t.Context(), []Record{{Key: "x", Vector: []float32{1, 2, 3}}}))
	if err := ix.SetDials(Dials{SearchProbe: 7}); !errors.Is(err, ErrNotFound) || again.row.Dials.SearchProbe == 7 {
		t.Errorf("the old index changes the new one: %v", err)
	}
	mustClose(t, s)
	s = openStore(t, dir, Options{})
	mustVerify(t, mustIndex(t, s, "i"))
	mustAnswer(t, "the other index, opened again", mustIndex(t, s, "j"), d, want)
	if got := mustIndex(t, s, "i").Dimension(); got != 3 {
		t.Errorf("dimension %d", got)
	}
}

// TestDropBucket: only one that is empty.
func TestDropBucket(t *testing.T) {
	d, dir := fewTexts(20), t.TempDir()
	s := openStore(t, dir, Options{})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	mustDo(t, s.CreateBucket("bb"))
	for name, want := range map[string]error{"b": ErrNotEmpty, "none": ErrNotFound, "": ErrInvalid} {
		if err := s.DropBucket(name); !errors.Is(err, want) {
			t.Errorf("drop bucket %q: %v, want %v", name, err, want)
		}
	}
	mustDo(t, s.DropIndex(t.Context(), "b", "i"))
	mustDo(t, s.DropBucket("b"))
	mustClose(t, s)
	s = openStore(t, dir, Options{ReadOnly: true})
	if names, err := s.Buckets(); err != nil || !reflect.DeepEqual(names, []string{"bb"}) {
		t.Errorf("buckets %v, %v", names, err)
	}
	if err := errors.Join(s.DropBucket("bb")); !errors.Is(err, ErrInvalid) {
		t.Errorf("drop in a read-only store: %v", err)
	}
	if err := s.DropIndex(t.Context(), "b", "i"); !errors.Is(err, ErrInvalid) {
		t.Errorf("drop in a read-only store: %v", err)
	}
	mustClose(t, s)
	if err := s.DropIndex(t.Context(), "b", "i"); !errors.Is(err, ErrClosed) {
		t.Errorf("drop in a closed store: %v", err)
	}
}

// TestDropWaits: calls in progress keep the index, later ones are turned away at
// once, and a drop that is given up or cannot be made leaves all as it was.
func TestDropWaits(t *testing.T) {
	d := fewTexts(60)
	var refuse atomic.Bool
	s, err := openWith(t.TempDir(), Options{}, hooks{ops: func(op iopath.Op) error {
		if refuse.Load() && op.Kind == iopath.OpMkdir {
			return errors.New("refused")
		}
		return nil
	}})
	mustDo(t, err)
	defer func() { mustClose(t, s) }()
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	want, err := answersOf(ix, d, everything)
	mustDo(t, err)
	works := func(what string) {
		t.Helper()
		mustAnswer(t, what, ix, d, want)
		mustDo(t, ix.Put(t.Context(), []Record{{Key: "more", Vector: d.rows[0]}}))
		mustDo(t, ix.Settle(t.Context()))
		_, err := ix.Delete(t.Context(), []string{"more"})
		mustDo(t, err)
	}
	dropping := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		go func() { done <- s.DropIndex(ctx, "b", "i") }()
		for !ix.dropped.Load() {
			runtime.Gosched()
		}
		return done
	}

	leave, err := ix.enter() // a call in progress
	mustDo(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := dropping(ctx)
	checkGone(t, ix, d)
	if err := s.DropIndex(t.Context(), "b", "i"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a second drop: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	leave()
	works("after a drop that was given up")

	refuse.Store(true)
	if err := s.DropIndex(t.Context(), "b", "i"); err == nil {
		t.Error("a drop that cannot leave its mark is made")
	}
	refuse.Store(false)
	works("after a drop that failed")

	leave, err = ix.enter()
	mustDo(t, err)
	done = dropping(t.Context())
	leave()
	mustDo(t, <-done)
	checkNothingOf(t, s, "i")
}

// TestDropUnderLoad: readers and writers at work get right answers until they get
// ErrNotFound.
func TestDropUnderLoad(t *testing.T) {
	t.Parallel()
	d := fewTexts(100)
	s := openStore(t, t.TempDir(), Options{})
	for round := range 4 {
		ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
		var work sync.WaitGroup
		var calls atomic.Int64
		for w := range 4 {
			work.Go(func() {
				for n := 1; ; n++ {
					var err error
					if w%2 == 0 {
						err = ix.Put(t.Context(), numbered(d, fmt.Sprint("w", w), n))
					} else {
						var res *Result
						if res, err = ix.Query(t.Context(), d.queries[n%10], 5, QueryOptions{}); err == nil && len(res.Matches) != 5 {
							t.Errorf("%d results", len(res.Matches))
						}
						if err == nil {
							var recs []Record
							if recs, err = ix.Get(t.Context(), []string{"7", "8"}, Fields{Vectors: true}); err == nil && len(recs) != 2 {
								t.Errorf("%d records", len(recs))
							}
						}
					}
					if err != nil {
						if !errors.Is(err, ErrNotFound) {
							t.Error(err)
						}
						return
					}
					calls.Add(1)
				}
			})
		}
		for calls.Load() < int64(20+10*round) {
			runtime.Gosched()
		}
		mustDo(t, s.DropIndex(t.Context(), "b", "i"))
		work.Wait()
		checkNothingOf(t, s, "i")
	}
}

// TestDropAndCrash: whenever the process dies the index is whole or gone, and the
// next start removes what is left of it.
func TestDropAndCrash(t *testing.T) {
	d, dir := fewTexts(80), t.TempDir()
	var armed atomic.Bool
	type copied struct {
		op  iopath.Op
		dir string
	}
	var mu sync.Mutex // nothing changes while a copy is made
	var copies []copied
	s, err := openWith(dir, Options{}, hooks{manual: true, ops: func(op iopath.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if armed.Load() {
			to := filepath.Join(t.TempDir(), "store")
			mustDo(t, os.CopyFS(to, os.DirFS(dir)))
			copies = append(copies, copied{op, to})
		}
		return nil
	}})
	mustDo(t, err)
	mustBuild(t, s, "j", fewConfig(d), d.rows[:20])
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	mustDo(t, ix.Put(t.Context(), numbered(d, "w", 1)))
	want := contents(t, ix)
	armed.Store(true)
	mustDo(t, s.DropIndex(t.Context(), "b", "i"))
	armed.Store(false)
	mustClose(t, s)
	whole, gone := 0, 0
	for _, c := range copies {
		what := fmt.Sprintf("crash before %s %s", c.op.Kind, c.op.Path)
		s := openStore(t, c.dir, Options{CacheBytes: -1})
		if ix, err := s.Index("b", "i"); err == nil {
			whole++
			sameContents(t, what, ix, want)
			mustVerify(t, ix)
			if gone > 0 {
				t.Errorf("%s: the index is back", what)
			}
		} else {
			gone++
			checkNothingOf(t, s, "i")
		}
		mustVerify(t, mustIndex(t, s, "j"))
		mustClose(t, s)
	}
	if whole == 0 || gone < 5 {
		t.Errorf("of %d copies the index is whole in %d and gone in %d", len(copies), whole, gone)
	}
}

// TestDropThatCannotCommit: when the catalog's log fails, the index answers until a
// restart tells what has become of it, and takes no changes.
func TestDropThatCannotCommit(t *testing.T) {
	d, dir := fewTexts(60), t.TempDir()
	var refuse atomic.Bool
	s, err := openWith(dir, Options{}, hooks{ops: func(op iopath.Op) error {
		if refuse.Load() && op.Kind == iopath.OpWrite && strings.HasSuffix(op.Path, ".log") {
			return errors.New("refused")
		}
		return nil
	}})
	mustDo(t, err)
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	want, err := answersOf(ix, d, everything)
	mustDo(t, err)
	refuse.Store(true)
	if err := s.DropIndex(t.Context(), "b", "i"); err == nil {
		t.Error("dropped")
	}
	mustAnswer(t, "not dropped", ix, d, want)
	if err := ix.Put(t.Context(), numbered(d, "w", 1)); err == nil {
		t.Error("put into an index that may be gone")
	}
	if _, err := s.Snapshot(t.Context(), target(t), SnapshotOptions{}); err == nil {
		t.Error("snapshot of an index that may be gone")
	}
	_ = s.Close() // the log cannot be closed
	s = openStore(t, dir, Options{})
	mustAnswer(t, "opened again", mustIndex(t, s, "i"), d, want)
}

// TestDropBrokenIndex: an index that cannot be opened can be dropped.
func TestDropBrokenIndex(t *testing.T) {
	x := makeTwoIndexes(t)
	mustDo(t, os.Truncate(x.path[recordsFile], 100))
	s := x.open(t, "broken", Options{})
	mustDo(t, s.DropIndex(t.Context(), "b", "first"))
	checkNothingOf(t, s, "first")
	if err := s.DropIndex(t.Context(), "b", "first"); !errors.Is(err, ErrNotFound) {
		t.Errorf("drop again: %v", err)
	}
	mustBuild(t, s, "first", fewConfig(x.data), x.data.rows)
	mustAnswer(t, "made anew", mustIndex(t, s, "first"), x.data, x.want)
	mustAnswer(t, "other", mustIndex(t, s, "other"), x.data, x.want)
}

// TestDropDuringSnapshot: the snapshot has the index, the store does not.
func TestDropDuringSnapshot(t *testing.T) {
	d := fewTexts(80)
	s := openStore(t, t.TempDir(), Options{})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	mustDo(t, ix.Put(t.Context(), numbered(d, "w", 1)))
	want := contents(t, ix)
	to := &hookedTarget{SnapshotTarget: target(t), hook: func() {
		if err := s.DropIndex(t.Context(), "b", "i"); err != nil {
			t.Error(err)
		}
	}}
	st, err := s.Snapshot(t.Context(), to, SnapshotOptions{Workers: 1})
	mustDo(t, err)
	checkNothingOf(t, s, "i")
	sameContents(t, "restored", mustIndex(t, mustRestore(t, to, st.ID), "i"), want)
}
