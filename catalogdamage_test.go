package sprat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spratdb/sprat/posting"
)

// TestMissingCatalog: a store that has lost its catalog is not taken for a new
// one, and its index files stay.
func TestMissingCatalog(t *testing.T) {
	x := makeTwoIndexes(t)
	path := filepath.Join(x.dir, catalogDir)
	kept := filepath.Join(t.TempDir(), "kept")
	mustDo(t, os.Rename(path, kept))
	before := snapshot(t, x.dir)
	for _, readOnly := range []bool{false, true} {
		_, err := Open(x.dir, Options{ReadOnly: readOnly})
		mustBeCorrupt(t, "no catalog", err, path, 0)
	}
	checkUnchanged(t, "no catalog", x.dir, before)
	mustDo(t, os.Rename(kept, path))

	// Without the file that names its manifest Pebble would begin anew.
	markers, err := filepath.Glob(filepath.Join(path, "marker.manifest.*"))
	if err != nil || len(markers) != 1 {
		t.Fatalf("markers %q, %v", markers, err)
	}
	mustDo(t, os.Rename(markers[0], kept))
	leaks := goleak.IgnoreCurrent()
	for _, readOnly := range []bool{false, true} {
		_, err := Open(x.dir, Options{ReadOnly: readOnly})
		mustBeCorrupt(t, "no manifest", err, path, 0)
	}
	if err := goleak.Find(leaks); err != nil {
		t.Error(err)
	}
	mustDo(t, os.Rename(kept, markers[0]))
	s := x.open(t, "found again", Options{})
	mustAnswer(t, "found again", mustIndex(t, s, "first"), x.data, x.want)
}

// TestDamagedCatalogFiles: whatever happens to a file of the catalog, the process
// lives, and an index that opens answers as before.
func TestDamagedCatalogFiles(t *testing.T) {
	d, dir := fewTexts(40), t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	mustBuild(t, s, "first", fewConfig(d), d.rows)
	mustClose(t, s)
	// In a process of its own, because damage might end it.
	if out, err := child(t, "catalog", dir, t.TempDir()); err != nil {
		t.Errorf("%v: %s", err, out)
	} else if !strings.Contains(out, "enough damage") {
		t.Errorf("too little damage: %s", out)
	}
}

// helperCatalog damages copies of the store of its first argument, made in its
// second, and uses them.
func helperCatalog(args []string) error {
	d, rng := fewTexts(40), rand.New(rand.NewPCG(5, 6))
	var want [][]Match
	failed := 0
	for n := range 60 {
		dir := filepath.Join(args[1], fmt.Sprint(n))
		if err := os.CopyFS(dir, os.DirFS(args[0])); err != nil {
			return err
		}
		what := "whole"
		if n > 0 {
			files, err := filepath.Glob(filepath.Join(dir, catalogDir, "*"))
			if err != nil {
				return err
			}
			if what, err = damageFile(files[n%len(files)], rng); err != nil {
				return err
			}
		}
		got, err := openAndAnswer(dir, d)
		if n == 0 {
			if want = got; err != nil {
				return err
			}
		}
		switch {
		case err != nil:
			failed++
		case !reflect.DeepEqual(got, want):
			return fmt.Errorf("%s: other answers", what)
		}
	}
	if failed >= 10 {
		fmt.Println("enough damage:", failed)
	}
	return nil
}

func openAndAnswer(dir string, d dataset) (got [][]Match, err error) {
	s, err := Open(dir, Options{CacheBytes: -1})
	if err != nil {
		return nil, err
	}
	ix, err := s.Index("b", "first")
	if err == nil {
		got, err = answersOf(ix, d, everything)
	}
	return got, errors.Join(err, s.Close())
}

// damageFile flips, cuts, zeroes or removes.
func damageFile(path string, rng *rand.Rand) (what string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	kind := rng.IntN(5)
	if len(b) == 0 {
		kind = 4
	}
	switch kind {
	case 0, 1:
		what = "flip"
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	case 2:
		what, b = "cut", b[:rng.IntN(len(b))]
	case 3:
		what = "zero"
		at := rng.IntN(len(b))
		clear(b[at:min(at+512, len(b))])
	default:
		return "remove " + path, os.Remove(path)
	}
	return what + " " + path, os.WriteFile(path, b, 0o644)
}

