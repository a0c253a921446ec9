package rq

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/rq/simd"
)

func TestCoderArguments(t *testing.T) {
	for _, d := range []int{-8, 0, 4, 12, 4112} {
		if _, err := NewCoder(d, 1); !errors.Is(err, ErrDimension) {
			t.Errorf("%d dimensions: error %v, want ErrDimension", d, err)
		}
	}
	for _, bits := range []int{-1, 0, 9} {
		if _, err := NewCoder(64, bits); !errors.Is(err, ErrBits) {
			t.Errorf("%d bits: error %v, want ErrBits", bits, err)
		}
	}
	c, err := NewCoder(4104, 3)
	if err != nil || c.D() != 4104 || c.Bits() != 3 || c.CodeSize() != 3*513 {
		t.Errorf("coder of 4104 dimensions and 3 bits: %v (D %d, Bits %d, CodeSize %d)", err, c.D(), c.Bits(), c.CodeSize())
	}
}

// decodeX reads the vector x back from a code: an independent reading of the layout.
func decodeX(c Coder, code []byte) []float64 {
	x := make([]float64, c.D())
	for j := range x {
		u := 0
		if c.Bits() == 8 {
			u = int(code[j])
		} else {
			for p := range c.Bits() {
				u |= int(code[p*c.D()/8+j/8]>>(j%8)&1) << p
			}
		}
		x[j] = float64(u) - (math.Pow(2, float64(c.Bits()))-1)/2
	}
	return x
}

// TestFactorsAreTheFormulas computes factors and estimates from the decoded code in
// float64, by the formulas of the package comment.
func TestFactorsAreTheFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, bits := 8*rapid.IntRange(1, 60).Draw(t, "D/8"), rapid.IntRange(1, 8).Draw(t, "bits")
		data := gaussianPosting(d, 2, rapid.Uint64().Draw(t, "seed"))
		if rapid.Bool().Draw(t, "uncentred") {
			data.center = nil
		}
		v, q := data.rows[0], data.rows[1]
		coder, err := NewCoder(d, bits)
		if err != nil {
			t.Fatal(err)
		}
		var ws Workspace
		code := make([]byte, coder.CodeSize())
		f := coder.Encode(code, v, data.center, &ws)

		x := decodeX(coder, code)
		var n2, rx, xx, cx, xq, norm1 float64
		for j := range x {
			r, c := float64(v[j]), 0.0
			if data.center != nil {
				r, c = float64(v[j]-data.center[j]), float64(data.center[j])
			}
			if r != 0 && (r > 0) != (x[j] > 0) {
				t.Fatalf("component %d: residual %v, code %v", j, r, x[j])
			}
			n2, rx, xx = n2+r*r, rx+r*x[j], xx+x[j]*x[j]
			cx, xq, norm1 = cx+c*x[j], xq+x[j]*float64(q[j]), norm1+math.Abs(x[j])
		}
		check := func(what string, got float32, want, tolerance float64) {
			if math.Abs(float64(got)-want) > tolerance {
				t.Fatalf("%s %v, want %v", what, got, want)
			}
		}
		rescale := -2 * n2 / rx
		check("Add", f.Add, n2+2*n2*cx/rx, 1e-6*(n2+math.Abs(2*n2*cx/rx)))
		check("Rescale", f.Rescale, rescale, 1e-6*-rescale)
		check("Error²", f.Error*f.Error, 4*n2*(n2*xx/(rx*rx)-1)/float64(d-1), 1e-6*n2)

		var query Query
		var est [1]float32
		query.Reset(q)
		qc2 := float32(distance(q, data.center))
		coder.Estimate(est[:], &query, qc2, code, []float32{f.Add}, []float32{f.Rescale}, &ws)
		// What rounding the query can do at worst, of the parts that are used.
		step := query.deltaHi
		if coder.needsLow(&query, qc2) {
			step = query.deltaLo
		}
		want := float64(f.Add) + float64(qc2) + float64(f.Rescale)*xq
		check("estimate", est[0], want, -rescale*norm1*float64(step)/2+1e-5)
	})
}

