package sprat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spratdb/sprat/posting/lire"
	"github.com/spratdb/sprat/rescore"
)

// held is what an index should hold, by key.
type held map[string]Record

// nearest returns the k nearest records of q by brute force, ties by key, with
// their vectors and metadata.
func (h held) nearest(m Metric, q []float32, k int) []Match {
	target := rescore.NewTarget(m, q)
	all := make([]Match, 0, len(h))
	for key, r := range h {
		all = append(all, Match{Key: key, Distance: target.Distance(r.Vector), Vector: r.Vector, Metadata: r.Metadata})
	}
	sortMatches(m, all)
	return all[:min(k, len(all))]
}

// differ tells how two records differ; "" when they do not.
func differ(key string, vector []float32, metadata []byte, want Record) string {
	switch {
	case key != want.Key:
		return fmt.Sprintf("key %.40q, want %.40q", key, want.Key)
	case !slices.Equal(vector, want.Vector):
		return fmt.Sprintf("key %.40q: another vector", key)
	case string(metadata) != string(want.Metadata):
		return fmt.Sprintf("key %.40q: metadata %.40q, want %.40q", key, metadata, want.Metadata)
	}
	return ""
}

// sameMatches compares an answer with the right one.
func sameMatches(got, want []Match) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d results, want %d", len(got), len(want))
	}
	for i, m := range got {
		w := want[i]
		if d := differ(m.Key, m.Vector, m.Metadata, Record{Key: w.Key, Vector: w.Vector, Metadata: w.Metadata}); d != "" || m.Distance != w.Distance {
			return fmt.Errorf("result %d of %d: %s; distance %v, want %v", i, len(got), d, m.Distance, w.Distance)
		}
	}
	return nil
}

// sameQuery asks for everything near q and compares.
func (h held) sameQuery(ix *Index, q []float32, k int) error {
	res, err := ix.Query(context.Background(), q, k, everything)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	return sameMatches(res.Matches, h.nearest(ix.Metric(), q, k))
}

// sameRecords compares records, in any order, with all that should be there.
func (h held) sameRecords(got []Record) error {
	seen := map[string]bool{}
	for _, r := range got {
		want, ok := h[r.Key]
		if !ok || seen[r.Key] {
			return fmt.Errorf("key %.40q: there though it should not be, or twice", r.Key)
		}
		seen[r.Key] = true
		if d := differ(r.Key, r.Vector, r.Metadata, want); d != "" {
			return errors.New(d)
		}
	}
	for key := range h {
		if !seen[key] {
			return fmt.Errorf("key %.40q is missing", key)
		}
	}
	return nil
}

// listed returns everything an index holds.
func listed(ix *Index) ([]Record, error) {
	page, err := ix.List(context.Background(), ListOptions{Limit: MaxListLimit, Fields: Fields{Vectors: true, Metadata: true}})
	return page.Records, err
}

// same compares all that an index holds, says and finds with what it should, and
// verifies it.
func (h held) same(ix *Index, queries ...[]float32) error {
	records, err := listed(ix)
	if err == nil {
		err = h.sameRecords(records)
	}
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if n := ix.Len(); n != uint64(len(h)) {
		return fmt.Errorf("%d vectors, want %d", n, len(h))
	}
	for _, q := range queries {
		for _, k := range []int{1, 7, len(h) + 1} {
			if err := h.sameQuery(ix, q, k); err != nil {
				return fmt.Errorf("k %d: %w", k, err)
			}
		}
	}
	return whole(ix)
}

// whole verifies an index.
func whole(ix *Index) error {
	r, err := ix.Verify(context.Background(), nil)
	if err == nil && !r.OK() {
		err = fmt.Errorf("verify: %+v", *r)
	}
	return err
}

// openByHand opens a store whose indexes are maintained step by step.
func openByHand(dir string, o Options, h hooks) (*Store, error) {
	h.manual = true
	return openWith(dir, o, h)
}

// mustOpenByHand is openByHand for a test that owns the store.
func mustOpenByHand(t testing.TB, dir string, o Options, h hooks) *Store {
	t.Helper()
	s, err := openByHand(dir, o, h)
	mustDo(t, err)
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it already
	return s
}

