package sprat

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/spratdb/sprat/internal/catalog"
)

// TestRepair: whatever single thing is damaged, a repair leaves an index that is
// whole, names what was lost, and has lost nothing else.
func TestRepair(t *testing.T) {
	t.Parallel()
	d := fewTexts(400)
	for what, c := range map[string]struct {
		harm func(t *testing.T, s *Store, ix *Index) // before the store is closed
		file func(t *testing.T, dir string, ix *Index)
		lost int // at most
	}{
		"nothing": {},
		"a posting": {file: func(t *testing.T, dir string, ix *Index) {
			p := ix.current.Load().postings.At(int(ix.current.Load().postingIDs()[3]))
			scribble(t, ix.path(postingsFile), p.extent.Offset()+100)
		}},
		"every posting": {file: func(t *testing.T, dir string, ix *Index) { mustDo(t, os.Remove(ix.path(postingsFile))) }},
		"a record": {lost: 1, file: func(t *testing.T, dir string, ix *Index) {
			scribble(t, ix.path(recordsFile), ix.records.Offset(7)+20)
		}},
		"a refine record": {file: func(t *testing.T, dir string, ix *Index) {
			scribble(t, ix.path(refineFile), ix.refine.Offset(7)+20)
		}},
		"the refine file": {file: func(t *testing.T, dir string, ix *Index) { mustDo(t, os.Remove(ix.path(refineFile))) }},
		"a header":        {file: func(t *testing.T, dir string, ix *Index) { scribble(t, ix.path(recordsFile), 10) }},
		"the centroids":   {file: func(t *testing.T, dir string, ix *Index) { scribble(t, ix.path(centroidsFile), 40) }},
		"a directory row": {harm: func(t *testing.T, s *Store, ix *Index) {
			rows(t, s, func(b *catalog.Batch) { b.PutExtent(ix.row.ID, 2, []byte{1}) })
		}},
		"a directory entry": {harm: func(t *testing.T, s *Store, ix *Index) {
			rows(t, s, func(b *catalog.Batch) { b.DeletePosting(ix.row.ID, 2) })
		}},
		"the counters": {harm: func(t *testing.T, s *Store, ix *Index) {
			rows(t, s, func(b *catalog.Batch) { b.PutState(ix.row.ID, catalog.State{}) })
		}},
		"a key": {lost: 1, harm: func(t *testing.T, s *Store, ix *Index) {
			rows(t, s, func(b *catalog.Batch) { b.DeleteKey(ix.row.ID, []byte("17")) })
		}},
		"a key that leads nowhere": {lost: 1, harm: func(t *testing.T, s *Store, ix *Index) {
			rows(t, s, func(b *catalog.Batch) { b.PutKey(ix.row.ID, []byte("new"), catalog.Placement{Slot: 3, Generation: 77}) })
		}},
		"a run": {harm: func(t *testing.T, s *Store, ix *Index) {
			rows(t, s, func(b *catalog.Batch) { b.PutRun(ix.row.ID, 2, catalog.RunRow{}) })
		}, lost: catalog.RunSlots},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := openWith(dir, Options{CacheBytes: -1}, hooks{manual: true})
			mustDo(t, err)
			ix := mustBuild(t, s, "i", fewConfig(d), d.rows[:300])
			var recs []Record
			for i := 300; i < 400; i++ {
				recs = append(recs, Record{Key: fmt.Sprint(i), Vector: d.rows[i]})
			}
			mustDo(t, ix.Put(t.Context(), recs[:60]))
			stepAll(t, ix)
			mustDo(t, ix.Put(t.Context(), recs[60:])) // these stay landed
			if c.harm != nil {
				c.harm(t, s, ix)
			}
			mustClose(t, s)
			if c.file != nil {
				c.file(t, dir, ix)
			}
			s = openStore(t, dir, Options{CacheBytes: -1})
			r, err := s.Repair(t.Context(), "b", "i")
			if err != nil {
				t.Fatalf("repair: %v, %+v", err, r)
			}
			if r.Lost > c.lost || r.Changed() == (c.harm == nil && c.file == nil) {
				t.Errorf("report %+v, at most %d may be lost", *r, c.lost)
			}
			ix = mustIndex(t, s, "i")
			mustBeWhole(t, ix, what)
			for i, v := range d.rows[:400] {
				got, err := ix.Query(t.Context(), v, 1, QueryOptions{SearchProbe: 1 << 20, RescoreLimit: 10_000})
				if err != nil || len(got.Matches) != 1 {
					t.Fatalf("vector %d: %+v, %v", i, got, err)
				}
				gone := got.Matches[0].Distance > 1e-6
				if gone && c.lost == 0 {
					t.Fatalf("vector %d is not found: %+v, report %+v", i, got.Matches, *r)
				}
				if key := fmt.Sprint(i); gone && c.lost == 1 && !slices.Contains(r.LostKeys, key) && r.Orphans == 0 {
					t.Fatalf("vector %d is lost, and the report does not say so: %+v", i, *r)
				}
			}
			again, err := s.Repair(t.Context(), "b", "i")
			if err != nil || again.Changed() {
				t.Errorf("a second repair: %+v, %v", *again, err)
			}
			mustClose(t, s)
		})
	}
}

// stepAll does what maintenance there is to do, by hand.
func stepAll(t *testing.T, ix *Index) {
	t.Helper()
	for {
		did, err := ix.writer.upkeep.step(t.Context())
		mustDo(t, err)
		if did == "" {
			return
		}
	}
}

func rows(t *testing.T, s *Store, f func(*catalog.Batch)) {
	t.Helper()
	b := s.catalog.NewBatch()
	f(b)
	mustDo(t, b.Commit())
}

// scribble changes a few bytes of a file.
func scribble(t *testing.T, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	mustDo(t, err)
	b := make([]byte, 8)
	_, err = f.ReadAt(b, off)
	mustDo(t, err)
	for i := range b {
		b[i] ^= 0x5a
	}
	_, err = f.WriteAt(b, off)
	mustDo(t, err)
	mustDo(t, f.Close())
}
