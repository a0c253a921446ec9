package sprat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spratdb/sprat/iopath"
)

// target is a snapshot folder of the test.
func target(t *testing.T) SnapshotTarget {
	t.Helper()
	to, err := SnapshotDir(filepath.Join(t.TempDir(), "snapshots"))
	mustDo(t, err)
	return to
}

// mustSnapshot keeps a snapshot and checks that nothing of it is left in the store.
func mustSnapshot(t *testing.T, s *Store, to SnapshotTarget) SnapshotStats {
	t.Helper()
	st, err := s.Snapshot(t.Context(), to, SnapshotOptions{})
	mustDo(t, err)
	checkNoTemporary(t, s)
	return st
}

func checkNoTemporary(t *testing.T, s *Store) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(s.dir, temporaryDir, "snapshot-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

// mustRestore opens the store of a snapshot in a folder of its own, and checks that
// every index in it is sound.
func mustRestore(t *testing.T, from SnapshotTarget, id string) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	st, err := Restore(t.Context(), from, id, dir, SnapshotOptions{})
	mustDo(t, err)
	if id != "" && st.ID != id || st.Files == 0 {
		t.Errorf("restored %+v, want snapshot %s", st, id)
	}
	s := openStore(t, dir, Options{CacheBytes: -1, MemoryLimit: 256 << 20})
	s.mu.RLock()
	defer s.mu.RUnlock()
	for name, ix := range s.mu.indexes {
		if r, err := ix.Verify(t.Context(), nil); err != nil || !r.OK() {
			t.Fatalf("%s restored from %s: %v, %+v", name, id, err, r)
		}
	}
	return s
}

// contents are all records of an index, as text.
func contents(t *testing.T, ix *Index) map[string]string {
	t.Helper()
	all := map[string]string{}
	for o := (ListOptions{Fields: Fields{Vectors: true, Metadata: true}}); ; {
		page, err := ix.List(t.Context(), o)
		mustDo(t, err)
		for _, r := range page.Records {
			all[r.Key] = fmt.Sprintf("%v %s", r.Vector, r.Metadata)
		}
		if o.Token = page.Next; o.Token == "" {
			return all
		}
	}
}

func sameContents(t *testing.T, what string, ix *Index, want map[string]string) {
	t.Helper()
	got := contents(t, ix)
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: key %q: %.60q, want %.60q", what, key, got[key], value)
		}
		delete(got, key)
	}
	if len(got) > 0 {
		t.Errorf("%s: %d keys too many", what, len(got))
	}
}

// numbered are the records of one call: group records with the number n.
func numbered(d dataset, writer string, n int) []Record {
	const group = 5
	recs := make([]Record, group)
	for i := range recs {
		v := d.rows[(n*group+i*7)%len(d.rows)]
		recs[i] = Record{Key: fmt.Sprintf("%s-%d", writer, i), Vector: v, Metadata: fmt.Appendf(nil, `{"n":%d}`, n)}
	}
	return recs
}

// number is the n of a writer's group, 0 when it is not there; all its records must
// have the same.
func number(t *testing.T, ix *Index, d dataset, writer string) int {
	t.Helper()
	var keys []string
	for _, r := range numbered(d, writer, 0) {
		keys = append(keys, r.Key)
	}
	recs, err := ix.Get(t.Context(), keys, Fields{Metadata: true})
	mustDo(t, err)
	if len(recs) != 0 && len(recs) != len(keys) {
		t.Fatalf("%s of %s: %d of %d records of one call", writer, ix.Name(), len(recs), len(keys))
	}
	first := 0
	for i, r := range recs {
		var m struct{ N int }
		mustDo(t, json.Unmarshal(r.Metadata, &m))
		if i > 0 && m.N != first {
			t.Fatalf("%s of %s: records of calls %d and %d", writer, ix.Name(), first, m.N)
		}
		first = m.N
	}
	return first
}

