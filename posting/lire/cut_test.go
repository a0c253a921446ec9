package lire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

// cloud is n members in clusters, of which every fourth is primary.
func cloud(seed uint64, n, d, clusters int) Members {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := Members{D: d, Vectors: make([]float32, n*d), Primary: make([]bool, n)}
	centres := make([]float32, clusters*d)
	for i := range centres {
		centres[i] = float32(rng.NormFloat64())
	}
	for i := range n {
		m.Primary[i] = i%4 == 0
		c := rng.IntN(clusters)
		for j := range d {
			m.Vectors[i*d+j] = centres[c*d+j] + float32(rng.NormFloat64())/2
		}
	}
	return m
}

func limits(target int) Limits {
	return Limits{Target: target, Split: target * 3 / 2, Merge: max(1, target/6), Fold: max(1, target/8)}
}

// checkCut: every member once, within the limits, at its nearest centroid, and the
// centroid is what its code says.
func checkCut(t interface{ Fatalf(string, ...any) }, m Members, bits int, l Limits, parts []Part) {
	n := len(m.Primary)
	seen := make([]int, n)
	coder, err := rq.NewCentroidCoder(m.D, bits)
	if err != nil {
		t.Fatalf("%v", err)
	}
	_, cents := Children(parts, n)
	for at, p := range parts {
		if len(p.Members) == 0 || len(p.Members) > l.Split || !slices.IsSorted(p.Members) {
			t.Fatalf("part %d of %d has %d members, limit %d", at, len(parts), len(p.Members), l.Split)
		}
		decoded := make([]float32, m.D)
		coder.DecodeParts(decoded, p.Centroid.Code, p.Centroid.Scale)
		if !slices.Equal(decoded, p.Decoded) {
			t.Fatalf("part %d is not at the centroid of its code", at)
		}
		if norm := simd.DotF32(decoded, decoded); math.Abs(float64(norm-p.Centroid.NormSq)) > 1e-4*float64(norm) {
			t.Fatalf("part %d has norm² %v, want %v", at, p.Centroid.NormSq, norm)
		}
		for _, i := range p.Members {
			seen[i]++
			v := m.Vectors[i*m.D:][:m.D]
			if _, best := nearest(v, cents); simd.L2F32(v, p.Decoded) != best {
				t.Fatalf("member %d is in part %d, which is not the nearest", i, at)
			}
		}
	}
	for i, times := range seen {
		if times != 1 {
			t.Fatalf("member %d is in %d parts", i, times)
		}
	}
	if n > 1 && len(parts) < 2 {
		t.Fatalf("%d members in %d parts", n, len(parts))
	}
}

func TestCutProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(rt, "n")
		d := 8 * rapid.IntRange(1, 4).Draw(rt, "d/8")
		m := cloud(rapid.Uint64().Draw(rt, "seed"), n, d, rapid.IntRange(1, 6).Draw(rt, "clusters"))
		// Some members are equal, some far away, and primaries are as they come.
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "shapes"), 2))
		equal := rapid.IntRange(0, n).Draw(rt, "equal")
		for i := range equal {
			copy(m.Vectors[i*d:][:d], m.Vectors[:d])
		}
		for range rapid.IntRange(0, 3).Draw(rt, "outliers") {
			m.Vectors[rng.IntN(len(m.Vectors))] = float32(rng.NormFloat64() * 1e4)
		}
		for i := range m.Primary {
			m.Primary[i] = rng.IntN(3) == 0
		}
		bits := rapid.SampledFrom([]int{4, 8}).Draw(rt, "bits")
		l := limits(rapid.IntRange(1, 200).Draw(rt, "target"))
		parts, err := Cut(context.Background(), m, bits, l, 7)
		if err != nil {
			rt.Fatal(err)
		}
		checkCut(rt, m, bits, l, parts)
		again, err := Cut(context.Background(), m, bits, l, 7)
		if err != nil || !reflect.DeepEqual(parts, again) {
			rt.Fatalf("a second cut differs: %v", err)
		}
	})
}

