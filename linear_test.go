package sprat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/spratdb/sprat/internal/realdata"
)

// TestLinearizable: while keys are put, deleted and read by many at once, with
// maintenance busy all the time and the store closed and opened again in between,
// every key behaves as if each call happened at one moment between its beginning
// and its end. Two keys that are only ever changed together are never seen apart.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	l := &linear{t: t, rows: distinctTexts()}
	l.holders = make([]string, len(l.rows))
	dir := t.TempDir()
	s := openStore(t, dir, Options{MemoryLimit: 64 << 20, CacheBytes: 1 << 20})
	_, err := s.CreateIndex(t.Context(), "b", "i", linearConfig(l.rows))
	mustDo(t, err)
	const phases, versions = 4, 100
	for phase := range phases {
		l.phase(mustIndex(t, s, "i"), uint64(phase), int64(phase+1)*versions)
		s = openStore(t, dir, Options{MemoryLimit: 64 << 20, CacheBytes: int64(phase-1) << 20})
		mustBeWhole(t, mustIndex(t, s, "i"), fmt.Sprint("after phase ", phase))
	}
	last := l.worker(mustIndex(t, s, "i"), 0, 99)
	mustDo(t, last.list())
	l.history = append(l.history, last.history...)
	for _, key := range linearKeys {
		var history []porcupine.Operation
		for _, op := range l.history {
			if op.Input.(registerInput).key == key {
				history = append(history, op)
			}
		}
		if !porcupine.CheckOperations(register.ToModel(), history) {
			t.Errorf("the %d operations of key %s are not linearizable", len(history), key)
		}
	}
	t.Logf("%d operations", len(l.history))
}

// linearKeys are the keys that are watched. The last two are changed together
// only.
var linearKeys = []string{"k0", "k1", "k2", "k3", "k4", "k5", "pair0", "pair1"}

const pairPrefix, fillerPrefix = "pair", "filler"

func linearConfig(rows [][]float32) IndexConfig {
	return IndexConfig{Dimension: len(rows[0]), Metric: Cosine, PostingBytes: 4 << 10}
}

// distinctTexts are the rows of the text set, each once: 384 dimensions, unit
// length.
var distinctTexts = sync.OnceValue(func() (rows [][]float32) {
	set, seen := realdata.Text(), map[[384]float32]bool{}
	for i := range set.Len() {
		if v := [384]float32(set.Row(i)); !seen[v] {
			seen[v] = true
			rows = append(rows, set.Row(i))
		}
	}
	return rows
})

// registerInput is an operation on one key, which holds nothing (0) or the version
// that was last put. Every version is put once and has a vector of its own.
type registerInput struct {
	key   string
	op    registerOp
	value int // of a put, and of an ask
}

type registerOutput struct {
	unknown bool // a change that failed: made before Close returned, or never
	value   int  // of a read
	yes     bool // of a deletion: it was there; of an ask: the version was found
}

type registerOp uint8

const (
	opPut registerOp = iota
	opDelete
	opRead // Get, List, or the query of another key that met this one
	opAsk  // a query of the very vector of a version: is it there?
)

// register is the sequential specification of one key.
var register = porcupine.NondeterministicModel{
	Init: func() []any { return []any{0} },
	Step: func(state, input, output any) []any {
		in, out, after, fits := input.(registerInput), output.(registerOutput), state, true
		switch in.op {
		case opPut:
			after = in.value
		case opDelete:
			after, fits = 0, out.unknown || out.yes == (state != 0)
		case opRead:
			fits = out.value == state
		case opAsk:
			fits = out.yes == (state == in.value)
		}
		switch {
		case !fits:
			return nil
		case out.unknown:
			return []any{state, after}
		}
		return []any{after}
	},
}

// linear is the test's state: what was called, and what came of it.
type linear struct {
	t       *testing.T
	rows    [][]float32
	clock   atomic.Int64
	version atomic.Int64 // of the newest put
	history []porcupine.Operation

	mu      sync.Mutex
	holders []string // by version: the key that it was put to
}

// vector is the vector of a version.
func (l *linear) vector(version int) []float32 { return l.rows[version] }

