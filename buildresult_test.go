package sprat

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBuildWithLittleMemory: with memory for a fraction of the input the
// training and the writing go in many parts, and the index is as good.
func TestBuildWithLittleMemory(t *testing.T) {
	t.Parallel()
	d := realSets(t)[2].few(700, 25)
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	plenty := 0.0
	for _, memory := range []int64{64 << 20, 768 << 10, 64 << 10} {
		b := newTestBuild(t, s, fmt.Sprint("i-", memory), fewConfig(d), memory)
		steps := map[string]int64{}
		b.opts.Progress = func(step string, _, total int64) {
			if steps[step] = max(steps[step], total); step == "place" {
				b.calibrator.rows = nil // calibration takes long and is not the subject
			}
		}
		ix := runTestBuild(t, b, rowsOf(d.rows))
		recall, _ := recallAt(t, ix, d, 10, QueryOptions{SearchProbe: 12, RescoreLimit: 100, FixedWork: true})
		t.Logf("%d KiB: recall %.4f; %d parts, trained in parts: %v; %d postings",
			memory>>10, recall, steps["write"], steps["partition"] > 0, ix.Stats().Postings)
		if plenty = max(plenty, recall); recall < plenty-0.03 {
			t.Errorf("%d KiB: recall %.4f, with more memory %.4f", memory>>10, recall, plenty)
		}
		if inParts := memory < 1<<20; inParts != (steps["write"] > 3) || inParts != (steps["partition"] > 0) {
			t.Errorf("%d KiB: written in %d parts, steps %v", memory>>10, steps["write"], steps)
		}
		mustVerify(t, ix)
	}
}

// TestSplitsAreEven: however many members share a centroid, no posting of it gets
// more entries than fit, and each member one place.
func TestSplitsAreEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Uint32Range(8, 500).Draw(t, "capacity")
		primaries := rapid.SliceOfN(rapid.IntRange(0, 3000), 1, 5).Draw(t, "primaries")
		copies := rapid.SliceOfN(rapid.IntRange(0, 9000), len(primaries), len(primaries)).Draw(t, "copies")
		entries := make([]uint32, len(primaries))
		for c := range entries {
			entries[c] = uint32(primaries[c] + copies[c])
		}
		s := splitEntries(entries, capacity)
		held := make([]uint32, s.total)
		for c := range entries {
			for i := range primaries[c] {
				held[s.primary(c, i, primaries[c])]++
			}
			for range copies[c] {
				held[s.copy(c)]++
			}
		}
		for p, n := range held {
			if n == 0 || n > capacity {
				t.Fatalf("posting %d of %d has %d entries, %d fit; centroids %v", p, s.total, n, capacity, entries)
			}
		}
	})
}

// TestBuildIsDeterministic: equal input and seed give the same bytes, for any
// number of workers and whatever fits in memory.
func TestBuildIsDeterministic(t *testing.T) {
	t.Parallel()
	texts := fewTexts(90)
	texts.rows = slices.Concat(texts.rows, texts.rows[:20], texts.rows[:20])
	corners := dataset{metric: Euclidean} // of a cube: nearly every distance is a tie
	for i := range 500 {
		v := make([]float32, 16)
		for j := range v {
			v[j] = float32(i * 2654435761 >> (j + 3) & 1)
		}
		corners.rows = append(corners.rows, v)
	}
	for _, c := range []struct {
		name   string
		data   dataset
		memory int64
	}{{"texts", texts, 64 << 20}, {"texts in parts", texts, 128 << 10}, {"corners", corners, 64 << 20}} {
		var want map[string][]byte
		for _, workers := range []int{1, 4} {
			s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
			b := newTestBuild(t, s, "i", fewConfig(c.data), c.memory)
			b.opts.Workers = workers
			ix := runTestBuild(t, b, rowsOf(c.data.rows))
			got := map[string][]byte{"calibration": ix.row.Calibration}
			for _, name := range []string{postingsFile, refineFile, recordsFile, centroidsFile} {
				if bytes, err := os.ReadFile(ix.path(name)); err == nil || !errors.Is(err, os.ErrNotExist) {
					mustDo(t, err)
					got[name] = bytes
				}
			}
			mustClose(t, s)
			if want == nil {
				want = got
			}
			for name := range want {
				if !bytes.Equal(got[name], want[name]) {
					t.Errorf("%s: %s of %d workers differs from that of one", c.name, name, workers)
				}
			}
		}
	}
}

// TestLengthsOfVectors: cosine does not care how long vectors are, and one very
// long vector spoils dot for the others neither in recall nor in reads.
func TestLengthsOfVectors(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), Options{CacheBytes: -1})
	long := fewTexts(150)
	long.rows = slices.Clone(long.rows)
	for i, v := range long.rows {
		long.rows[i] = scaled(v, 0.1*float32(math.Pow(500, float64(i*37%150)/149))) // 0.1 to 50
	}
	outlier := realSets(t)[2].few(500, 20)
	outlier.metric, outlier.rows = Dot, slices.Clone(outlier.rows)
	outlier.rows[17] = scaled(outlier.rows[17], 1000)
	for _, d := range []dataset{long, outlier} {
		ix := mustBuild(t, s, d.name, fewConfig(d), d.rows)
		got, err := answersOf(ix, d, QueryOptions{SearchProbe: maxSearchProbe, RescoreLimit: maxSearchProbe})
		mustDo(t, err)
		for i, q := range d.queries {
			if want := exact(d.metric, d.rows, q, len(got[i])); !reflect.DeepEqual(got[i], want) {
				t.Errorf("%s, query %d: %v, want %v", d.name, i, got[i], want)
			}
		}
		recall, reads := recallAt(t, ix, d, 10, QueryOptions{RecallTarget: 0.9})
		t.Logf("%s: recall %.4f with %.1f reads of %d postings", d.name, recall, reads, ix.Stats().Postings)
		if recall < 0.88 || reads > 0.7*float64(ix.Stats().Postings) {
			t.Errorf("%s: recall %.4f with %.1f reads", d.name, recall, reads)
		}
	}
}