// settleByHand does what maintenance there is to do and lists it.
func settleByHand(ix *Index) (did []string, err error) {
	for range 10_000 {
		word, err := ix.writer.upkeep.step(context.Background())
		if word == "" || err != nil {
			return did, err
		}
		did = append(did, word)
	}
	return did, fmt.Errorf("maintenance does not end: %q", did[len(did)-20:])
}

// relax steps until no writer is held up.
func relax(ix *Index) error {
	for range 10_000 {
		debt, err := ix.writer.upkeep.debt()
		if err != nil || lire.Pace(debt) == 0 {
			return err
		}
		if _, err := ix.writer.upkeep.step(context.Background()); err != nil {
			return err
		}
	}
	return errors.New("maintenance does not catch up")
}

// compactByHand is Compact for an index that is maintained step by step.
func compactByHand(ix *Index) error {
	ctx, u := context.Background(), ix.writer.upkeep
	_, err := settleByHand(ix)
	if err == nil {
		err = u.grant(ctx, &u.order, 1)
	}
	if err == nil {
		err = u.grant(ctx, &u.purge, 2)
	}
	if err == nil {
		_, err = settleByHand(ix)
	}
	if err == nil {
		err = ix.erase(ctx)
	}
	if err == nil {
		err = ix.store.catalog.Erase(ctx)
	}
	return err
}

// quickDir is a directory in memory, where the machine has one: syncs cost nothing
// there. It does not outlive the test.
func quickDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sprat-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // memory is given back, at the latest, when the machine stops
	return dir
}

// copyStore copies the files of a store as they are, open or not, which is what
// the death of its process leaves. The ballast holds nothing. The catalog may tidy
// its files in the background: then the copy is of no moment, and made again.
func copyStore(from, to string) error {
	for range 100 {
		before, err := catalogNames(from)
		if err == nil {
			err = os.RemoveAll(to)
		}
		if err == nil {
			err = copyFiles(from, to)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		after, listed := catalogNames(from)
		if err == nil && listed == nil && slices.Equal(before, after) {
			return nil
		}
	}
	return fmt.Errorf("%s does not come to rest", from)
}

// catalogNames are the names of the catalog's files, with their sizes.
func catalogNames(dir string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, catalogDir))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		names = append(names, fmt.Sprintf("%s %d", e.Name(), info.Size()))
	}
	return names, err
}

func copyFiles(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ballastFile {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, 0o644)
	})
}

// makeCloud is n vectors in clusters, of which some are equal, scaled by other
// lengths, or, where the metric allows it, zero.
func makeCloud(m Metric, n, dim int, seed uint64) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 7))
	vectors := make([][]float32, n)
	for i := range vectors {
		v := make([]float32, dim)
		center := rand.New(rand.NewPCG(seed, uint64(rng.IntN(4))))
		for j := range v {
			v[j] = float32(center.NormFloat64() + rng.NormFloat64()/4)
		}
		switch {
		case i > 0 && i%7 == 0:
			copy(v, vectors[rng.IntN(i)])
		case i > 0 && i%11 == 0: // the same direction
			for j, x := range vectors[rng.IntN(i)] {
				v[j] = 2 * x
			}
		case i == 5 && m != Cosine:
			clear(v)
		}
		vectors[i] = v
	}
	return vectors
}

// sortedKeys are the keys in order.
func (h held) sortedKeys() []string { return slices.Sorted(maps.Keys(h)) }

// clone copies the map; records are never changed.
func (h held) clone() held { return maps.Clone(h) }

// counted lists words with how often each occurs.
func counted(words []string) string {
	n := map[string]int{}
	for _, w := range words {
		for part := range strings.SplitSeq(w, ", ") {
			n[part]++
		}
	}
	var out []string
	for _, w := range slices.SortedFunc(maps.Keys(n), cmp.Compare[string]) {
		out = append(out, fmt.Sprintf("%s ×%d", w, n[w]))
	}
	return strings.Join(out, ", ")
}
