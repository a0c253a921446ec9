package sprat

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
)

// TestDialsFor: what a query says counts before what the index says, a cap
// before a recall target of the index, and k is never cut.
func TestDialsFor(t *testing.T) {
	t.Parallel()
	d := fewTexts(150)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	presets := ix.Stats().Presets
	if len(presets) < 3 {
		t.Fatalf("only %d presets", len(presets))
	}
	byTarget := func(target float64) Dials {
		v := ix.current.Load()
		p := v.calib.preset(target, 10, v.set.Len())
		return Dials{RecallTarget: target, SearchProbe: p.SearchProbe, RescoreLimit: max(10, p.RescoreLimit)}
	}
	for _, c := range []struct {
		index Dials
		query QueryOptions
		want  Dials
	}{
		{Dials{}, QueryOptions{}, byTarget(defaultRecallTarget)},
		{Dials{RecallTarget: 0.9}, QueryOptions{}, byTarget(0.9)},
		{Dials{RecallTarget: 0.9}, QueryOptions{RecallTarget: 0.8}, byTarget(0.8)},
		{Dials{RecallTarget: 0.9}, QueryOptions{SearchProbe: 3}, Dials{SearchProbe: 3, RescoreLimit: defaultRescoreLimit}},
		{Dials{RecallTarget: 0.9}, QueryOptions{RescoreLimit: 50}, Dials{SearchProbe: defaultSearchProbe, RescoreLimit: 50}},
		{Dials{RecallTarget: 0.9}, QueryOptions{RescoreLimit: 2}, Dials{SearchProbe: defaultSearchProbe, RescoreLimit: 10}},
		{Dials{SearchProbe: 5}, QueryOptions{}, Dials{SearchProbe: 5, RescoreLimit: defaultRescoreLimit}},
		{Dials{SearchProbe: 5, RescoreLimit: 60}, QueryOptions{RescoreLimit: 70}, Dials{SearchProbe: 5, RescoreLimit: 70}},
		{Dials{SearchProbe: 5, RescoreLimit: 60}, QueryOptions{RecallTarget: 0.8}, byTarget(0.8)},
		{Dials{SearchProbe: 5, RecallTarget: 0.9}, QueryOptions{}, Dials{SearchProbe: 5, RescoreLimit: defaultRescoreLimit}},
		{Dials{RescoreLimit: 60}, QueryOptions{SearchProbe: 7, RecallTarget: 0.8}, byTarget(0.8)},
	} {
		mustDo(t, ix.SetDials(c.index))
		if got := ix.DialsFor(10, c.query); got != c.want {
			t.Errorf("index %+v, query %+v: %+v, want %+v", c.index, c.query, got, c.want)
		}
		if got := ix.DialsFor(5000, c.query); got.RescoreLimit < 5000 {
			t.Errorf("index %+v, query %+v, k 5000: rescores only %d", c.index, c.query, got.RescoreLimit)
		}
	}
}

// TestDialsAreObeyed: the dials of the index decide what its queries read.
func TestDialsAreObeyed(t *testing.T) {
	t.Parallel()
	d := fewTexts(100)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	for _, probe := range []int{1, 2, 7} {
		mustDo(t, ix.SetDials(Dials{SearchProbe: probe, RescoreLimit: 10}))
		for _, o := range []QueryOptions{{}, {FixedWork: true}, {SearchProbe: 4, FixedWork: true}} {
			res, err := ix.Query(context.Background(), d.queries[0], 1, o)
			mustDo(t, err)
			want := probe
			if o.SearchProbe != 0 {
				want = o.SearchProbe
			}
			if w := res.Work; w.Postings > want || o.FixedWork && w.Postings != want || w.Exact > 10 || o.FixedWork && w.Exact != 10 {
				t.Errorf("probe %d, query %+v: %+v", probe, o, w)
			}
		}
	}
}

// TestSetDials: dials are checked, take effect at once and outlive the store.
func TestSetDials(t *testing.T) {
	t.Parallel()
	d, dir := fewTexts(100), t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	want := Dials{SearchProbe: 3, RescoreLimit: 40}
	mustDo(t, ix.SetDials(want))
	for field, bad := range map[string][]Dials{
		"recallTarget": {{RecallTarget: 1}, {RecallTarget: -0.1}, {RecallTarget: math.NaN()}, {RecallTarget: math.Inf(1)}},
		"searchProbe":  {{SearchProbe: -1}, {SearchProbe: maxSearchProbe + 1}},
		"rescoreLimit": {{RescoreLimit: -1}, {RescoreLimit: maxSearchProbe + 1}},
	} {
		for _, b := range bad {
			var in *InputError
			if err := ix.SetDials(b); !errors.As(err, &in) || in.Field != field || !errors.Is(err, ErrInvalid) {
				t.Errorf("%+v: %v, want an error about %s", b, err, field)
			}
		}
	}
	for _, next := range []Dials{{RecallTarget: 0.97}, {}} {
		if got := ix.Stats().Dials; got != want {
			t.Errorf("dials %+v, want %+v", got, want)
		}
		mustClose(t, s)
		s = openStore(t, dir, Options{CacheBytes: -1})
		ix = mustIndex(t, s, "i")
		if got := ix.Stats().Dials; got != want {
			t.Errorf("dials after opening again %+v, want %+v", got, want)
		}
		mustVerify(t, ix)
		mustDo(t, ix.SetDials(next))
		if want = next; want == (Dials{}) {
			want.RecallTarget = defaultRecallTarget
		}
	}
	mustClose(t, s)
	if err := ix.SetDials(Dials{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want %v", err, ErrClosed)
	}
}

// TestSetDialsDuringQueries: a query sees the old dials or the new ones, never a
// mixture.
func TestSetDialsDuringQueries(t *testing.T) {
	t.Parallel()
	d := fewTexts(100)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	few, many := Dials{SearchProbe: 1, RescoreLimit: 11}, Dials{SearchProbe: 5, RescoreLimit: 22}
	mustDo(t, ix.SetDials(few))
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := range 40 {
				res, err := ix.Query(context.Background(), d.queries[(i+n)%10], 10, QueryOptions{FixedWork: true})
				if err != nil {
					t.Error(err)
					return
				}
				if got := (Dials{SearchProbe: res.Work.Postings, RescoreLimit: res.Work.Exact}); got != few && got != many {
					t.Errorf("work %+v under dials %+v and %+v", res.Work, few, many)
				}
			}
		})
	}
	for i := range 20 {
		if err := ix.SetDials([]Dials{many, few}[i%2]); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
