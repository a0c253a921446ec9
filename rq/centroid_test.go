package rq

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func centroidCoder(t testing.TB, d, bits int) CentroidCoder {
	t.Helper()
	c, err := NewCentroidCoder(d, bits)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCentroidCoderArguments(t *testing.T) {
	for _, bits := range []int{0, 1, 5, 16} {
		if _, err := NewCentroidCoder(64, bits); !errors.Is(err, ErrBits) {
			t.Errorf("%d bits: error %v, want ErrBits", bits, err)
		}
	}
	if _, err := NewCentroidCoder(12, 4); !errors.Is(err, ErrDimension) {
		t.Errorf("12 dimensions: error %v, want ErrDimension", err)
	}
	if c := centroidCoder(t, 104, 4); c.Size() != 4+52 || c.CodeSize() != 52 || c.D() != 104 || c.Bits() != 4 {
		t.Errorf("104 dimensions of 4 bits: Size %d, CodeSize %d, D %d, Bits %d", c.Size(), c.CodeSize(), c.D(), c.Bits())
	}
}

// TestCentroidError measures ||v - decoded||/||v||. For Gaussian components 16
// levels leave 0.107 and 256 levels 0.0076.
func TestCentroidError(t *testing.T) {
	for bits, want := range map[int]float64{4: 0.107, 8: 0.0078} {
		for _, d := range []int{104, 384, 768, 1536} {
			c := centroidCoder(t, d, bits)
			code, back := make([]byte, c.Size()), make([]float32, d)
			var lost, all float64
			for _, v := range gaussianPosting(d, 50, 1).rows {
				c.Encode(code, v)
				c.Decode(back, code)
				lost += distance(v, back)
				all += dot(v, v)
			}
			got := math.Sqrt(lost / all)
			t.Logf("%d bits, %d dimensions: relative error %.5f", bits, d, got)
			if got > 1.03*want {
				t.Errorf("%d bits, %d dimensions: relative error %.5f, want at most %.5f", bits, d, got, want)
			}
		}
	}
}

// TestCentroidPartsAgree checks that both forms decode to the same centroid, that
// its norm is as told, and that encoding it again gives it back.
func TestCentroidPartsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := 8 * rapid.IntRange(1, 100).Draw(t, "D/8")
		bits := rapid.SampledFrom([]int{4, 8}).Draw(t, "bits")
		c, err := NewCentroidCoder(d, bits)
		if err != nil {
			t.Fatal(err)
		}
		v := gaussianPosting(d, 1, rapid.Uint64().Draw(t, "seed")).rows[0]
		whole, code := make([]byte, c.Size()), make([]byte, c.CodeSize())
		c.Encode(whole, v)
		scale, normSq := c.EncodeParts(code, v)
		a, b := make([]float32, d), make([]float32, d)
		c.Decode(a, whole)
		c.DecodeParts(b, code, scale)
		if distance(a, b) != 0 {
			t.Fatal("Decode and DecodeParts differ")
		}
		if want := dot(a, a); math.Abs(float64(normSq)-want) > 1e-6*want {
			t.Fatalf("squared norm %v, want %v", normSq, want)
		}
		if e, limit := distance(a, v), dot(v, v); e > limit {
			t.Fatalf("decoded centroid is %v away from a vector of squared norm %v", e, limit)
		}
	})
}

func TestCentroidDistances(t *testing.T) {
	for _, c := range []struct {
		d, bits   int
		deviation float64 // of the distance, in units of ||q||·||c||/sqrt(D)
	}{{768, 4, 0.02}, {128, 4, 0.02}, {104, 4, 0.02}, {768, 8, 5e-4}, {384, 8, 5e-4}, {104, 8, 5e-4}} {
		t.Run(fmt.Sprintf("%dx%d", c.d, c.bits), func(t *testing.T) {
			const n = 300
			coder := centroidCoder(t, c.d, c.bits)
			data := gaussianPosting(c.d, n+20, 5)
			codes, scale, normSq := make([]byte, n*coder.CodeSize()), make([]float32, n), make([]float32, n)
			for i := range n {
				scale[i], normSq[i] = coder.EncodeParts(codes[i*coder.CodeSize():], data.rows[i])
			}
			var q Query
			var ws Workspace
			dst, decoded := make([]float32, n), make([]float32, c.d)
			var sum float64
			for _, v := range data.rows[n:] {
				q.Reset(v)
				coder.Distances(dst, &q, codes, scale, normSq, &ws)
				for i, got := range dst {
					coder.DecodeParts(decoded, codes[i*coder.CodeSize():], scale[i])
					e := (float64(got) - distance(v, decoded)) / math.Sqrt(dot(v, v)*dot(decoded, decoded)/float64(c.d))
					sum += e * e
				}
			}
			got := math.Sqrt(sum / (n * 20))
			t.Logf("deviation %.5f·||q||·||c||/sqrt(D)", got)
			if got > c.deviation {
				t.Errorf("deviation %.5f, want at most %.5f", got, c.deviation)
			}
		})
	}
}

func TestCentroidExtremes(t *testing.T) {
	for _, bits := range []int{4, 8} {
		c := centroidCoder(t, 24, bits)
		for _, m := range []float32{0, math.SmallestNonzeroFloat32, 1e-40, 1e-20, 1e15, 1e18} {
			v, back, code := make([]float32, 24), make([]float32, 24), make([]byte, c.CodeSize())
			for i := range v {
				v[i] = m * float32(i%5-2) / 2
			}
			scale, normSq := c.EncodeParts(code, v)
			c.DecodeParts(back, code, scale)
			if normSq < 0 || !(normSq <= maxSquare) {
				t.Errorf("%d bits, components of %g: squared norm %g", bits, m, normSq)
			}
			for i, x := range back {
				if e := math.Abs(float64(x - v[i])); !(e <= float64(m)*0.25) && m > 1e-40 {
					t.Errorf("%d bits: component %g becomes %g", bits, v[i], x)
				}
			}
			if m == 0 && dot(back, back) != 0 {
				t.Errorf("%d bits: the zero vector becomes %v", bits, back)
			}
		}
	}
}

// FuzzCentroidDecode decodes arbitrary bytes: any code of the right size decodes
// to the components that its bytes say.
func FuzzCentroidDecode(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 1, 254, 255})
	f.Add([]byte{0, 0, 192, 127, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, bits := range []int{4, 8} {
			d := (len(data) - centroidHeader) * 8 / bits &^ 7
			c, err := NewCentroidCoder(d, bits)
			if err != nil {
				continue
			}
			dst := make([]float32, d)
			c.Decode(dst, data)
			c.DecodeParts(dst, data[centroidHeader:], 1)
			for i, x := range dst {
				u := float64(x) + float64(c.coder.mid())/2
				if u != math.Trunc(u) || u < 0 || u > float64(c.coder.mid()) {
					t.Fatalf("%d bits: component %d at scale 1 is %v", bits, i, x)
				}
			}
		}
	})
}
