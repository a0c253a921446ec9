package sprat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestAllAtOnce: everything that can be called is called by many at once, from the
// moment Open returns until Close has, over several lives of a store. Each writer
// has keys of its own, so it knows what they hold; what everybody else sees is
// always some vector of a key with its very distance, its metadata of the same put,
// in order, and nothing twice. It is meant to run under the race detector.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	r := &everybody{t: t, dir: filepath.Join(quickDir(t), "store"), rows: makeCloud(Euclidean, 200, 12, 21)}
	var err error
	r.to, err = SnapshotDir(filepath.Join(quickDir(t), "snapshots"))
	mustDo(t, err)
	for i := range 3 {
		r.writers = append(r.writers, &ownWriter{id: i, keys: map[string][]Record{}})
	}
	s := openStore(t, r.dir, raceOptions)
	_, err = s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 12, Metric: Euclidean, PostingBytes: 4 << 10, Copies: 2})
	mustDo(t, err)
	mustClose(t, s)
	for life := range 3 {
		r.live(life)
	}
	s = openStore(t, r.dir, raceOptions)
	ix := mustIndex(t, s, "i")
	mustDo(t, ix.Settle(t.Context()))
	model := held{}
	for _, w := range r.writers {
		mustDo(t, w.learn(t.Context(), ix))
		for key, versions := range w.keys {
			if versions[0].Vector != nil {
				model[key] = versions[0]
			}
		}
	}
	mustDo(t, model.same(ix, r.rows[0], r.rows[1]))
	t.Logf("%d calls, %d vectors at the end", r.calls.Load(), len(model))
	mustClose(t, s)
}

var raceOptions = Options{MemoryLimit: 64 << 20, CacheBytes: 1 << 20, Direct: "off"}

// lifeWrites is how many changes the writers make in a life of the store.
const lifeWrites = 40

// readers are the seeds of callers that do not put into the index, and above.
const readers = 10

// everybody is all that call a store at once.
type everybody struct {
	t       *testing.T
	dir     string
	to      SnapshotTarget
	rows    [][]float32
	writers []*ownWriter
	calls   atomic.Int64
	writes  atomic.Int64
}

// live opens the store, has it called, and closes it under the calls.
func (r *everybody) live(life int) {
	var opened atomic.Pointer[Store]
	ready, enough := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	until := r.writes.Load() + lifeWrites
	turns := make(chan struct{}, 64) // a few for each write: who only reads does not keep the processors
	var once sync.Once
	start := func(name string, seed int, f func(ctx context.Context, s *Store, ix *Index, rng *rand.Rand) error) {
		wg.Go(func() {
			<-ready
			s, rng := opened.Load(), rand.New(rand.NewPCG(uint64(life), uint64(seed)))
			ix, err := s.Index("b", "i")
			for n := 0; err == nil; n++ {
				if seed >= readers && n > 0 {
					select {
					case <-turns:
					case <-enough: // and on into Close
					}
				}
				err = f(context.Background(), s, ix, rng)
				r.calls.Add(1)
				for i := 0; i < 10 && seed < readers; i++ {
					select {
					case turns <- struct{}{}:
					default:
					}
				}
				if r.writes.Load() >= until {
					once.Do(func() { close(enough) })
				}
			}
			if !errors.Is(err, ErrClosed) {
				r.t.Errorf("life %d, %s: %v", life, name, err)
				once.Do(func() { close(enough) })
			}
		})
	}
	for i, w := range r.writers {
		start("write", i, func(ctx context.Context, _ *Store, ix *Index, rng *rand.Rand) error { return w.write(ctx, ix, r, rng) })
	}
	for name, call := range map[string]func(context.Context, *Store, *Index, *rand.Rand) error{
		"get": r.get, "list": r.list, "query": r.query, "another query": r.query, "stats": r.stats, "dials": r.dials,
		"settle":   func(ctx context.Context, _ *Store, ix *Index, _ *rand.Rand) error { return ix.Settle(ctx) },
		"compact":  func(ctx context.Context, _ *Store, ix *Index, _ *rand.Rand) error { return ix.Compact(ctx, nil) },
		"verify":   func(_ context.Context, _ *Store, ix *Index, _ *rand.Rand) error { return whole(ix) },
		"snapshot": r.snapshot, "indexes": r.indexes,
	} {
		start(name, readers+len(name), call)
	}
	wg.Go(r.alsoOpen)
	s := r.open()
	opened.Store(s)
	close(ready)
	<-enough
	mustClose(r.t, s)
	wg.Wait()
}

