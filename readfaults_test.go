package sprat

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting/lire"
)

// readFaultsEnv set to "all" has TestFailedReads fail every read of its runs.
const readFaultsEnv = "SPRAT_READFAULTS"

// badSpot is one byte of a file that cannot be read for a while: the n-th read of
// a run finds it, and every read that covers it fails until it is healed.
type badSpot struct {
	mu      sync.Mutex
	n       int64 // which read finds it; 0: none does
	reads   int64 // so far, while seeking
	seeking bool
	armed   bool // what was found fails

	path string // "" until found
	off  int64
}

// fate is the hook that decides about each read.
func (b *badSpot) fate(op iopath.ReadOp) iopath.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.armed {
		return iopath.Fault{}
	}
	if b.seeking {
		b.reads++
	}
	if b.seeking && b.reads == b.n {
		b.path, b.off = op.Path, op.Off+(7919*b.n)%int64(op.Len)
	}
	if b.path != op.Path || b.off < op.Off || b.off >= op.Off+int64(op.Len) {
		return iopath.Fault{}
	}
	return iopath.Fault{Kind: iopath.FaultEIO}
}

// set says whether reads are counted, to find the spot, and whether it fails.
func (b *badSpot) set(seeking, armed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seeking, b.armed = seeking, armed
}

func (b *badSpot) String() string {
	return fmt.Sprintf("read %d, %s at %d", b.n, filepath.Base(b.path), b.off)
}

// told says that an error names the spot.
func (b *badSpot) told(err error) bool {
	var re *iopath.ReadError
	return errors.As(err, &re) && re.Path == b.path && re.Off <= b.off && b.off < re.Off+int64(re.Len)
}

// readScene is a part of an index's life, played on a copy of what an earlier one
// left.
type readScene struct {
	name   string
	cfg    IndexConfig
	limits lire.Limits
	rows   int
	faults int // reads that fail, one a run
	before func(*readRun)
	play   func(*readRun)
	does   []string // what maintenance has to do in it
}

// readRun is a scene being played.
type readRun struct {
	*readScene
	t     *testing.T
	spot  *badSpot
	rows  [][]float32
	s     *Store
	ix    *Index
	model held
	did   []string
}

// open opens the index with its postings kept small.
func (r *readRun) open(dir string) {
	r.s = mustOpenByHand(r.t, dir, powerOptions, hooks{faults: r.spot.fate})
	r.ix = mustIndex(r.t, r.s, "i")
	r.ix.limits = r.limits
}

// may passes errors of the spot; a nil or other error of a call is judged here.
func (r *readRun) may(what string, err error) {
	r.t.Helper()
	if err != nil && !r.spot.told(err) {
		r.t.Fatalf("%v: %s: %v", r.spot, what, err)
	}
}

// put puts rows [from, to) under keys that come round after mod.
func (r *readRun) put(from, to, mod int) {
	r.t.Helper()
	for ; from < to; from += 10 {
		var recs []Record
		for i := from; i < min(from+10, to); i++ {
			rec := Record{Key: fmt.Sprintf("key %03d", i%mod), Vector: r.rows[i%len(r.rows)], Metadata: fmt.Appendf(nil, `{"n":%d}`, i)}
			r.model[rec.Key], recs = rec, append(recs, rec)
		}
		if err := r.ix.Put(r.t.Context(), recs); err != nil { // a put reads nothing
			r.t.Fatalf("%v: put: %v", r.spot, err)
		}
		r.step()
	}
}

// delete deletes all keys but every n-th.
func (r *readRun) delete(n int) {
	r.t.Helper()
	var keys []string
	for i, key := range r.model.sortedKeys() {
		if i%n != 0 {
			keys = append(keys, key)
			delete(r.model, key)
		}
	}
	if _, err := r.ix.Delete(r.t.Context(), keys); err != nil {
		r.t.Fatalf("%v: delete: %v", r.spot, err)
	}
}

// step has maintenance do one thing.
func (r *readRun) step() {
	r.t.Helper()
	did, err := r.ix.writer.upkeep.step(r.t.Context())
	r.may("step", err)
	r.did = append(r.did, did)
}

// settle steps until nothing is left, or nothing can be done for the spot.
func (r *readRun) settle() {
	r.t.Helper()
	for failed, n := 0, 0; failed < 3; n++ {
		did, err := r.ix.writer.upkeep.step(r.t.Context())
		r.may("step", err)
		if r.did = append(r.did, did); did == "" && err == nil {
			return
		}
		if err != nil {
			failed++
		}
		if n == 3000 {
			r.t.Fatalf("%v: maintenance does not end: %q", r.spot, r.did[len(r.did)-20:])
		}
	}
}

// ask gets, lists and queries.
func (r *readRun) ask() {
	r.t.Helper()
	for i, key := range r.model.sortedKeys() {
		if i%3 == 0 {
			_, err := r.ix.Get(r.t.Context(), []string{key}, Fields{Vectors: true})
			r.may("get", err)
		}
	}
	_, err := listed(r.ix)
	r.may("list", err)
	for i := range 4 {
		_, err := r.ix.Query(r.t.Context(), r.rows[i], 5, QueryOptions{Metadata: i%2 == 0})
		r.may("query", err)
		r.may("query", r.model.sameQuery(r.ix, r.rows[i], 20))
	}
}