// phase has workers call an index until so many versions were put, then closes
// the store under them.
func (l *linear) phase(ix *Index, phase uint64, versions int64) {
	var workers []*linearWorker
	var wg sync.WaitGroup
	var enough sync.Once
	reached := make(chan struct{})
	for i, calls := range [][]func(*linearWorker) error{
		{(*linearWorker).put, (*linearWorker).put, (*linearWorker).delete},
		{(*linearWorker).put, (*linearWorker).putMany, (*linearWorker).deletePair},
		{(*linearWorker).putPair, (*linearWorker).put, (*linearWorker).delete},
		{(*linearWorker).fill},
		{(*linearWorker).get, (*linearWorker).list},
		{(*linearWorker).ask, (*linearWorker).get},
		{(*linearWorker).ask},
	} {
		w := l.worker(ix, i, phase)
		workers = append(workers, w)
		wg.Go(func() {
			var err error
			for err == nil {
				if l.version.Load() >= versions {
					enough.Do(func() { close(reached) })
				}
				err = calls[w.rng.IntN(len(calls))](w)
			}
			if !errors.Is(err, ErrClosed) {
				l.t.Errorf("worker %d: %v", i, err)
				enough.Do(func() { close(reached) })
			}
		})
	}
	<-reached
	mustClose(l.t, ix.store)
	wg.Wait()
	end := l.clock.Add(1)
	for _, w := range workers {
		for i := range w.history {
			if w.history[i].Output.(registerOutput).unknown {
				w.history[i].Return = end
			}
		}
		l.history = append(l.history, w.history...)
	}
}

// linearWorker is one caller.
type linearWorker struct {
	*linear
	ix      *Index
	id      int
	rng     *rand.Rand
	history []porcupine.Operation
}

func (l *linear) worker(ix *Index, id int, phase uint64) *linearWorker {
	return &linearWorker{linear: l, ix: ix, id: id, rng: rand.New(rand.NewPCG(uint64(id), phase))}
}

// note appends an operation that has just ended.
func (w *linearWorker) note(call int64, in registerInput, out registerOutput) {
	w.history = append(w.history, porcupine.Operation{ClientId: w.id, Input: in, Call: call, Output: out, Return: w.clock.Add(1)})
}

// put, putMany and putPair put new versions of keys in one call.
func (w *linearWorker) put() error { return w.putKeys(linearKeys[w.rng.IntN(6)]) }

func (w *linearWorker) putMany() error {
	var keys []string
	for _, i := range w.rng.Perm(6)[:2+w.rng.IntN(3)] {
		keys = append(keys, linearKeys[i])
	}
	return w.putKeys(keys...)
}

func (w *linearWorker) putPair() error { return w.putKeys(linearKeys[6:]...) }

func (w *linearWorker) putKeys(keys ...string) error {
	last := int(w.version.Add(int64(len(keys))))
	var records []Record
	w.mu.Lock()
	for i, key := range keys {
		version := last - i
		w.holders[version] = key
		records = append(records, Record{Key: key, Vector: w.vector(version), Metadata: fmt.Appendf(nil, `{"v":%d,"call":%d}`, version, last)})
	}
	w.mu.Unlock()
	call := w.clock.Add(1)
	err := w.ix.Put(context.Background(), records)
	for i, key := range keys {
		w.note(call, registerInput{key, opPut, last - i}, registerOutput{unknown: err != nil})
	}
	return err
}

func (w *linearWorker) delete() error { return w.deleteKeys(linearKeys[w.rng.IntN(6)]) }

func (w *linearWorker) deletePair() error { return w.deleteKeys(linearKeys[6:]...) }

func (w *linearWorker) deleteKeys(keys ...string) error {
	call := w.clock.Add(1)
	n, err := w.ix.Delete(context.Background(), keys)
	if err == nil && n != 0 && n != len(keys) {
		return fmt.Errorf("%d of the keys %v were there to delete", n, keys)
	}
	for _, key := range keys {
		w.note(call, registerInput{key: key, op: opDelete}, registerOutput{unknown: err != nil, yes: n > 0})
	}
	return err
}

// fill keeps maintenance busy: it replaces and deletes vectors that nobody asks
// for, around those that are watched.
func (w *linearWorker) fill() error {
	if w.rng.IntN(4) == 0 {
		var keys []string
		for range 20 {
			keys = append(keys, fmt.Sprint(fillerPrefix, w.rng.IntN(150)))
		}
		_, err := w.ix.Delete(context.Background(), keys)
		return err
	}
	var records []Record
	for _, i := range w.rng.Perm(150)[:10] {
		// The end of the rows is not used by versions.
		records = append(records, Record{Key: fmt.Sprint(fillerPrefix, i), Vector: w.rows[len(w.rows)-1-w.rng.IntN(800)]})
	}
	return w.ix.Put(context.Background(), records)
}

// get reads some keys, list all.
func (w *linearWorker) get() error {
	keys := linearKeys
	if w.rng.IntN(2) == 0 {
		keys = []string{linearKeys[w.rng.IntN(6)]}
	}
	call := w.clock.Add(1)
	found, err := w.ix.Get(context.Background(), keys, Fields{Vectors: true, Metadata: true})
	if err != nil {
		return err
	}
	return w.read(call, keys, found)
}

