package sprat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/spratdb/sprat/internal/crashdisk"
	"github.com/spratdb/sprat/posting/lire"
)

// crashEnv set to "all" has TestPowerFailure try every cut.
const crashEnv = "SPRAT_CRASH"

// deed is a call of a recorded run and what the index holds when it is done.
type deed struct {
	begun, ended int // changes of the file system that were made before
	after        held
}

// recording is a run of puts, deletes and maintenance, with all that it did to the
// file system.
type recording struct {
	t       *testing.T
	disk    *crashdisk.Recorder
	dir     string
	s       *Store
	ix      *Index
	rng     *rand.Rand
	vectors [][]float32
	model   held
	deeds   []deed
	did     []string
}

// powerOptions keep writes small: none is larger than it has to be.
var powerOptions = Options{MemoryLimit: 64 << 20, CacheBytes: -1, Direct: "off"}

// record makes an index, durably, then has its life recorded: it grows and
// shrinks, twice, and is reopened once.
func record(t *testing.T, cfg IndexConfig, calls int) *recording {
	t.Helper()
	r := &recording{t: t, dir: filepath.Join(quickDir(t), "store"), rng: rand.New(rand.NewPCG(1, uint64(cfg.Dimension))), model: held{}}
	r.vectors = makeCloud(cfg.Metric, 120, cfg.Dimension, 5)
	s := mustOpenByHand(t, r.dir, powerOptions, hooks{})
	_, err := s.CreateIndex(t.Context(), "b", "i", cfg)
	mustDo(t, err)
	mustClose(t, s)
	mustDo(t, removeBallast(r.dir))
	r.disk, err = crashdisk.NewRecorder(r.dir)
	mustDo(t, err)
	r.deeds = append(r.deeds, deed{after: held{}})
	r.open()
	for n := range calls {
		r.call(n)
		if n == calls/2 {
			mustClose(t, r.s)
			r.open()
		}
	}
	mustDo(t, relax(r.ix))
	did, err := settleByHand(r.ix)
	mustDo(t, err)
	mustDo(t, r.model.same(r.ix, r.vectors[0]))
	mustClose(t, r.s)
	r.did = append(r.did, did...)
	return r
}

// removeBallast removes what the model of the file system does not see.
func removeBallast(dir string) error {
	if err := os.Remove(filepath.Join(dir, ballastFile)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (r *recording) open() {
	r.s = mustOpenByHand(r.t, r.dir, powerOptions, hooks{ops: r.disk.Ops})
	r.ix = mustIndex(r.t, r.s, "i")
	r.ix.limits = tightLimits
}

// tightLimits keep postings far below what a block holds, so that few vectors have
// them cut and given up.
var tightLimits = lire.Limits{Target: 12, Split: 18, Merge: 4, Fold: 4}

// call makes a put or a delete, or steps.
func (r *recording) call(n int) {
	grow := n/60%2 == 0
	mustDo(r.t, relax(r.ix))
	d := deed{begun: r.disk.Len(), after: r.model.clone()}
	switch x := r.rng.IntN(10); {
	case x < 3:
		did, err := r.ix.writer.upkeep.step(context.Background())
		mustDo(r.t, err)
		r.did = append(r.did, did)
		return
	case x < 8 == grow:
		var records []Record
		for range 1 + r.rng.IntN(8) {
			rec := r.draw(n)
			if _, twice := d.after[rec.Key]; twice && r.rng.IntN(3) == 0 || contains(records, rec.Key) {
				continue
			}
			d.after[rec.Key] = rec
			records = append(records, rec)
		}
		mustDo(r.t, r.ix.Put(context.Background(), records))
	default:
		var keys []string
		for _, key := range d.after.sortedKeys() {
			if r.rng.IntN(20) == 0 || !grow && r.rng.IntN(3) == 0 {
				keys = append(keys, key)
				delete(d.after, key)
			}
		}
		_, err := r.ix.Delete(context.Background(), keys)
		mustDo(r.t, err)
	}
	d.ended = r.disk.Len()
	r.disk.Mark(fmt.Sprint("acknowledged ", len(r.deeds)))
	r.model = d.after
	r.deeds = append(r.deeds, d)
}

func contains(records []Record, key string) bool {
	for i := range records {
		if records[i].Key == key {
			return true
		}
	}
	return false
}

func (r *recording) draw(n int) Record {
	rec := Record{Key: fmt.Sprint("key ", r.rng.IntN(240)), Vector: r.vectors[r.rng.IntN(len(r.vectors))], Metadata: fmt.Appendf(nil, `{"n":%d}`, n)}
	switch r.rng.IntN(12) {
	case 0:
		rec.Metadata = fmt.Appendf(nil, `{"n":%d,"pad":%q}`, n, strings.Repeat("x", 3000))
	case 1:
		rec.Key += strings.Repeat("x", 600)
	}
	return rec
}

// at returns what the index may hold after the first n changes: what the last call
// that was acknowledged left, and what the call under way leaves.
func (r *recording) at(n int) (acknowledged, underWay held) {
	for i, d := range r.deeds {
		switch {
		case d.ended <= n:
			acknowledged, underWay = d.after, nil
		case d.begun < n:
			underWay = r.deeds[i].after
		}
	}
	return acknowledged, underWay
}

// TestPowerFailure: whatever of what was not synced a power failure takes, at any
// moment of an index's life, the store opens, every invariant holds, what was
// acknowledged is there, a call under way is there whole or not at all, and the
// index goes on from there.
func TestPowerFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cfg   IndexConfig
		calls int
		cuts  int
	}{
		{"small", IndexConfig{Dimension: 6, Metric: Euclidean, PostingBytes: 4 << 10}, 420, 160},
		{"refined", IndexConfig{Dimension: 136, Metric: Cosine, PostingBytes: 4 << 10, Copies: 2}, 240, 90},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := record(t, c.cfg, c.calls)
			t.Logf("%d changes by %d calls; maintenance: %s", r.disk.Len(), len(r.deeds)-1, counted(r.did))
			for _, want := range []string{"fold", "split", "drain", "drop", "swept"} {
				if !strings.Contains(counted(r.did), want) {
					t.Errorf("the run had no %s", want)
				}
			}
			cuts := rand.New(rand.NewPCG(3, 4)).Perm(r.disk.Len() + 1)
			if os.Getenv(crashEnv) != "all" {
				cuts = cuts[:min(c.cuts, len(cuts))]
			}
			r.crashes(cuts)
		})
	}
}