// TestCutSizes: of well-behaved data the parts are near the target, at any k.
func TestCutSizes(t *testing.T) {
	for _, c := range []struct{ n, target, minParts, maxParts int }{
		{360, 240, 2, 2}, {1000, 240, 4, 9}, {6000, 60, 90, 200},
	} {
		m, l := cloud(3, c.n, 32, 20), limits(c.target)
		parts, err := Cut(context.Background(), m, 8, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		checkCut(t, m, 8, l, parts)
		small := 0
		for _, p := range parts {
			if len(p.Members) < l.Merge {
				small++
			}
		}
		if len(parts) < c.minParts || len(parts) > c.maxParts || small > 0 {
			t.Errorf("%d members: %d parts, %d too small", c.n, len(parts), small)
		}
	}
}

// TestCutDuplicates: equal vectors are divided by count, and none is lost.
func TestCutDuplicates(t *testing.T) {
	m := cloud(1, 100, 16, 1)
	for i := range 100 {
		copy(m.Vectors[i*16:][:16], m.Vectors[:16])
	}
	parts, err := Cut(context.Background(), m, 8, limits(30), 1)
	if err != nil {
		t.Fatal(err)
	}
	checkCut(t, m, 8, limits(30), parts)
	if len(parts) != 4 {
		t.Errorf("%d parts, want 4", len(parts))
	}
	for _, p := range parts {
		if !slices.Equal(p.Decoded, parts[0].Decoded) || len(p.Members) != 25 {
			t.Errorf("a part of %d members, or at another centroid", len(p.Members))
		}
	}
	part, children := Children(parts, 100)
	if wrong := Check(m, part, children, children); wrong != nil {
		t.Errorf("%d members would move between equal centroids", len(wrong))
	}
}

// TestCutPeelsOutliers: a few far vectors do not keep the rest from being divided
// where it is divisible.
func TestCutPeelsOutliers(t *testing.T) {
	m := cloud(5, 600, 16, 2)
	for i := range 12 {
		for j := range 16 {
			m.Vectors[i*50*16+j] += 1000
		}
	}
	l := limits(390)
	parts, err := Cut(context.Background(), m, 8, l, 1)
	if err != nil {
		t.Fatal(err)
	}
	checkCut(t, m, 8, l, parts)
	if len(parts) != 2 || slices.Equal(parts[0].Decoded, parts[1].Decoded) ||
		len(parts[0].Members) < 150 || len(parts[1].Members) < 150 {
		t.Errorf("%d parts, the first of %d", len(parts), len(parts[0].Members))
	}
}

func TestCutRefuses(t *testing.T) {
	good := cloud(1, 10, 8, 1)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	cases := map[string]struct {
		ctx  context.Context
		m    Members
		bits int
		l    Limits
		want error
	}{
		"dimension": {context.Background(), Members{D: 7}, 8, limits(4), rq.ErrDimension},
		"bits":      {context.Background(), good, 5, limits(4), rq.ErrBits},
		"lengths":   {context.Background(), Members{8, good.Vectors[1:], good.Primary}, 8, limits(4), ErrShape},
		"target":    {context.Background(), good, 8, Limits{}, ErrShape},
		"split":     {context.Background(), good, 8, Limits{Target: 4, Split: 3}, ErrShape},
		"ended":     {ended, good, 8, limits(4), context.Canceled},
	}
	for name, c := range cases {
		if _, err := Cut(c.ctx, c.m, c.bits, c.l, 1); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if parts, err := Cut(context.Background(), Members{D: 8}, 8, limits(4), 1); err != nil || parts != nil {
		t.Errorf("no members give %v, %v", parts, err)
	}
}

// TestCutSurvivesNonsense: vectors that are not finite are still in one part each.
func TestCutSurvivesNonsense(t *testing.T) {
	m := cloud(1, 60, 8, 2)
	for i, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, -math.MaxFloat32} {
		m.Vectors[i*9] = float32(x)
	}
	l := limits(20)
	parts, err := Cut(context.Background(), m, 8, l, 1)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range parts {
		seen += len(p.Members)
		if len(p.Members) > l.Split {
			t.Errorf("a part of %d members", len(p.Members))
		}
	}
	if seen != 60 {
		t.Errorf("%d members in all parts", seen)
	}
}

func BenchmarkCut(b *testing.B) {
	for _, c := range []struct{ n, d, target int }{{360, 384, 240}, {360, 768, 240}, {20000, 384, 300}} {
		m := cloud(1, c.n, c.d, 4)
		b.Run(fmt.Sprintf("%dx%d", c.n, c.d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parts, err := Cut(context.Background(), m, 8, limits(c.target), 1)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(parts)), "parts")
			}
		})
		for i := range m.Primary {
			m.Primary[i] = true
		}
		b.Run(fmt.Sprintf("%dx%dprimary", c.n, c.d), func(b *testing.B) {
			for b.Loop() {
				if _, err := Cut(context.Background(), m, 8, limits(c.target), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	m := cloud(1, 360, 384, 4)
	parts, err := Cut(context.Background(), m, 8, limits(240), 1)
	if err != nil {
		b.Fatal(err)
	}
	part, children := Children(parts, 360)
	neighbours := cloud(2, 64, 384, 4).Vectors
	for b.Loop() {
		Check(m, part, children, neighbours)
	}
}