// alsoOpen opens the store at the same time as somebody else: one of the two waits.
func (r *everybody) alsoOpen() {
	s, err := Open(r.dir, raceOptions)
	if err == nil {
		err = s.Close()
	}
	if err != nil && !errors.Is(err, ErrInUse) {
		r.t.Errorf("opened by two: %v", err)
	}
}

func (r *everybody) open() *Store {
	for {
		s, err := Open(r.dir, raceOptions)
		if err == nil {
			r.t.Cleanup(func() { _ = s.Close() }) // live closes it
			return s
		}
		if !errors.Is(err, ErrInUse) {
			r.t.Fatal(err)
		}
		runtime.Gosched() // alsoOpen has it, and closes it
	}
}

// sound says that a record is one that was put.
func (r *everybody) sound(key string, vector []float32, metadata []byte) error {
	var row int
	if _, err := fmt.Sscanf(string(metadata), `{"row":%d`, &row); err != nil || !strings.HasPrefix(key, "writer ") {
		return fmt.Errorf("key %q has metadata %q, which nobody put", key, metadata)
	}
	if !slices.Equal(vector, r.rows[row]) {
		return fmt.Errorf("key %q has metadata %q and the vector of another put", key, metadata)
	}
	return nil
}

func (r *everybody) get(ctx context.Context, _ *Store, ix *Index, rng *rand.Rand) error {
	var keys []string
	for range 8 {
		keys = append(keys, r.writers[rng.IntN(len(r.writers))].key(rng))
	}
	got, err := ix.Get(ctx, keys, Fields{Vectors: true, Metadata: true})
	for i := range got {
		err = errors.Join(err, r.sound(got[i].Key, got[i].Vector, got[i].Metadata))
	}
	return err
}

// list walks a segment: each key of it once.
func (r *everybody) list(ctx context.Context, _ *Store, ix *Index, rng *rand.Rand) error {
	n := 1 + rng.IntN(4)
	o := ListOptions{Limit: 1 + rng.IntN(30), Segments: n, Segment: rng.IntN(n), Fields: Fields{Vectors: true, Metadata: true}}
	seen := map[string]bool{}
	for {
		page, err := ix.List(ctx, o)
		for i := range page.Records {
			x := &page.Records[i]
			if err = errors.Join(err, r.sound(x.Key, x.Vector, x.Metadata)); seen[x.Key] {
				err = errors.Join(err, fmt.Errorf("key %q is listed twice", x.Key))
			}
			seen[x.Key] = true
		}
		if o.Token = page.Next; err != nil || o.Token == "" {
			return err
		}
	}
}

func (r *everybody) query(ctx context.Context, _ *Store, ix *Index, rng *rand.Rand) error {
	q, k, o := r.rows[rng.IntN(len(r.rows))], 1+rng.IntN(20), everything
	if rng.IntN(2) == 0 {
		o = QueryOptions{Vectors: true, Metadata: true}
	}
	res, err := ix.Query(ctx, q, k, o)
	if err != nil {
		return err
	}
	seen := held{}
	for _, m := range res.Matches {
		if err := r.sound(m.Key, m.Vector, m.Metadata); err != nil {
			return err
		}
		seen[m.Key] = Record{Key: m.Key, Vector: m.Vector, Metadata: m.Metadata}
	}
	return sameMatches(res.Matches, seen.nearest(ix.Metric(), q, k)) // once each, in order, and at its distance
}

func (r *everybody) stats(_ context.Context, s *Store, ix *Index, _ *rand.Rand) error {
	st := ix.Stats()
	if len(st.Damaged) > 0 || st.Upkeep.Fault != "" {
		return fmt.Errorf("stats show %q, %q", st.Damaged, st.Upkeep.Fault)
	}
	all, err := s.Stats()
	if err == nil && (len(all.Indexes) == 0 || all.Indexes[0].Name != "b/i" || len(all.Broken) > 0) {
		err = fmt.Errorf("stats of %d indexes, and %v", len(all.Indexes), all.Broken)
	}
	return err
}

