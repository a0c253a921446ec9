package sprat

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/realdata"
)

// helperEnv names the helper that a child process is to be instead of running
// the tests.
const helperEnv = "SPRAT_TEST_HELPER"

// helpers are the programs that this test binary can be. Each gets the
// arguments of its process.
var helpers = map[string]func(args []string) error{
	"catalog":      helperCatalog,
	"creating":     helperCreating,
	"killed":       helperKilled,
	"open":         helperOpen,
	"restore":      helperRestore,
	"unprivileged": helperUnprivileged,
}

// TestMain runs the tests and looks for goroutines that were left behind, or
// runs a helper.
func TestMain(m *testing.M) {
	name := os.Getenv(helperEnv)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := helpers[name](os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// child runs a helper in a process of its own and returns what it printed.
func child(t *testing.T, helper string, args ...string) (string, error) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+helper)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// snapshot is every file below dir with its size, modification time and
// checksum; directories with their mode.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			files[name] = info.Mode().String()
			return err
		}
		b, err := os.ReadFile(path)
		files[name] = fmt.Sprintf("%d bytes of %v, crc %08x", len(b), info.ModTime(), crc32.ChecksumIEEE(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkUnchanged fails when dir is not as the snapshot of it.
func checkUnchanged(t *testing.T, what, dir string, before map[string]string) {
	t.Helper()
	after := snapshot(t, dir)
	for name, state := range before {
		if after[name] != state {
			t.Errorf("%s: %s changed: %q, was %q", what, name, after[name], state)
		}
		delete(after, name)
	}
	for name := range after {
		t.Errorf("%s: %s is new", what, name)
	}
}

// fewTexts is the first n rows of the text set and ten queries: 384 dimensions,
// refine records, cosine.
func fewTexts(n int) dataset {
	set := realdata.Text()
	d := dataset{name: set.Name, metric: Cosine}
	for i := range n {
		d.rows = append(d.rows, set.Row(i))
	}
	for i := range 10 {
		d.queries = append(d.queries, set.Query(i))
	}
	return d
}

// fewConfig makes postings small; fewTexts(100) fill a dozen of them.
func fewConfig(d dataset) IndexConfig {
	return IndexConfig{Dimension: len(d.rows[0]), Metric: d.metric, PostingBytes: 4 << 10}
}

// everything reads every posting and every candidate.
var everything = QueryOptions{SearchProbe: maxSearchProbe, RescoreLimit: maxSearchProbe, Vectors: true, Metadata: true}

// answersOf are the answers to the queries of d, or the first error: for every
// other query one result, for which refine records pay, and ten for the rest.
func answersOf(ix *Index, d dataset, opts QueryOptions) ([][]Match, error) {
	var all [][]Match
	for i, q := range d.queries {
		res, err := ix.Query(context.Background(), q, 1+i%2*9, opts)
		if err != nil {
			return nil, err
		}
		all = append(all, res.Matches)
	}
	return all, nil
}

// mustAnswer fails unless the index gives these answers.
func mustAnswer(t *testing.T, what string, ix *Index, d dataset, want [][]Match) {
	t.Helper()
	got, err := answersOf(ix, d, everything)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: other answers than before (%v)", what, err)
	}
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustIndex(t testing.TB, s *Store, name string) *Index {
	t.Helper()
	ix, err := s.Index("b", name)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// checkNothingOf fails when the store shows any trace of index b/name: a row, a
// file, a temporary file.
func checkNothingOf(t *testing.T, s *Store, name string) {
	t.Helper()
	if _, err := s.Index("b", name); !errors.Is(err, ErrNotFound) {
		t.Errorf("index %s after a build that failed: %v", name, err)
	}
	rows, err := s.catalog.Indexes("")
	if err != nil {
		t.Fatal(err)
	}
	var ids []uint32
	var dirs []string
	for _, r := range rows {
		ids, dirs = append(ids, r.ID), append(dirs, filepath.Base(indexDir(s.dir, r.ID)))
		if r.Name == name {
			t.Errorf("index %s has a row in the catalog", name)
		}
	}
	for _, dir := range []string{indexesDir, temporaryDir} {
		entries, err := os.ReadDir(filepath.Join(s.dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !slices.Contains(dirs, e.Name()) {
				t.Errorf("left behind: %s/%s", dir, e.Name())
			}
		}
	}
	for id := range uint32(32) {
		if !slices.Contains(ids, id) {
			checkNoRows(t, s, id)
		}
	}
}

// checkNoRows fails when the catalog holds rows of an index id.
func checkNoRows(t *testing.T, s *Store, id uint32) {
	t.Helper()
	n := 0
	err := errors.Join(
		s.catalog.Placements(id, func([]byte, catalog.Placement) error { n++; return nil }),
		s.catalog.Extents(id, func(uint32, []byte) error { n++; return nil }),
	)
	for slot := range uint32(32) {
		if _, err := s.catalog.LongKey(id, slot, 0); err == nil {
			n++
		}
		if _, err := s.catalog.LongMetadata(id, slot, 0); err == nil {
			n++
		}
	}
	if n > 0 || err != nil {
		t.Errorf("index id %d: %d rows left in the catalog (%v)", id, n, err)
	}
}
