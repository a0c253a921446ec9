package centroids

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSelectorKeepsTheSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dist := rapid.SliceOfN(rapid.SampledFrom([]float32{0, 1, 1.5, 2, 3, 1e-40, math.MaxFloat32}), 1, 600).Draw(t, "dist")
		if rapid.Bool().Draw(t, "random") {
			dist = rapid.SliceOfN(rapid.Float32Range(0, 10), 1, 600).Draw(t, "dist")
		}
		want := rapid.IntRange(1, len(dist)).Draw(t, "want")
		batch := rapid.IntRange(1, len(dist)).Draw(t, "batch")

		var s selector
		s.reset(want, len(dist))
		ids, all := make([]uint32, len(dist)), make([]Neighbor, len(dist))
		for i, d := range dist {
			ids[i] = uint32(i*7919) % 65537 // all different
			all[i] = Neighbor{int32(i), ids[i], d}
		}
		for lo := 0; lo < len(dist); lo += batch {
			hi := min(lo+batch, len(dist))
			s.offer(dist[lo:hi], ids[lo:hi], int32(lo))
		}
		got := s.appendSorted(nil)
		slices.SortFunc(all, byDistance)
		if !slices.Equal(got, all[:want]) {
			t.Fatalf("got %v, want %v", got, all[:want])
		}
	})
}

// byDistance is the order of Nearest.
func byDistance(a, b Neighbor) int {
	switch {
	case a.DistSq < b.DistSq:
		return -1
	case a.DistSq > b.DistSq:
		return 1
	default:
		return int(int64(a.ID) - int64(b.ID))
	}
}

func TestSelectorPutsNaNLast(t *testing.T) {
	var s selector
	s.reset(2, 3)
	nan := float32(math.NaN())
	s.offer([]float32{nan, 5, math.MaxFloat32}, []uint32{1, 2, 3}, 0)
	if got := s.appendSorted(nil); len(got) != 2 || got[0].ID != 2 || got[1].ID != 3 {
		t.Errorf("got %v", got)
	}
}

func TestQuickselect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Uint64Range(0, 20), 1, 100).Draw(t, "keys")
		k := rapid.IntRange(0, len(keys)-1).Draw(t, "k")
		c := make([]candidate, len(keys))
		for i, key := range keys {
			c[i] = candidate{key, int32(i)}
		}
		quickselect(c, k)
		slices.Sort(keys)
		if c[k].key != keys[k] {
			t.Fatalf("rank %d is %d, want %d", k, c[k].key, keys[k])
		}
		for i, have := range c {
			if (i < k && have.key > keys[k]) || (i > k && have.key < keys[k]) {
				t.Fatalf("%d at %d is on the wrong side of %d at %d", have.key, i, keys[k], k)
			}
		}
	})
}