var readScenes = []readScene{
	{
		name: "grow", cfg: IndexConfig{Dimension: 6, Metric: Euclidean, PostingBytes: 4 << 10}, limits: tightLimits, rows: 220, faults: 4,
		before: func(r *readRun) { r.calibrated(); r.put(0, 120, 200) },
		play:   func(r *readRun) { r.put(120, 220, 200); r.settle(); r.ask() },
		does:   []string{"fold", "split"},
	},
	{
		name: "refined", cfg: IndexConfig{Dimension: 136, Metric: Cosine, PostingBytes: 4 << 10, Copies: 2}, limits: tightLimits, rows: 200, faults: 4,
		before: func(r *readRun) { r.calibrated(); r.put(0, 140, 200) },
		play:   func(r *readRun) { r.put(140, 200, 150); r.settle(); r.ask() },
		does:   []string{"fold", "split"},
	},
	{
		name: "calibrate", cfg: IndexConfig{Dimension: 136, Metric: Euclidean, PostingBytes: 4 << 10, Copies: 2}, limits: tightLimits, rows: 140, faults: 2,
		before: func(r *readRun) { r.calibrated(); r.put(0, 140, 200); r.settle(); r.uncalibrated() },
		play:   func(r *readRun) { r.settle() },
		does:   []string{"calibrate"},
	},
	{
		name: "shrink", cfg: IndexConfig{Dimension: 6, Metric: Dot, PostingBytes: 4 << 10}, limits: tightLimits, rows: 240, faults: 4,
		before: func(r *readRun) { r.calibrated(); r.put(0, 240, 240); r.settle(); r.uncheck() },
		play:   func(r *readRun) { r.step(); r.delete(5); r.settle(); r.ask() },
		does:   []string{"check", "drain", "drop", "sweep", "swept"},
	},
	{
		name: "tidy", cfg: IndexConfig{Dimension: 8, Metric: Euclidean, PostingBytes: 4 << 10, Copies: 1},
		limits: lire.Limits{Target: 30, Split: 45, Merge: 5, Fold: 8}, rows: 600, faults: 2,
		before: func(r *readRun) { r.calibrated(); r.put(0, 600, 600) },
		play:   func(r *readRun) { r.settle(); r.wish(&r.ix.writer.upkeep.order); r.settle() },
		does:   []string{"tidy", "tidied"},
	},
	{
		name: "purge", cfg: IndexConfig{Dimension: 8, Metric: Euclidean, PostingBytes: 4 << 10}, limits: tightLimits, rows: 200, faults: 3,
		before: func(r *readRun) { r.calibrated(); r.put(0, 200, 180); r.settle(); r.put(0, 40, 180) },
		play:   func(r *readRun) { r.wish(&r.ix.writer.upkeep.purge); r.settle() },
		does:   []string{"fold", "swept"},
	},
	{
		name: "give back", cfg: IndexConfig{Dimension: 768, Metric: Euclidean, PostingBytes: 16 << 10, Bits: 8},
		limits: lire.Limits{Target: 16, Split: 24, Merge: 3, Fold: 4}, rows: 420, faults: 2,
		before: func(r *readRun) { r.calibrated(); r.put(0, 420, 420); r.settle() },
		play:   func(r *readRun) { r.delete(6); r.settle(); r.pullDown(); r.settle() },
		does:   []string{"vacate", "swept", "cut postings"},
	},
}

// wish has maintenance do what it does only when asked, until it is done or cannot
// be.
func (r *readRun) wish(w *wish) {
	r.t.Helper()
	w.asked.Add(1)
	defer w.asked.Add(-1)
	for want, n := w.done.Load()+1, 0; w.done.Load() < want; n++ {
		did, err := r.ix.writer.upkeep.step(r.t.Context())
		r.did = append(r.did, did)
		if r.may("wish", err); err != nil {
			return
		}
		if n == 3000 {
			r.t.Fatalf("%v: not done: %q", r.spot, r.did[len(r.did)-20:])
		}
	}
}

// pullDown writes the last postings of the file anew, as is done when a part of it
// is gaps that is larger than this one.
func (r *readRun) pullDown() {
	r.t.Helper()
	u := r.ix.writer.upkeep
	did, err := u.runRound(r.t.Context(), u.lastPostings(sweepPostings), &round{rewrite: true})
	r.did = append(r.did, did)
	r.may("pull down", err)
}

// calibrated keeps the stop rules from being fitted, which takes most reads of all.
func (r *readRun) calibrated() { r.change(func(t *txn) { t.state.Calibrated = 1 << 40 }) }

// uncalibrated has them fitted.
func (r *readRun) uncalibrated() { r.change(func(t *txn) { t.state.Calibrated = 0 }) }

// uncheck marks some postings as an earlier process leaves them that was stopped
// right after a cut.
func (r *readRun) uncheck() {
	r.change(func(t *txn) {
		for _, id := range r.ix.current.Load().postingIDs()[:3] {
			t.mark(id, unchecked)
		}
	})
}