// TestDamagedCatalogRows: rows of the catalog that cannot be true make their
// index unusable, or the query that needs them fail, with a typed error.
func TestDamagedCatalogRows(t *testing.T) {
	x := makeTwoIndexes(t)
	catalogPath := filepath.Join(x.dir, catalogDir)
	s := openStore(t, x.dir, Options{CacheBytes: -1})
	ix := mustIndex(t, s, "first")
	row := ix.row
	v := ix.current.Load()
	second, third := v.postings.At(1), v.postings.At(2)
	if !third.exists() {
		t.Fatal("no posting 2")
	}
	beyond := posting.Extent{Block: 1 << 20, Bytes: 5000}
	for what, c := range map[string]struct {
		value []byte
		path  string
		off   int64
	}{
		"short extent":   {[]byte{1, 2, 3}, catalogPath, 0},
		"empty extent":   {make([]byte, 9), catalogPath, 0},
		"beyond the end": {appendDirectoryRow(nil, beyond, 0), x.path[postingsFile], beyond.Offset()},
	} {
		b := s.catalog.NewBatch()
		b.PutExtent(row.ID, 2, c.value)
		mustDo(t, b.Commit())
		mustClose(t, s)
		s = x.open(t, what, Options{})
		_, err := s.Index("b", "first")
		mustBeCorrupt(t, what, err, c.path, c.off)
	}
	// The posting of another id.
	e := second.extent
	b := s.catalog.NewBatch()
	b.PutExtent(row.ID, 2, appendDirectoryRow(nil, e, 0))
	mustDo(t, b.Commit())
	mustClose(t, s)
	s = x.open(t, "an extent twice", Options{ReadOnly: true})
	_, err := answersOf(mustIndex(t, s, "first"), x.data, everything)
	mustBeCorrupt(t, "an extent twice", err, x.path[postingsFile], e.Offset())
	// A posting that the directory has forgotten.
	mustClose(t, s)
	s = x.open(t, "an extent twice, for writing", Options{})
	_, err = s.Index("b", "first")
	mustBeCorrupt(t, "an extent twice, for writing", err, catalogPath, 0)
	b = s.catalog.NewBatch()
	b.PutExtent(row.ID, 2, appendDirectoryRow(nil, third.extent, 0))
	v.state.Postings++
	b.PutState(row.ID, v.state)
	mustDo(t, b.Commit())
	mustClose(t, s)
	s = x.open(t, "a posting is missing", Options{})
	_, err = s.Index("b", "first")
	mustBeCorrupt(t, "a posting is missing", err, catalogPath, 0)
}

// TestLostOverflow: a key or metadata that should be in the catalog and is not
// fails the query that needs it.
func TestLostOverflow(t *testing.T) {
	d := fewTexts(40)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	var records []Record
	for i, v := range d.rows {
		records = append(records, Record{Key: fmt.Sprint("key-", i), Vector: v})
	}
	records[5].Key = strings.Repeat("k", 500)
	records[7].Metadata = []byte(`{"text":"` + strings.Repeat("x", 5000) + `"}`)
	ix, _, err := s.Build(context.Background(), "b", "i", fewConfig(d), recordsOf(records, nil), BuildOptions{})
	mustDo(t, err)
	b := s.catalog.NewBatch()
	b.DeleteIndexRows(ix.row.ID)
	mustDo(t, b.Commit())
	for _, row := range []int{5, 7} {
		_, err := ix.Query(context.Background(), d.rows[row], 1, everything)
		mustBeCorrupt(t, fmt.Sprint("row ", row), err, filepath.Join(s.dir, catalogDir), 0)
	}
	if r, err := ix.Verify(context.Background(), nil); err != nil || r.Faults < 40 {
		t.Errorf("verify: %v %+v", err, r)
	}
}
