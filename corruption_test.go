package sprat

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
)

// twoIndexes is a closed store of two indexes, the files of the first of them,
// and what both answer.
type twoIndexes struct {
	dir   string
	data  dataset
	path  map[string]string // of the first index's files, by name
	whole map[string][]byte
	want  [][]Match
}

func makeTwoIndexes(t *testing.T) *twoIndexes {
	t.Helper()
	x := &twoIndexes{dir: t.TempDir(), data: fewTexts(70), path: map[string]string{}, whole: map[string][]byte{}}
	s := openStore(t, x.dir, Options{CacheBytes: -1})
	ix := mustBuild(t, s, "first", fewConfig(x.data), x.data.rows)
	mustBuild(t, s, "other", fewConfig(x.data), x.data.rows)
	var err error
	x.want, err = answersOf(ix, x.data, everything)
	mustDo(t, err)
	mustClose(t, s)
	for _, name := range []string{postingsFile, refineFile, recordsFile, centroidsFile} {
		x.path[name] = ix.path(name)
		x.whole[name], err = os.ReadFile(ix.path(name))
		mustDo(t, err)
	}
	return x
}

// restore puts the first index's files back.
func (x *twoIndexes) restore(t testing.TB) {
	t.Helper()
	for name, b := range x.whole {
		mustDo(t, os.WriteFile(x.path[name], b, 0o644))
	}
}