func (w *linearWorker) list() error {
	call := w.clock.Add(1)
	page, err := w.ix.List(context.Background(), ListOptions{Limit: MaxListLimit, Fields: Fields{Vectors: true, Metadata: true}})
	if err != nil {
		return err
	}
	return w.read(call, linearKeys, page.Records)
}

// read notes what was found of the keys that were read as one moment had them.
func (w *linearWorker) read(call int64, keys []string, found []Record) error {
	versions, calls := map[string]int{}, map[int]bool{}
	for _, r := range found {
		if strings.HasPrefix(r.Key, fillerPrefix) {
			continue
		}
		version, from, err := w.check(r)
		if err != nil {
			return err
		}
		if _, twice := versions[r.Key]; twice {
			return fmt.Errorf("key %s twice in one answer", r.Key)
		}
		if versions[r.Key] = version; strings.HasPrefix(r.Key, pairPrefix) {
			calls[from] = true
		}
	}
	if slices.Contains(keys, "pair0") && (len(calls) > 1 || (versions["pair0"] == 0) != (versions["pair1"] == 0)) {
		return fmt.Errorf("the pair is seen apart: %v", versions)
	}
	for _, key := range keys {
		w.note(call, registerInput{key: key, op: opRead}, registerOutput{value: versions[key]})
	}
	return nil
}

