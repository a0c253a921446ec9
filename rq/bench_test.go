package rq

import (
	"fmt"
	"testing"
)

// entries is the number of entries of a typical posting.
const entries = 350

func BenchmarkEstimate(b *testing.B) {
	for _, shape := range []struct{ d, bits int }{{768, 1}, {384, 2}, {128, 8}, {104, 8}, {256, 3}} {
		p := newPosting(b, gaussianPosting(shape.d, entries, 1), shape.bits)
		var q Query
		var ws Workspace
		q.Reset(gaussianPosting(shape.d, 1, 2).rows[0])
		dst := make([]float32, entries)
		b.Run(fmt.Sprintf("%dx%d", shape.d, shape.bits), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.coder.Estimate(dst, &q, 1, p.codes, p.add, p.rescale, &ws)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, shape := range []struct{ d, bits int }{{768, 1}, {384, 2}, {256, 3}, {128, 8}, {384, 8}, {768, 8}} {
		data := gaussianPosting(shape.d, 64, 1)
		coder, err := NewCoder(shape.d, shape.bits)
		if err != nil {
			b.Fatal(err)
		}
		code := make([]byte, coder.CodeSize())
		var ws Workspace
		b.Run(fmt.Sprintf("%dx%d", shape.d, shape.bits), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				coder.Encode(code, data.rows[i%64], data.center, &ws)
			}
		})
	}
}

func BenchmarkRotation(b *testing.B) {
	for _, d := range []int{100, 128, 384, 768, 960, 1536, 4096} {
		r, err := NewRotation(d, 1)
		if err != nil {
			b.Fatal(err)
		}
		src, dst := gaussianPosting(r.D(), 1, 3).rows[0][:d], make([]float32, r.D())
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Apply(dst, src)
			}
		})
	}
}

func BenchmarkQueryReset(b *testing.B) {
	for _, d := range []int{128, 384, 768} {
		v := gaussianPosting(d, 1, 3).rows[0]
		var q Query
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q.Reset(v)
			}
		})
	}
}

func BenchmarkCentroidDistances(b *testing.B) {
	const n = 4000
	for _, shape := range []struct{ d, bits int }{{768, 4}, {768, 8}, {384, 8}, {128, 8}} {
		coder, err := NewCentroidCoder(shape.d, shape.bits)
		if err != nil {
			b.Fatal(err)
		}
		data := gaussianPosting(shape.d, 64, 1)
		codes, scale, normSq := make([]byte, n*coder.CodeSize()), make([]float32, n), make([]float32, n)
		for i := range n {
			scale[i], normSq[i] = coder.EncodeParts(codes[i*coder.CodeSize():][:coder.CodeSize()], data.rows[i%64])
		}
		var q Query
		var ws Workspace
		q.Reset(data.rows[1])
		dst := make([]float32, n)
		b.Run(fmt.Sprintf("%dx%d", shape.d, shape.bits), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				coder.Distances(dst, &q, codes, scale, normSq, &ws)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/centroid")
		})
	}
}