// TestSnapshotsOfALiveStore: snapshots taken while writers put, replace and delete
// and maintenance runs are each of one moment, in all indexes at once. A writer
// puts number n into one index and, when that has returned, into the other.
func TestSnapshotsOfALiveStore(t *testing.T) {
	t.Parallel()
	d := fewTexts(300)
	s := openStore(t, t.TempDir(), Options{MemoryLimit: 256 << 20})
	a := mustBuild(t, s, "a", fewConfig(d), d.rows[:200])
	b, err := s.CreateIndex(t.Context(), "b", "b", fewConfig(d))
	mustDo(t, err)
	to := target(t)

	var stop atomic.Bool
	var writers sync.WaitGroup
	var puts atomic.Int64
	put := make(chan struct{}, 1)
	for w := range 3 {
		writers.Go(func() {
			name := fmt.Sprint("w", w)
			for n := 1; !stop.Load(); n++ {
				for _, ix := range []*Index{a, b} {
					if err := ix.Put(t.Context(), numbered(d, name, n)); err != nil {
						t.Error(err)
						return
					}
				}
				puts.Add(1)
				select {
				case put <- struct{}{}:
				default:
				}
				if _, err := a.Delete(t.Context(), []string{fmt.Sprint(n % 200)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var ids []string
	before := make([]int64, 4)
	for i := range before {
		for range 10 {
			<-put
		}
		before[i] = puts.Load()
		ids = append(ids, mustSnapshot(t, s, to).ID)
	}
	stop.Store(true)
	writers.Wait()
	for i, id := range ids {
		r := mustRestore(t, to, id)
		total := 0
		for w := range 3 {
			name := fmt.Sprint("w", w)
			na, nb := number(t, mustIndex(t, r, "a"), d, name), number(t, mustIndex(t, r, "b"), d, name)
			if na != nb && na != nb+1 {
				t.Errorf("snapshot %d: %s has put %d into a and %d into b: not of one moment", i, name, na, nb)
			}
			total += nb
		}
		if int64(total) < before[i] {
			t.Errorf("snapshot %d holds %d calls, %d had returned", i, total, before[i])
		}
		mustClose(t, r)
	}
}

// hookedTarget calls a function before the first object is put.
type hookedTarget struct {
	SnapshotTarget
	once sync.Once
	hook func()
}

func (h *hookedTarget) Put(ctx context.Context, name string, data []byte) error {
	if strings.HasPrefix(name, "chunks/") {
		h.once.Do(h.hook)
	}
	return h.SnapshotTarget.Put(ctx, name, data)
}

// TestSnapshotHoldsItsMoment: what changes after the moment of a snapshot, and all
// maintenance that follows, is not in it, although almost all of it is read later.
func TestSnapshotHoldsItsMoment(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"default": {}, "buffered": {IOEngine: iopath.Pread, Direct: iopath.DirectOff}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fewTexts(300)
			o.MemoryLimit = 256 << 20
			s := openStore(t, t.TempDir(), o)
			ix := mustBuild(t, s, "i", fewConfig(d), d.rows[:150])
			var recs []Record
			for i := 100; i < 200; i++ { // some in landing segments, some home
				recs = append(recs, Record{Key: fmt.Sprint(i), Vector: d.rows[i], Metadata: fmt.Appendf(nil, `{"n":"%0*d"}`, i, i)})
			}
			mustDo(t, ix.Put(t.Context(), recs[:50]))
			mustDo(t, ix.Settle(t.Context()))
			mustDo(t, ix.Put(t.Context(), recs[50:]))
			_, err := ix.Delete(t.Context(), []string{"3", "120", "190"})
			mustDo(t, err)
			want := contents(t, ix)
			answers, err := answersOf(ix, d, everything)
			mustDo(t, err)

			to := &hookedTarget{SnapshotTarget: target(t), hook: func() { churn(t, ix, d) }}
			st, err := s.Snapshot(t.Context(), to, SnapshotOptions{Workers: 1})
			mustDo(t, err)
			if st.Vectors != uint64(len(want)) || st.Indexes != 1 || st.BytesNew == 0 {
				t.Errorf("stats %+v, want %d vectors", st, len(want))
			}
			r := mustRestore(t, to, st.ID)
			again := mustIndex(t, r, "i")
			sameContents(t, "restored", again, want)
			mustAnswer(t, "restored", again, d, answers)
			churn(t, again, d) // it can be written to
			mustDo(t, ix.Settle(t.Context()))
			mustBeWhole(t, ix, "afterwards")
			mustBeWhole(t, again, "restored and changed")
			if h := ix.current.Load().holders.Load(); h > 0 {
				t.Errorf("the version is still held (%d)", h)
			}
		})
	}
}

// churn replaces and deletes everything several times, with all the maintenance
// that there is to do after each.
func churn(t *testing.T, ix *Index, d dataset) {
	for round := range 2 {
		var recs []Record
		var keys []string
		for i := range 200 {
			recs = append(recs, Record{Key: fmt.Sprint(i), Vector: d.rows[(i+31*round+1)%len(d.rows)]})
			keys = append(keys, fmt.Sprint(i))
		}
		if err := ix.Put(t.Context(), recs); err != nil {
			t.Error(err)
		}
		if err := ix.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := ix.Delete(t.Context(), keys[:190]); err != nil {
			t.Error(err)
		}
		if err := ix.Settle(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestSnapshotShares: what has not changed is neither read nor sent again, also
// after a restart.
func TestSnapshotShares(t *testing.T) {
	t.Parallel()
	d, dir, to := fewTexts(200), t.TempDir(), target(t)
	s := openStore(t, dir, Options{MemoryLimit: 256 << 20})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	mustBuild(t, s, "j", fewConfig(d), d.rows)
	first := mustSnapshot(t, s, to)
	second := mustSnapshot(t, s, to)
	const files = 2 * 3 // postings, records, refine
	if second.FilesUnchanged < files || second.ChunksShared == 0 || second.BytesNew > first.BytesNew/4 {
		t.Errorf("nothing has changed, and %+v after %+v", second, first)
	}
	mustClose(t, s)
	s = openStore(t, dir, Options{MemoryLimit: 256 << 20})
	if st := mustSnapshot(t, s, to); st.FilesUnchanged < files || st.BytesNew > first.BytesNew/4 {
		t.Errorf("after a restart %+v", st)
	}
	mustDo(t, mustIndex(t, s, "j").Put(t.Context(), numbered(d, "w", 1)))
	fourth := mustSnapshot(t, s, to)
	if fourth.FilesUnchanged < files/2 || fourth.FilesUnchanged >= files+second.FilesUnchanged || fourth.ChunksShared == 0 {
		t.Errorf("after a change of one index %+v", fourth)
	}
	r := mustRestore(t, to, "")
	if n := number(t, mustIndex(t, r, "j"), d, "w"); n != 1 {
		t.Errorf("the newest snapshot holds call %d", n)
	}
	list, err := ListSnapshots(t.Context(), to)
	if err != nil || len(list) != 4 || list[0].ID != first.ID || list[0].Vectors != 400 || list[3].Vectors != 405 || list[3].Indexes != 2 {
		t.Fatalf("list %+v, %v", list, err)
	}
	pruned, err := PruneSnapshots(t.Context(), to, 1, SnapshotOptions{})
	if err != nil || pruned.SnapshotsRemoved != 3 || pruned.ChunksRemoved == 0 {
		t.Errorf("prune %+v, %v", pruned, err)
	}
	checked, err := VerifySnapshot(t.Context(), to, "", SnapshotOptions{})
	if err != nil || checked.ID != fourth.ID || checked.BytesRead == 0 {
		t.Errorf("verify %+v, %v", checked, err)
	}
}

// TestSnapshotsOfHistoriesThatPart: a store and one restored from its snapshot go
// on with the same sequence numbers and file sizes, into the same target. Neither
// takes the other's files for its own.
func TestSnapshotsOfHistoriesThatPart(t *testing.T) {
	t.Parallel()
	d, to := fewTexts(200), target(t)
	s := openStore(t, t.TempDir(), Options{MemoryLimit: 256 << 20})
	mustBuild(t, s, "i", fewConfig(d), d.rows[:100])
	base := mustSnapshot(t, s, to)
	stores := []*Store{s, mustRestore(t, to, base.ID)}
	var ids []string
	var want []map[string]string
	for round := range 3 {
		for k, s := range stores {
			ix := mustIndex(t, s, "i")
			for n := range 3 {
				mustDo(t, ix.Put(t.Context(), numbered(d, "w", 1000*k+3*round+n)))
			}
			want = append(want, contents(t, ix))
			ids = append(ids, mustSnapshot(t, s, to).ID)
		}
	}
	for i, id := range ids {
		sameContents(t, fmt.Sprint("snapshot ", i), mustIndex(t, mustRestore(t, to, id), "i"), want[i])
	}
}

// TestSnapshotOfNothing: a store without indexes comes back as one.
func TestSnapshotOfNothing(t *testing.T) {
	d, to := fewTexts(20), target(t)
	s := openStore(t, t.TempDir(), Options{})
	mustDo(t, s.CreateBucket("empty"))
	st := mustSnapshot(t, s, to)
	r := mustRestore(t, to, st.ID)
	if names, err := r.Buckets(); err != nil || !reflect.DeepEqual(names, []string{"empty"}) {
		t.Errorf("buckets %v, %v", names, err)
	}
	checkNothingOf(t, r, "any")
	mustBuild(t, r, "i", fewConfig(d), d.rows)
	mustVerify(t, mustIndex(t, r, "i"))
}

// TestSnapshotDuringBuild: the index that is being built is not in the snapshot,
// nor is any row of it when the restored store has been opened.
func TestSnapshotDuringBuild(t *testing.T) {
	d, to := fewTexts(100), target(t)
	s := openStore(t, t.TempDir(), Options{})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	_, _, err := s.Build(t.Context(), "b", "new", fewConfig(d), func(yield func(Record, error) bool) {
		// Rows come into the catalog before the row that makes an index of them.
		id, err := s.catalog.NextIndexID()
		mustDo(t, err)
		for _, id := range []uint32{id - 1, id} {
			mustDo(t, errors.Join(os.MkdirAll(buildDir(s.dir, id), 0o755), os.MkdirAll(indexDir(s.dir, id), 0o755)))
			b := s.catalog.NewBatch()
			b.PutExtent(id, 1, make([]byte, directoryRowBytes))
			mustDo(t, b.Commit())
		}
		mustSnapshot(t, s, to)
		for i, v := range d.rows {
			if !yield(Record{Key: fmt.Sprint(i), Vector: v}, nil) {
				return
			}
		}
	}, BuildOptions{})
	mustDo(t, err)
	r := mustRestore(t, to, "")
	checkNothingOf(t, r, "new")
	mustVerify(t, mustIndex(t, r, "i"))
	mustSnapshot(t, s, to)
	mustVerify(t, mustIndex(t, mustRestore(t, to, ""), "new"))
}

// TestSnapshotOfABrokenIndex: it is kept as it is, and costs the others nothing.
func TestSnapshotOfABrokenIndex(t *testing.T) {
	x, to := makeTwoIndexes(t), target(t)
	mustDo(t, os.Truncate(x.path[postingsFile], 100))
	s := x.open(t, "broken", Options{})
	st := mustSnapshot(t, s, to)
	if !reflect.DeepEqual(st.Broken, []string{"b/first"}) || st.Indexes != 2 {
		t.Errorf("stats %+v", st)
	}
	r := mustRestore(t, to, "")
	mustAnswer(t, "other index, restored", mustIndex(t, r, "other"), x.data, x.want)
	if _, err := r.Index("b", "first"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the broken index: %v", err)
	}
	for _, name := range []string{recordsFile, refineFile, centroidsFile} {
		rel, err := filepath.Rel(x.dir, x.path[name])
		mustDo(t, err)
		b, err := os.ReadFile(filepath.Join(r.dir, rel))
		if err != nil || !bytes.Equal(b, x.whole[name]) {
			t.Errorf("%s of the broken index is not as it was (%v)", name, err)
		}
	}
}
