package sprat

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErase: after deletion and compaction, the bytes of a vector, its key and its
// metadata are in no file of the store, whether they were built or put, and
// whether they fit into a record or not.
func TestErase(t *testing.T) {
	t.Parallel()
	d := fewTexts(300)
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	long := strings.Repeat("long metadata ", 40)
	// Numbers in a row would not do: tables name keys between those that they hold.
	secret := func(i int) string { return fmt.Sprintf("metadata-%08x", uint32(i)*2654435761) }
	rec := func(i int, v []float32) Record {
		r := Record{Key: fmt.Sprintf("erasable-key-%04d", i), Vector: v, Metadata: fmt.Appendf(nil, `{"secret":"%s"}`, secret(i))}
		if i%3 == 0 {
			r.Metadata = fmt.Appendf(nil, `{"secret":"%s","more":"%s"}`, secret(i), long)
		}
		return r
	}
	ix, _, err := s.Build(t.Context(), "b", "i", fewConfig(d), func(yield func(Record, error) bool) {
		for i := range 150 {
			if !yield(rec(i, d.rows[i]), nil) {
				return
			}
		}
	}, BuildOptions{})
	mustDo(t, err)
	for i := 150; i < 300; i += 10 {
		var recs []Record
		for k := i; k < i+10; k++ {
			recs = append(recs, rec(k, d.rows[k]))
		}
		mustDo(t, ix.Put(t.Context(), recs))
	}
	var gone, kept []int
	var keys []string
	for i := range 300 {
		switch {
		case i%2 == 0:
			gone, keys = append(gone, i), append(keys, rec(i, nil).Key)
		default:
			kept = append(kept, i)
		}
	}
	// Half of what goes is deleted, half replaced by something else.
	half := len(keys) / 2
	_, err = ix.Delete(t.Context(), keys[:half])
	mustDo(t, err)
	var recs []Record
	for _, key := range keys[half:] {
		recs = append(recs, Record{Key: "other-" + key, Vector: d.rows[1]})
	}
	mustDo(t, ix.Put(t.Context(), recs))
	_, err = ix.Delete(t.Context(), keys[half:])
	mustDo(t, err)
	mustDo(t, ix.Compact(t.Context(), nil))
	found := scan(t, dir, func(b []byte) (hits []string) {
		for _, i := range gone {
			r := rec(i, d.rows[i])
			for what, pattern := range map[string][]byte{
				"metadata": []byte(secret(i)), "vector": floatBytes(r.Vector),
			} {
				if bytes.Contains(b, pattern) {
					hits = append(hits, fmt.Sprintf("%s of %s", what, r.Key))
				}
			}
		}
		return hits
	})
	if len(found) > 0 {
		t.Errorf("%d traces are left: %.500q", len(found), found)
	}
	mustBeWhole(t, ix, "compacted")
	for _, i := range kept {
		want := rec(i, d.rows[i])
		got, err := ix.Get(t.Context(), []string{want.Key}, Fields{Vectors: true, Metadata: true})
		if err != nil || len(got) != 1 || string(got[0].Metadata) != string(want.Metadata) {
			t.Fatalf("key %q: %v, %v", want.Key, got, err)
		}
	}
	mustClose(t, s)
}

// scan calls f with the bytes of every file below dir and gathers what it finds.
func scan(t *testing.T, dir string, f func([]byte) []string) (found []string) {
	t.Helper()
	mustDo(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, hit := range f(b) {
			found = append(found, hit+" in "+path)
		}
		return err
	}))
	return found
}

func floatBytes(v []float32) []byte {
	var b []byte
	for _, x := range v {
		u := math.Float32bits(x)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return b
}

// TestSpaceComesBack: when nine of ten vectors are deleted, the files shrink to
// what the rest needs.
func TestSpaceComesBack(t *testing.T) {
	t.Parallel()
	d := fewTexts(2000)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	c := fewConfig(d)
	ix := mustBuild(t, s, "i", c, d.rows)
	var keys []string
	for i := range d.rows {
		if i%10 != 0 {
			keys = append(keys, fmt.Sprint(i))
		}
	}
	_, err := ix.Delete(t.Context(), keys)
	mustDo(t, err)
	mustDo(t, ix.Settle(t.Context()))
	mustBeWhole(t, ix, "settled")
	var rest [][]float32
	for i := 0; i < len(d.rows); i += 10 {
		rest = append(rest, d.rows[i])
	}
	fresh := mustBuild(t, s, "fresh", c, rest)
	st, want := ix.Stats(), fresh.Stats()
	t.Logf("%+v\n%+v", st.Disk, want.Disk)
	for what, n := range map[string][2]int64{
		"postings": {st.Disk.Postings, want.Disk.Postings}, "records": {st.Disk.Records, want.Disk.Records}, "refine": {st.Disk.Refine, want.Disk.Refine},
	} {
		// What is worth the trouble is more than looseLeast.
		if n[0] > n[1]+n[1]/2+looseLeast {
			t.Errorf("%s: %d bytes, a fresh build takes %d", what, n[0], n[1])
		}
	}
	mustClose(t, s)
}
