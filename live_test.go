package sprat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestGrowFromNothing: an index that is filled by puts alone answers exactly,
// keeps its invariants, and goes on doing so after a restart.
func TestGrowFromNothing(t *testing.T) {
	d := fewTexts(600)
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", fewConfig(d))
	mustDo(t, err)
	for i := 0; i < len(d.rows); i += 50 {
		var recs []Record
		for k := i; k < i+50; k++ {
			recs = append(recs, Record{Key: fmt.Sprint(k), Vector: d.rows[k], Metadata: fmt.Appendf(nil, `{"n":%d}`, k)})
		}
		mustDo(t, ix.Put(t.Context(), recs))
		if n := ix.Len(); n != uint64(i+50) {
			t.Fatalf("%d vectors after %d puts", n, i+50)
		}
	}
	mustBeWhole(t, ix, "growing")
	mustDo(t, ix.Settle(t.Context()))
	mustBeWhole(t, ix, "settled")
	t.Logf("%+v", ix.Stats())
	got, err := answersOf(ix, d, everything)
	mustDo(t, err)
	mustClose(t, s)
	s = openStore(t, dir, Options{})
	again, err := answersOf(mustIndex(t, s, "i"), d, everything)
	mustDo(t, err)
	if fmt.Sprint(got) != fmt.Sprint(again) {
		t.Error("other answers after a restart")
	}
	mustBeWhole(t, mustIndex(t, s, "i"), "reopened")
}

func mustBeWhole(t *testing.T, ix *Index, when string) {
	t.Helper()
	r, err := ix.Verify(context.Background(), nil)
	if err != nil || !r.OK() {
		t.Fatalf("%s: %v, %+v", when, err, r)
	}
	t.Logf("%s: %+v", when, *r)
}

// TestChurn: puts, replacements and deletions in random order leave what a map
// holds.
func TestChurn(t *testing.T) {
	d := fewTexts(800)
	s := openStore(t, t.TempDir(), Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", fewConfig(d))
	mustDo(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	model := map[string]int{}
	for step := range 120 {
		if rng.IntN(3) > 0 {
			var recs []Record
			seen := map[string]bool{}
			for range 1 + rng.IntN(40) {
				key := fmt.Sprint(rng.IntN(500))
				if seen[key] {
					continue
				}
				seen[key] = true
				v := rng.IntN(len(d.rows))
				model[key] = v
				recs = append(recs, Record{Key: key, Vector: d.rows[v]})
			}
			mustDo(t, ix.Put(t.Context(), recs))
		} else {
			var keys []string
			want := 0
			for range rng.IntN(40) {
				key := fmt.Sprint(rng.IntN(500))
				if _, ok := model[key]; ok {
					want++
				}
				delete(model, key)
				keys = append(keys, key)
			}
			n, err := ix.Delete(t.Context(), keys)
			if err != nil || n != want {
				t.Fatalf("step %d: deleted %d, want %d (%v)", step, n, want, err)
			}
		}
		if step%20 == 19 {
			mustBeWhole(t, ix, fmt.Sprint("step ", step))
		}
	}
	mustDo(t, ix.Settle(t.Context()))
	mustBeWhole(t, ix, "settled")
	if ix.Len() != uint64(len(model)) {
		t.Fatalf("%d vectors, want %d", ix.Len(), len(model))
	}
	page, err := ix.List(t.Context(), ListOptions{Limit: 10000, Fields: Fields{Vectors: true}})
	mustDo(t, err)
	for _, r := range page.Records {
		v, ok := model[r.Key]
		if !ok || fmt.Sprint(r.Vector) != fmt.Sprint(d.rows[v]) {
			t.Fatalf("key %q: there %v", r.Key, ok)
		}
		delete(model, r.Key)
	}
	if len(model) > 0 {
		t.Fatalf("%d keys missing", len(model))
	}
}

// TestGrowPastAPartialRun: the last run of a bulk build is not full, and a posting
// that takes a run of its own behind it does not make it so.
func TestGrowPastAPartialRun(t *testing.T) {
	d, dir := fewTexts(120), t.TempDir()
	s := openStore(t, dir, Options{})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows[:100]) // 6 runs and 4 slots
	mustDo(t, ix.Put(t.Context(), numbered(d, "w", 1)))
	mustBeWhole(t, ix, "put")
	mustClose(t, s)
	s = openStore(t, dir, Options{})
	mustBeWhole(t, mustIndex(t, s, "i"), "opened again")
}
