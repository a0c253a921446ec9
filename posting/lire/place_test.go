package lire

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

func newPlacer(m Members) (*placer, []int32) {
	rows := make([]int32, len(m.Primary))
	for i := range rows {
		rows[i] = int32(i)
	}
	return &placer{ctx: context.Background(), d: m.D, vectors: m.Vectors, rng: rand.New(rand.NewPCG(1, 0))}, rows
}

// TestHalveIsBalanced: both sides get their least share, however skewed the data,
// and the rows are only reordered.
func TestHalveIsBalanced(t *testing.T) {
	for _, n := range []int{2, 3, 10, 100, 333} {
		for _, far := range []int{0, 1, n / 10, n / 2} {
			m := cloud(uint64(n), n, 8, 1)
			for i := range far {
				m.Vectors[i*8] += 100
			}
			p, rows := newPlacer(m)
			left := p.halve(rows)
			if least := max(1, int(minShare*float64(n))); left < least || n-left < least {
				t.Errorf("%d rows, %d of them far: %d on the left", n, far, left)
			}
			slices.Sort(rows)
			if len(slices.Compact(rows)) != n {
				t.Errorf("%d rows: some are gone", n)
			}
		}
	}
}

// TestHalveFindsClusters: two clusters within the balance are told apart.
func TestHalveFindsClusters(t *testing.T) {
	m := cloud(1, 100, 8, 1)
	for i := range 40 {
		m.Vectors[i*8] += 100
	}
	p, rows := newPlacer(m)
	left := p.halve(rows)
	for at, i := range rows {
		if (i < 40) != (rows[0] < 40) == (at < left) {
			t.Fatalf("row %d is at %d, %d on the left", i, at, left)
		}
	}
	if left != 40 && left != 60 {
		t.Errorf("%d on the left", left)
	}
}

func TestPlaceOfEqualRows(t *testing.T) {
	m := cloud(1, 10, 8, 1)
	for i := range 10 {
		copy(m.Vectors[i*8:][:8], m.Vectors[:8])
	}
	p, rows := newPlacer(m)
	for n, want := range map[int]int{0: 0, 1: 8, 10: 8} {
		if cents, err := p.place(rows[:n], 3); err != nil || len(cents) != want {
			t.Errorf("%d equal rows give %d floats, %v", n, len(cents), err)
		}
	}
}