// crashes tries cuts, several at a time.
func (r *recording) crashes(cuts []int) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := range next {
				if err := r.crash(n); err != nil {
					r.t.Errorf("after %d changes: %v\n%s", n, err, r.around(n))
				}
			}
		})
	}
	for _, n := range cuts {
		next <- n
	}
	close(next)
	wg.Wait()
}

// around is the script near a cut.
func (r *recording) around(n int) string {
	lines := strings.Split(r.disk.Script(true), "\n")
	return fmt.Sprintf("of a script of %d lines, change %d of %d", len(lines), n, r.disk.Len())
}

// crash lays out what a power failure after n changes may leave, and looks at it;
// the seed of the cut is n, so that a failure can be repeated.
func (r *recording) crash(n int) (err error) {
	dir := filepath.Join(filepath.Dir(r.dir), fmt.Sprint("cut ", n))
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := r.disk.Cut(n, uint64(n), dir); err != nil {
		return err
	}
	s, err := openByHand(dir, powerOptions, hooks{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ix, err := s.Index("b", "i")
	if err != nil {
		return err
	}
	ix.limits = tightLimits
	acknowledged, underWay := r.at(n)
	now := acknowledged
	err = now.same(ix, r.vectors[n%len(r.vectors)])
	if err != nil && underWay != nil {
		now = underWay
		if second := now.same(ix, r.vectors[n%len(r.vectors)]); second != nil {
			return fmt.Errorf("neither without the call under way: %w\nnor with it: %w", err, second)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	return r.goOn(ix, now.clone(), n)
}

// goOn has an index live a little longer.
func (r *recording) goOn(ix *Index, model held, n int) error {
	for i := range 3 {
		rec := Record{Key: fmt.Sprint("key ", (n+i*31)%240), Vector: r.vectors[(n+i)%len(r.vectors)]}
		if err := ix.Put(context.Background(), []Record{rec}); err != nil {
			return fmt.Errorf("put afterwards: %w", err)
		}
		model[rec.Key] = rec
		if _, err := ix.writer.upkeep.step(context.Background()); err != nil {
			return fmt.Errorf("maintenance afterwards: %w", err)
		}
	}
	if n%4 == 0 {
		if _, err := settleByHand(ix); err != nil {
			return fmt.Errorf("maintenance afterwards: %w", err)
		}
	}
	if err := model.same(ix, r.vectors[n%len(r.vectors)]); err != nil {
		return fmt.Errorf("going on: %w", err)
	}
	return nil
}