func (r *everybody) dials(_ context.Context, _ *Store, ix *Index, rng *rand.Rand) error {
	ix.DialsFor(10, QueryOptions{})
	return ix.SetDials([]Dials{{RecallTarget: 0.9}, {RecallTarget: 0.99}, {SearchProbe: 8, RescoreLimit: 50}}[rng.IntN(3)])
}

// snapshot keeps one, and looks at it without the store.
func (r *everybody) snapshot(ctx context.Context, s *Store, _ *Index, _ *rand.Rand) error {
	st, err := s.Snapshot(ctx, r.to, SnapshotOptions{})
	if err == nil {
		_, err = VerifySnapshot(ctx, r.to, st.ID, SnapshotOptions{})
	}
	return err
}

// indexes makes and drops another index.
func (r *everybody) indexes(ctx context.Context, s *Store, _ *Index, rng *rand.Rand) error {
	name := fmt.Sprint("other-", rng.IntN(3))
	ix, err := s.CreateIndex(ctx, "others", name, IndexConfig{Dimension: 12, Metric: Euclidean})
	if errors.Is(err, ErrExists) { // the end of an earlier life came before its drop
		return s.DropIndex(ctx, "others", name)
	}
	if err == nil {
		err = ix.Put(ctx, []Record{{Key: "k", Vector: r.rows[0]}})
	}
	if err == nil {
		err = s.DropIndex(ctx, "others", name)
	}
	return err
}

// ownWriter puts and deletes keys that nobody else changes.
type ownWriter struct {
	id   int
	keys map[string][]Record // what each may hold: more than one after a call that failed; no vector: nothing
}

func (w *ownWriter) key(rng *rand.Rand) string {
	return fmt.Sprintf("writer %d key %d", w.id, rng.IntN(60))
}

// write changes some keys and reads them back.
func (w *ownWriter) write(ctx context.Context, ix *Index, r *everybody, rng *rand.Rand) error {
	if err := w.learn(ctx, ix); err != nil {
		return err
	}
	change := map[string]Record{}
	remove := rng.IntN(3) == 0
	for range 1 + rng.IntN(12) {
		rec := Record{Key: w.key(rng)}
		if row := rng.IntN(len(r.rows)); !remove {
			rec.Vector, rec.Metadata = r.rows[row], fmt.Appendf(nil, `{"row":%d}`, row)
		}
		change[rec.Key] = rec
	}
	keys := slices.Sorted(maps.Keys(change))
	for _, key := range keys {
		if w.keys[key] == nil {
			w.keys[key] = []Record{{Key: key}}
		}
		w.keys[key] = append(w.keys[key], change[key])
	}
	var err error
	if remove {
		_, err = ix.Delete(ctx, keys)
	} else {
		err = ix.Put(ctx, slices.Collect(maps.Values(change)))
	}
	if err != nil {
		return err
	}
	for _, key := range keys {
		w.keys[key] = []Record{change[key]}
	}
	r.writes.Add(1)
	return w.compare(ctx, ix, keys)
}

// learn finds out what came of the call that the end of an earlier life cut off.
func (w *ownWriter) learn(ctx context.Context, ix *Index) error {
	var unsure []string
	for key, versions := range w.keys {
		if len(versions) > 1 {
			unsure = append(unsure, key)
		}
	}
	return w.compare(ctx, ix, unsure)
}

// compare reads keys: each is one of what it may be, and is that from then on.
func (w *ownWriter) compare(ctx context.Context, ix *Index, keys []string) error {
	got, err := ix.Get(ctx, keys, Fields{Vectors: true, Metadata: true})
	if err != nil {
		return err
	}
	found := held{}
	for _, rec := range got {
		found[rec.Key] = rec
	}
	for _, key := range keys {
		rec := found[key]
		rec.Key = key
		if !slices.ContainsFunc(w.keys[key], func(v Record) bool { return differ(key, rec.Vector, rec.Metadata, v) == "" }) {
			return fmt.Errorf("key %q holds %q, it may be %d other records", key, rec.Metadata, len(w.keys[key]))
		}
		w.keys[key] = []Record{rec}
	}
	return nil
}
