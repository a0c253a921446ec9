package sprat

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting/lire"
)

// faultScript puts, deletes and steps, and notes in sure what was acknowledged and
// in unsure what was in flight when a call failed; "" is a key that is gone.
func faultScript(ix *Index, rows [][]float32, sure map[string]string, unsure map[string][]string) (failed error) {
	ix.limits = lire.Limits{Target: 12, Split: 18, Merge: 4, Fold: 4}
	note := func(err error, keys []string, value string) {
		for _, key := range keys {
			if err == nil {
				sure[key] = value
				delete(unsure, key)
			} else {
				unsure[key] = append(unsure[key], value)
			}
		}
		if failed == nil {
			failed = err
		}
	}
	for n := range 12 {
		var recs []Record
		var keys, gone []string
		for i := range 6 {
			key, value := fmt.Sprint((7*n+i)%40), fmt.Sprintf(`{"n":%d}`, n)
			keys = append(keys, key)
			recs = append(recs, Record{Key: key, Vector: rows[(7*n+i)%len(rows)], Metadata: []byte(value)})
		}
		note(ix.Put(ix.writer.upkeep.ctx, recs), keys, fmt.Sprintf(`{"n":%d}`, n))
		if n%3 == 2 {
			gone = []string{fmt.Sprint(n), fmt.Sprint(3 * n % 40)}
			_, err := ix.Delete(ix.writer.upkeep.ctx, gone)
			note(err, gone, "")
		}
		for range 2 {
			if _, err := ix.writer.upkeep.step(ix.writer.upkeep.ctx); err != nil && failed == nil {
				failed = err
			}
		}
	}
	return failed
}

// TestFailedOperations: whichever change of the file system fails, and however,
// the call that needs it returns an error, nothing acknowledged is lost, and the
// store opens and is whole.
func TestFailedOperations(t *testing.T) {
	t.Parallel()
	d := fewTexts(60)
	total := int64(0)
	for _, cause := range []error{nil, unix.EIO, unix.ENOSPC} {
		every := int64(1)
		if cause == nil {
			every = 1 << 40 // one run without a fault counts the operations
		} else {
			every = max(1, total/40)
		}
		for at := int64(1); at == 1 || at <= total; at += every {
			total = max(total, failAt(t, d.rows, at, cause))
			if cause == nil {
				break
			}
		}
	}
	if total < 100 {
		t.Errorf("only %d operations", total)
	}
}

// failAt runs the script with its at-th operation failing and returns how many
// there were.
func failAt(t *testing.T, rows [][]float32, at int64, cause error) int64 {
	t.Helper()
	dir := t.TempDir()
	opts := Options{MemoryLimit: 64 << 20, CacheBytes: -1, Direct: "off"}
	var armed atomic.Bool
	var n atomic.Int64
	s, err := openWith(dir, opts, hooks{manual: true, ops: func(op iopath.Op) error {
		if armed.Load() && n.Add(1) == at && cause != nil {
			return cause
		}
		return nil
	}})
	mustDo(t, err)
	c := IndexConfig{Dimension: len(rows[0]), Metric: Cosine, PostingBytes: 4 << 10, Bits: 1}
	ix, err := s.CreateIndex(t.Context(), "b", "i", c)
	mustDo(t, err)
	armed.Store(true)
	sure, unsure := map[string]string{}, map[string][]string{}
	failed := faultScript(ix, rows, sure, unsure)
	armed.Store(false)
	if failed != nil && errors.Is(cause, unix.ENOSPC) && !errors.Is(publicError(failed), ErrVolumeFull) && ix.writer.usable() == nil {
		t.Errorf("operation %d: %v, want %v", at, failed, ErrVolumeFull)
	}
	_ = s.Close() // may tell again what failed
	s, err = openWith(dir, opts, hooks{manual: true})
	if err != nil {
		t.Fatalf("operation %d, %v: cannot be opened again: %v", at, cause, err)
	}
	ix = mustIndex(t, s, "i")
	if r, err := ix.Verify(t.Context(), nil); err != nil || !r.OK() {
		t.Fatalf("operation %d, %v: %v, %+v", at, cause, err, r)
	}
	page, err := ix.List(t.Context(), ListOptions{Limit: MaxListLimit, Fields: Fields{Metadata: true}})
	mustDo(t, err)
	got := map[string]string{}
	for _, r := range page.Records {
		got[r.Key] = string(r.Metadata)
	}
	for key := range 40 {
		key := fmt.Sprint(key)
		if got[key] != sure[key] && !slices.Contains(unsure[key], got[key]) {
			t.Fatalf("operation %d, %v: key %s is %q, acknowledged is %q, in flight %q", at, cause, key, got[key], sure[key], unsure[key])
		}
	}
	mustClose(t, s)
	return n.Load()
}