// TestUnbiased averages the estimate of one distance over many rotations.
func TestUnbiased(t *testing.T) {
	const d, rotations = 64, 3000
	data := gaussianPosting(d, 2, 11)
	for bits := 1; bits <= 8; bits++ {
		var sum, sumSq float64
		var q Query
		var ws Workspace
		coder, err := NewCoder(d, bits)
		if err != nil {
			t.Fatal(err)
		}
		code, est := make([]byte, coder.CodeSize()), make([]float32, 1)
		qc2, want := distance(data.rows[1], data.center), distance(data.rows[1], data.rows[0])
		for seed := range uint64(rotations) {
			r := rotation(t, d, seed)
			f := coder.Encode(code, rotate(r, data.rows[0]), rotate(r, data.center), &ws)
			q.Reset(rotate(r, data.rows[1]))
			coder.Estimate(est, &q, float32(qc2), code, []float32{f.Add}, []float32{f.Rescale}, &ws)
			e := float64(est[0]) - want
			sum, sumSq = sum+e, sumSq+e*e
		}
		mean := sum / rotations
		deviation := math.Sqrt(sumSq / rotations)
		if limit := 4 * deviation / math.Sqrt(rotations); math.Abs(mean) > limit {
			t.Errorf("%d bits: mean error %.2g of distance %.3f, want below %.2g (deviation %.2g)", bits, mean, want, limit, deviation)
		}
	}
}

// TestVectorIsCenter checks the degenerate residual: exact, and told to be.
func TestVectorIsCenter(t *testing.T) {
	for bits := 1; bits <= 8; bits++ {
		data := gaussianPosting(96, 2, 3)
		p := newPosting(t, vectors{center: data.center, rows: [][]float32{data.center}}, bits)
		if p.add[0] != 0 || p.rescale[0] != 0 || p.sigma[0] != 0 {
			t.Errorf("%d bits: factors %v %v %v, want zeros", bits, p.add[0], p.rescale[0], p.sigma[0])
		}
		est, _, qc2 := p.estimates(data.rows[0])
		if est[0] != float32(qc2) {
			t.Errorf("%d bits: estimate %v, want %v", bits, est[0], float32(qc2))
		}
	}
}

// TestMagnitudes checks that scale does not matter: where squares leave the range of
// float32 nothing becomes NaN or infinite, elsewhere the relative error stays.
func TestMagnitudes(t *testing.T) {
	for _, m := range []float64{1e-45, 1e-40, 1e-30, 1e-20, 1e-15, 1e-5, 1e5, 1e10, 1e15, 1e18} {
		for _, bits := range []int{1, 3, 8} {
			data := gaussianPosting(136, 9, 5)
			for _, v := range append(data.rows, data.center) {
				for j := range v {
					v[j] = float32(float64(v[j]) * m)
				}
			}
			q := data.rows[8]
			data.rows = data.rows[:8]
			p := newPosting(t, data, bits)
			est, exact, qc2 := p.estimates(q)
			for i := range est {
				for _, f := range []float32{est[i], p.add[i], p.rescale[i], p.sigma[i]} {
					if f != f || math.Abs(float64(f)) > math.MaxFloat32 {
						t.Fatalf("magnitude %g, %d bits: estimate %v, factors %v %v %v", m, bits, est[i], p.add[i], p.rescale[i], p.sigma[i])
					}
				}
				if m < 1e-15 || m > 1e15 {
					continue // squares of the components are not exact in float32
				}
				bound := 5 * float64(p.sigma[i]) * math.Sqrt(qc2)
				if e := math.Abs(float64(est[i]) - exact[i]); e > bound {
					t.Errorf("magnitude %g, %d bits: estimate %v of %v, five sigma are %v", m, bits, est[i], exact[i], bound)
				}
			}
		}
	}
}