// open opens the store and checks that the damage to the first index does not
// reach the other.
func (x *twoIndexes) open(t *testing.T, what string, o Options) *Store {
	t.Helper()
	o.CacheBytes = -1
	s, err := Open(x.dir, o)
	if err != nil {
		t.Fatalf("%s: open: %v", what, err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it already
	mustAnswer(t, what+", other index", mustIndex(t, s, "other"), x.data, x.want)
	return s
}

// mustBeCorrupt fails unless err says that the file is damaged at or before the
// offset.
func mustBeCorrupt(t testing.TB, what string, err error, path string, off int64) {
	t.Helper()
	var ce *CorruptionError
	if !errors.Is(err, ErrCorrupt) || !errors.As(err, &ce) || ce.Path != path || ce.Offset > off || off-ce.Offset > posting.MaxBytes ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("%s: %v, want damage of %s at %d", what, err, path, off)
	}
}

// TestDamagedHeaders: an index whose file has lost its header, its end or itself
// is refused with the place; the store and the other index work.
func TestDamagedHeaders(t *testing.T) {
	t.Parallel()
	x := makeTwoIndexes(t)
	newer := bytes.Clone(x.whole[recordsFile])
	h, err := diskfile.Decode(newer)
	mustDo(t, err)
	h.KeyCap += 4
	copy(newer, h.Encode())
	for _, name := range []string{postingsFile, refineFile, recordsFile} {
		for what, content := range map[string][]byte{
			"gone":           nil,
			"empty":          {},
			"cut header":     x.whole[name][:diskfile.HeaderBytes-1],
			"flipped header": append(flipped(x.whole[name][:diskfile.HeaderBytes], 20), x.whole[name][diskfile.HeaderBytes:]...),
			"zeroed header":  append(make([]byte, diskfile.HeaderBytes), x.whole[name][diskfile.HeaderBytes:]...),
			"another header": append(bytes.Clone(newer[:diskfile.HeaderBytes]), x.whole[name][diskfile.HeaderBytes:]...),
		} {
			what := name + ", " + what
			mustDo(t, os.Remove(x.path[name]))
			if content != nil {
				mustDo(t, os.WriteFile(x.path[name], content, 0o644))
			}
			before := snapshot(t, filepath.Dir(x.path[name]))
			s := x.open(t, what, Options{})
			_, err := s.Index("b", "first")
			mustBeCorrupt(t, what, err, x.path[name], 0)
			if st, err := s.Stats(); err != nil || !strings.Contains(st.Broken["b/first"], x.path[name]) || len(st.Indexes) != 1 {
				t.Errorf("%s: stats name %v as broken, %v", what, st.Broken, err)
			}
			if names, err := s.Indexes(); err != nil || len(names) != 2 {
				t.Errorf("%s: indexes %v, %v", what, names, err)
			}
			if _, err := s.CreateIndex(context.Background(), "b", "first", fewConfig(x.data)); !errors.Is(err, ErrExists) {
				t.Errorf("%s: a new index in its place: %v, want %v", what, err, ErrExists)
			}
			mustClose(t, s)
			checkUnchanged(t, what, filepath.Dir(x.path[name]), before)
			x.restore(t)
		}
	}
	s := x.open(t, "restored", Options{})
	mustAnswer(t, "restored", mustIndex(t, s, "first"), x.data, x.want)
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// refineAll runs a query that reads the refine records of all candidates.
func refineAll(ix *Index, q []float32) error {
	s := newSearcher(ix)
	s.forced = &rules{probe: maxSearchProbe, limit: maxRescored, firstWave: firstWave, odds: math.Inf(-1), eps: noBound / 2}
	s.begin(q, 1, &QueryOptions{})
	defer s.end()
	return publicError(s.search(newClock(context.Background(), time.Time{})))
}

// TestTruncatedFiles: a file that ends early is noticed, when the index opens or
// by the first query that needs what is missing. Verify names it and goes on.
func TestTruncatedFiles(t *testing.T) {
	t.Parallel()
	x := makeTwoIndexes(t)
	for _, name := range []string{postingsFile, refineFile, recordsFile} {
		for _, size := range []int{diskfile.HeaderBytes, len(x.whole[name]) / 2, len(x.whole[name]) - 4096} {
			what := fmt.Sprintf("%s of %d bytes", name, size)
			mustDo(t, os.Truncate(x.path[name], int64(size)))
			s := x.open(t, what, Options{})
			ix, err := s.Index("b", "first")
			if err == nil {
				r, verr := ix.Verify(context.Background(), nil)
				if verr != nil || r.OK() || !strings.Contains(fmt.Sprint(r.Problems), x.path[name]) {
					t.Errorf("%s: verify: %v, %+v", what, verr, r)
				}
				if _, err = answersOf(ix, x.data, everything); name == refineFile {
					err = refineAll(ix, x.data.rows[0]) // what reads everything needs no refine records
				}
			}
			mustBeCorrupt(t, what, err, x.path[name], int64(len(x.whole[name])))
			mustClose(t, s)
			x.restore(t)
		}
	}
}

// TestDamagedBodies: whatever is written over a part of a data file, no query
// panics or gives a wrong answer: it gives the right one or an error that names
// the place. Verify does not panic either, and finds what queries find.
func TestDamagedBodies(t *testing.T) {
	t.Parallel()
	x := makeTwoIndexes(t)
	s := x.open(t, "whole", Options{IOEngine: iopath.Pread, Direct: iopath.DirectOff})
	ix := mustIndex(t, s, "first")
	damages, noticed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{postingsFile, refineFile, recordsFile}).Draw(rt, "file")
		whole := x.whole[name]
		at := rapid.IntRange(diskfile.HeaderBytes, len(whole)-1).Draw(rt, "offset")
		var with []byte
		switch rapid.SampledFrom([]string{"flip", "zero", "copy"}).Draw(rt, "damage") {
		case "flip":
			with = []byte{whole[at] ^ 1<<rapid.IntRange(0, 7).Draw(rt, "bit")}
		case "zero":
			with = make([]byte, min(rapid.IntRange(1, 5000).Draw(rt, "bytes"), len(whole)-at))
		case "copy": // of another part of the file: right bytes in the wrong place
			from := rapid.IntRange(1, len(whole)/4096-1).Draw(rt, "block") * 4096
			at = at / 4096 * 4096
			with = whole[from:min(from+4096, len(whole)-at+from, len(whole))]
		}
		overwrite(rt, x.path[name], at, with)
		defer overwrite(rt, x.path[name], at, whole[at:at+len(with)])

		damages++
		got, err := answersOf(ix, x.data, everything)
		if err == nil && !reflect.DeepEqual(got, x.want) {
			rt.Fatalf("%s: other answers, no error", name)
		}
		r, verr := ix.Verify(context.Background(), nil)
		if verr != nil || err != nil && r.OK() {
			rt.Errorf("%s: verify: %v %+v, queries: %v", name, verr, r, err)
		}
		if err == nil {
			return // padding, or the same bytes
		}
		noticed++
		mustBeCorrupt(t, "damage", err, x.path[name], int64(at+len(with)-1))
	})
	if noticed < damages/2 {
		t.Errorf("only %d of %d damages were noticed", noticed, damages)
	}
	mustAnswer(t, "repaired", ix, x.data, x.want)
	mustVerify(t, ix)
}