// check says which version a record is of, all of it.
func (w *linearWorker) check(r Record) (version, call int, err error) {
	if _, err := fmt.Sscanf(string(r.Metadata), `{"v":%d,"call":%d}`, &version, &call); err != nil {
		return 0, 0, fmt.Errorf("metadata %q of key %s: %w", r.Metadata, r.Key, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holders[version] != r.Key || !slices.Equal(r.Vector, w.vector(version)) {
		return 0, 0, fmt.Errorf("key %s: its metadata is of version %d of key %s, vector right: %v", r.Key, version,
			w.holders[version], slices.Equal(r.Vector, w.vector(version)))
	}
	return version, call, nil
}

// ask queries the vector of a version that was put not long ago.
func (w *linearWorker) ask() error {
	version := int(w.version.Load()) - w.rng.IntN(12)
	if version < 1 {
		return nil
	}
	w.mu.Lock()
	key := w.holders[version]
	w.mu.Unlock()
	if key == "" {
		return nil // is about to be put
	}
	call := w.clock.Add(1)
	res, err := w.ix.Query(context.Background(), w.vector(version), 10, everything)
	if err != nil {
		return err
	}
	found, seen := false, map[string]bool{}
	for _, m := range res.Matches {
		if seen[m.Key] {
			return fmt.Errorf("key %s twice in one answer", m.Key)
		}
		if seen[m.Key] = true; strings.HasPrefix(m.Key, fillerPrefix) {
			continue
		}
		got, _, err := w.check(Record{Key: m.Key, Vector: m.Vector, Metadata: m.Metadata})
		if err != nil {
			return err
		}
		found = found || got == version
		w.note(call, registerInput{key: m.Key, op: opRead}, registerOutput{value: got})
	}
	w.note(call, registerInput{key, opAsk, version}, registerOutput{yes: found})
	return nil
}

// TestRegister: the specification accepts what may happen and nothing else.
func TestRegister(t *testing.T) {
	put := func(call, ret int64, v int) porcupine.Operation {
		return porcupine.Operation{Input: registerInput{"k", opPut, v}, Output: registerOutput{}, Call: call, Return: ret}
	}
	lost := func(call, ret int64, v int) porcupine.Operation {
		return porcupine.Operation{Input: registerInput{"k", opPut, v}, Output: registerOutput{unknown: true}, Call: call, Return: ret}
	}
	read := func(call, ret int64, v int) porcupine.Operation {
		return porcupine.Operation{Input: registerInput{"k", opRead, 0}, Output: registerOutput{value: v}, Call: call, Return: ret}
	}
	del := func(call, ret int64, yes bool) porcupine.Operation {
		return porcupine.Operation{Input: registerInput{"k", opDelete, 0}, Output: registerOutput{yes: yes}, Call: call, Return: ret}
	}
	ask := func(call, ret int64, v int, yes bool) porcupine.Operation {
		return porcupine.Operation{Input: registerInput{"k", opAsk, v}, Output: registerOutput{yes: yes}, Call: call, Return: ret}
	}
	for i, c := range []struct {
		ok      bool
		history []porcupine.Operation
	}{
		{true, []porcupine.Operation{read(1, 2, 0), put(3, 4, 1), read(5, 6, 1), del(7, 8, true), read(9, 10, 0), del(11, 12, false)}},
		{true, []porcupine.Operation{put(1, 4, 1), read(2, 3, 0)}},
		{true, []porcupine.Operation{put(1, 4, 1), read(2, 3, 1)}},
		{true, []porcupine.Operation{put(1, 2, 1), lost(3, 4, 2), read(5, 6, 1)}},
		{true, []porcupine.Operation{put(1, 2, 1), lost(3, 4, 2), read(5, 6, 2)}},
		{false, []porcupine.Operation{put(1, 2, 1), lost(3, 4, 2), read(5, 6, 1), read(7, 8, 2)}}, // too late
		{false, []porcupine.Operation{put(1, 2, 1), read(3, 4, 0)}},                               // lost
		{false, []porcupine.Operation{put(1, 2, 1), put(3, 4, 2), read(5, 6, 1)}},                 // stale
		{false, []porcupine.Operation{put(1, 2, 1), del(3, 4, false)}},
		{false, []porcupine.Operation{put(1, 2, 1), del(3, 4, true), ask(5, 6, 1, true)}}, // a ghost
		{false, []porcupine.Operation{put(1, 2, 1), ask(3, 4, 1, false)}},                 // not found
		{false, []porcupine.Operation{put(1, 6, 1), read(2, 3, 1), read(4, 5, 0)}},        // there and back
	} {
		if got := porcupine.CheckOperations(register.ToModel(), c.history); got != c.ok {
			t.Errorf("history %d: linearizable %v, want %v", i, got, c.ok)
		}
	}
}

// TestUpsertStorm: 200 calls at once upsert the same ten keys, each with vectors
// and metadata of its own. Whoever looks meanwhile sees the ten keys, each once and
// all of one call, with the vectors and metadata of that call; so does who looks
// afterwards and after a restart.
func TestUpsertStorm(t *testing.T) {
	t.Parallel()
	const calls, ids = 200, 10
	rows, dir := distinctTexts(), t.TempDir()
	s := openStore(t, dir, Options{})
	ix, err := s.CreateIndex(t.Context(), "b", "i", linearConfig(rows))
	mustDo(t, err)
	vector := func(call, id int) []float32 { return rows[call*ids+id] }
	put := func(call int) error {
		var records []Record
		for id := range ids {
			records = append(records, Record{Key: fmt.Sprint(id), Vector: vector(call, id), Metadata: fmt.Appendf(nil, `{"call":%d,"id":%d}`, call, id)})
		}
		return ix.Put(context.Background(), records)
	}
	check := func(from string, found []Match) (call int) {
		seen := map[string]bool{}
		for i, m := range found {
			c, id := -1, -1
			if _, err := fmt.Sscanf(string(m.Metadata), `{"call":%d,"id":%d}`, &c, &id); err != nil {
				t.Errorf("%s: metadata %q: %v", from, m.Metadata, err)
				return -1
			}
			if i == 0 {
				call = c
			}
			if c != call || m.Key != fmt.Sprint(id) || seen[m.Key] || !slices.Equal(m.Vector, vector(c, id)) {
				t.Errorf("%s: key %s (seen: %v) has metadata %s, the first is of call %d", from, m.Key, seen[m.Key], m.Metadata, call)
			}
			seen[m.Key] = true
		}
		if len(found) != ids {
			t.Errorf("%s: %d keys, want %d", from, len(found), ids)
		}
		return call
	}
	look := func(ix *Index, call int) (calls []int) {
		res, err := ix.Query(context.Background(), vector(call, call%ids), ids, everything)
		if err != nil {
			t.Error(err)
			return nil
		}
		page, err := ix.List(context.Background(), ListOptions{Fields: Fields{Vectors: true, Metadata: true}})
		if err != nil {
			t.Error(err)
			return nil
		}
		return []int{check("query", res.Matches), check("list", matchesOf(page.Records))}
	}
	mustDo(t, put(0))
	var writers, readers sync.WaitGroup
	var done atomic.Bool
	for i := range 2 {
		readers.Go(func() {
			for n := i; !done.Load(); n += 2 {
				look(ix, n%calls)
			}
		})
	}
	for call := range calls {
		writers.Go(func() {
			if err := put(call); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
	last := look(ix, 0)
	mustDo(t, ix.Settle(t.Context()))
	mustBeWhole(t, ix, "after the storm")
	mustClose(t, s)
	ix = mustIndex(t, openStore(t, dir, Options{}), "i")
	if again := look(ix, 0); !slices.Equal(last, again) || len(last) < 2 || last[0] != last[1] {
		t.Errorf("the last call is %v, after a restart %v", last, again)
	}
}

func matchesOf(records []Record) (matches []Match) {
	for _, r := range records {
		matches = append(matches, Match{Key: r.Key, Vector: r.Vector, Metadata: r.Metadata})
	}
	return matches
}