// TestOpposedExtremes takes the greatest components allowed, with signs opposed.
func TestOpposedExtremes(t *testing.T) {
	for bits := 1; bits <= 8; bits++ {
		v, w := make([]float32, 4104), make([]float32, 4104)
		for j := range v {
			v[j], w[j] = 1e18, -1e18
		}
		p := newPosting(t, vectors{center: w, rows: [][]float32{v, w}}, bits)
		for _, q := range [][]float32{v, w} {
			var query Query
			query.Reset(q)
			est := make([]float32, 2)
			p.coder.Estimate(est, &query, math.MaxFloat32, p.codes, p.add, p.rescale, new(Workspace))
			for _, e := range est {
				if e != e || math.Abs(float64(e)) > math.MaxFloat32 {
					t.Errorf("%d bits: estimate %v", bits, e)
				}
			}
		}
	}
}

// TestScaleSearch compares the trials with a search a hundred times finer.
func TestScaleSearch(t *testing.T) {
	for bits := 2; bits <= 8; bits++ {
		for _, d := range []int{104, 384, 768, 1536} {
			coder, err := NewCoder(d, bits)
			if err != nil {
				t.Fatal(err)
			}
			var got, best float64
			x, u := make([]float32, d), make([]byte, d)
			for _, r := range gaussianPosting(d, 20, 9).rows {
				n2 := simd.SumSqF64(r)
				spread := func(xr, xx float64) float64 { return n2*xx/(xr*xr) - 1 }
				coder.quantize(u, x, r)
				got += spread(simd.DotF64(x, r), simd.SumSqF64(x))
				least := math.Inf(1)
				for i := range 100 * trials {
					t := (coder.top + 1) / simd.AbsMaxDiff(r, nil) * (0.5 + 2*float32(i)/(100*trials))
					simd.RoundCode(u, x, r, t, coder.top)
					least = min(least, spread(simd.DotF64(x, r), simd.SumSqF64(x)))
				}
				best += least
			}
			if got > 1.02*best {
				t.Errorf("%d bits, %d dimensions: variance %.3f times that of the fine search", bits, d, got/best)
			}
		}
	}
}

// TestRefineRecord measures the uncentred 8-bit code, which stands for the vector
// itself: the error of the inner product of unit vectors.
func TestRefineRecord(t *testing.T) {
	for d, want := range map[int]float64{768: 2.9e-4, 384: 3.8e-4, 1536: 2.2e-4} {
		data := gaussianPosting(d, 500, 21)
		data.center = nil
		for _, v := range data.rows {
			norm := math.Sqrt(dot(v, v))
			for j := range v {
				v[j] = float32(float64(v[j]) / norm)
			}
		}
		p := newPosting(t, data, 8)
		var sum float64
		for _, q := range data.rows[:10] {
			est, exact, _ := p.estimates(q)
			for i := range est {
				e := (float64(est[i]) - exact[i]) / 2 // ||q-v||² = 2 - 2<q,v>
				sum += e * e
			}
		}
		got := math.Sqrt(sum / 5000)
		t.Logf("%d dimensions: deviation of <q,v> %.3g", d, got)
		if got > want {
			t.Errorf("%d dimensions: deviation of <q,v> %.3g, want at most %.3g", d, got, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, bits := range []int{1, 2, 5, 8} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			p := newPosting(t, gaussianPosting(104, 50, 1), bits)
			r := rotation(t, 100, 1)
			var q Query
			var ws Workspace
			dst, v := make([]float32, 50), make([]float32, 104)
			work := func() {
				r.Apply(v, p.center[:100])
				q.Reset(v)
				p.coder.Encode(p.codes[:p.coder.CodeSize()], v, p.center, &ws)
				p.coder.Estimate(dst, &q, 1, p.codes, p.add, p.rescale, &ws)
			}
			work() // warms the workspace
			if n := testing.AllocsPerRun(20, work); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