func overwrite(t rapid.TB, path string, at int, with []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(with, int64(at))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamagedCentroids: the centroids file holds nothing that the postings do
// not. Without it the index opens, answers as before and writes it anew.
func TestDamagedCentroids(t *testing.T) {
	t.Parallel()
	x := makeTwoIndexes(t)
	whole, path := x.whole[centroidsFile], x.path[centroidsFile]
	for what, content := range map[string][]byte{
		"gone": nil, "empty": {}, "cut": whole[:len(whole)-1], "flipped": flipped(whole, len(whole)/2),
		"zeroed": make([]byte, len(whole)), "longer": append(bytes.Clone(whole), 0), "noise": bytes.Repeat([]byte{0xa5}, 10_000),
	} {
		mustDo(t, os.Remove(path))
		if content != nil {
			mustDo(t, os.WriteFile(path, content, 0o644))
		}
		s := x.open(t, what, Options{})
		ix := mustIndex(t, s, "first")
		mustAnswer(t, what, ix, x.data, x.want)
		if r, err := ix.Verify(context.Background(), nil); err != nil || r.Faults != 1 || !strings.Contains(r.Problems[0], path) {
			t.Errorf("%s: verify: %v %+v, want %s as the only fault", what, err, r, path)
		}
		mustClose(t, s)
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, whole) {
			t.Errorf("%s: the file was not written anew (%v)", what, err)
		}
	}
	s := x.open(t, "written anew", Options{})
	mustVerify(t, mustIndex(t, s, "first"))
	mustClose(t, s)
	// With a posting damaged as well the centroids cannot be had.
	mustDo(t, os.Remove(path))
	overwrite(t, x.path[postingsFile], diskfile.HeaderBytes+100, []byte{1, 2, 3, 4})
	s = x.open(t, "no centroids, damaged posting", Options{})
	_, err := s.Index("b", "first")
	mustBeCorrupt(t, "no centroids, damaged posting", err, x.path[postingsFile], diskfile.HeaderBytes)
}

// TestSwappedFiles: files of another index of the same shape are noticed.
func TestSwappedFiles(t *testing.T) {
	t.Parallel()
	x := makeTwoIndexes(t)
	s := openStore(t, x.dir, Options{CacheBytes: -1})
	reversed := x.data
	reversed.rows = nil
	for _, v := range x.data.rows {
		reversed.rows = append(reversed.rows, scaled(v, -1))
	}
	third := mustBuild(t, s, "third", fewConfig(x.data), reversed.rows)
	first := mustIndex(t, s, "first")
	if a, b := first.Stats().Postings, third.Stats().Postings; a != b {
		t.Fatalf("the indexes differ in shape: %d and %d postings", a, b)
	}
	mustClose(t, s)
	for _, name := range []string{postingsFile, refineFile, recordsFile, centroidsFile} {
		b, err := os.ReadFile(third.path(name))
		mustDo(t, err)
		mustDo(t, os.WriteFile(x.path[name], b, 0o644))
		s := x.open(t, name, Options{})
		ix, err := s.Index("b", "first")
		if err == nil {
			var got [][]Match
			if got, err = answersOf(ix, x.data, QueryOptions{SearchProbe: 3}); err == nil {
				t.Errorf("%s of another index: answers %.80v, no error", name, got)
			}
		}
		mustBeCorrupt(t, name+" of another index", err, x.path[name], 0)
		mustClose(t, s)
		x.restore(t)
	}
}

// TestNewerFiles: files of a newer program are refused as such.
func TestNewerFiles(t *testing.T) {
	t.Parallel()
	x := makeTwoIndexes(t)
	for name, end := range map[string]int{ // of what the checksum covers
		postingsFile: 64, refineFile: 64, recordsFile: 64, centroidsFile: len(x.whole[centroidsFile]),
	} {
		b := bytes.Clone(x.whole[name])
		b[8]++ // the version
		binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:end], crc32.MakeTable(crc32.Castagnoli)))
		mustDo(t, os.WriteFile(x.path[name], b, 0o644))
		before := snapshot(t, filepath.Dir(x.path[name]))
		s := x.open(t, name, Options{})
		if _, err := s.Index("b", "first"); !errors.Is(err, ErrFormat) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s of a newer format: %v, want %v", name, err, ErrFormat)
		}
		mustClose(t, s)
		checkUnchanged(t, name, filepath.Dir(x.path[name]), before)
		x.restore(t)
	}
}