func (r *readRun) change(f func(*txn)) {
	w := r.ix.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	f(t)
	mustDo(r.t, t.commit())
}

// TestFailedReads: whichever read of maintenance or of a call fails, and goes on
// failing, the error says where; what does not lie there can be read, and nothing
// that was acknowledged is lost. Stats show it. When the volume can be read again,
// maintenance does what it had left, and the index is whole.
func TestFailedReads(t *testing.T) {
	t.Parallel()
	for i := range readScenes {
		c := &readScenes[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(quickDir(t), "base")
			r := &readRun{readScene: c, t: t, spot: &badSpot{}, model: held{}}
			r.rows = makeCloud(c.cfg.Metric, c.rows, c.cfg.Dimension, 11)
			if c.cfg.Metric == Dot {
				r.rows[0] = r.rows[1] // the first call says how long vectors may be
			}
			s := mustOpenByHand(t, dir, powerOptions, hooks{})
			_, err := s.CreateIndex(t.Context(), "b", "i", c.cfg)
			mustDo(t, err)
			mustClose(t, s)
			r.open(dir)
			c.before(r)
			mustClose(t, r.s)
			r.did = nil

			clean := r.again(dir, 0)
			did, total := counted(clean.did), clean.spot.reads
			t.Logf("%d reads; maintenance: %s", total, did)
			for _, want := range c.does {
				if !strings.Contains(did, want+" ×") {
					t.Errorf("the run had no %s", want)
				}
			}
			rng := rand.New(rand.NewPCG(uint64(i), 8))
			at := rng.Perm(int(total))
			if os.Getenv(readFaultsEnv) != "all" {
				at = at[:min(c.faults, len(at))]
			}
			hurt := map[string]int{}
			for _, n := range at {
				run := r.again(dir, int64(n)+1)
				hurt[strings.SplitN(filepath.Base(run.spot.path), "-", 2)[0]]++
			}
			t.Logf("failed: %v", hurt)
		})
	}
}

// again plays the scene on a copy of the base, with its n-th read failing.
func (r *readRun) again(base string, n int64) *readRun {
	t := r.t
	run := &readRun{readScene: r.readScene, t: t, spot: &badSpot{n: n}, rows: r.rows, model: r.model.clone()}
	dir := filepath.Join(filepath.Dir(base), "run")
	mustDo(t, copyStore(base, dir))
	run.open(dir)
	run.spot.set(true, true)
	run.play(run)
	run.spot.set(false, true)
	run.during()
	run.spot.set(false, false)
	run.after()
	mustClose(t, run.s)
	return run
}

// during looks at the index while the spot cannot be read.
func (r *readRun) during() {
	t := r.t
	failed := 0
	for _, key := range r.model.sortedKeys() {
		got, err := r.ix.Get(t.Context(), []string{key}, Fields{Vectors: true, Metadata: true})
		if r.may("get", err); err != nil {
			failed++
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%v: key %s is gone", r.spot, key)
		}
		if d := differ(got[0].Key, got[0].Vector, got[0].Metadata, r.model[key]); d != "" {
			t.Fatalf("%v: %s", r.spot, d)
		}
	}
	if failed > 1 { // a byte is of one record
		t.Errorf("%v: %d keys cannot be read", r.spot, failed)
	}
	r.may("query", r.model.sameQuery(r.ix, r.rows[1], 20))
	report, err := r.ix.Verify(t.Context(), nil)
	if err != nil {
		t.Fatalf("%v: verify: %v", r.spot, err)
	}
	if report.OK() { // the spot is where nothing lives, or none
		if failed > 0 {
			t.Errorf("%v: verify says nothing", r.spot)
		}
		return
	}
	names := func(s string) bool { return strings.Contains(s, r.spot.path) }
	if r.spot.path == "" || !slices.ContainsFunc(report.Problems, names) {
		t.Fatalf("%v: verify: %+v", r.spot, *report)
	}
	st := r.ix.Stats()
	if !slices.ContainsFunc(st.Damaged, names) && !names(st.Upkeep.Fault) {
		t.Errorf("%v: stats show %q and %q, verify %q", r.spot, st.Damaged, st.Upkeep.Fault, report.Problems)
	}
}

// after looks at the index when everything can be read again.
func (r *readRun) after() {
	t := r.t
	r.ix.writer.upkeep.tryAgain()
	did, err := settleByHand(r.ix)
	if err != nil {
		t.Fatalf("%v: maintenance afterwards: %v, %q", r.spot, err, did)
	}
	if st := r.ix.Stats(); len(st.Damaged) > 0 || st.Upkeep.Fault != "" || st.Upkeep.DeltaEntries > 0 || st.Upkeep.Unchecked+st.Upkeep.Draining+st.Upkeep.Landed > 0 {
		t.Errorf("%v: stats afterwards: %q, %+v; it did %q", r.spot, st.Damaged, st.Upkeep, did)
	}
	if err := r.model.same(r.ix, r.rows[0], r.rows[2]); err != nil {
		t.Fatalf("%v: %v", r.spot, err)
	}
}
