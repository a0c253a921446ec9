package rq_test

import (
	"fmt"
	"math"

	"github.com/spratdb/sprat/rq"
)

// Rotate, encode with two bits a dimension relative to a center, and estimate the
// distance of a query from the code alone.
func Example() {
	vector, query := make([]float32, 100), make([]float32, 100)
	for i := range vector {
		vector[i], query[i] = float32(math.Sin(float64(i))), float32(math.Cos(float64(i*i)))
	}

	rotation, err := rq.NewRotation(len(vector), 42)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := rotation.D()
	v, q, center := make([]float32, d), make([]float32, d), make([]float32, d)
	rotation.Apply(v, vector)
	rotation.Apply(q, query)

	coder, err := rq.NewCoder(d, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	var ws rq.Workspace
	code := make([]byte, coder.CodeSize())
	f := coder.Encode(code, v, center, &ws)

	var rotated rq.Query
	rotated.Reset(q)
	qc2 := rotated.NormSq() // the center is the origin here
	estimate := make([]float32, 1)
	coder.Estimate(estimate, &rotated, qc2, code, []float32{f.Add}, []float32{f.Rescale}, &ws)
	sigma := float64(f.Error) * math.Sqrt(float64(qc2))

	var exact float64
	for i := range vector {
		exact += math.Pow(float64(vector[i]-query[i]), 2)
	}
	fmt.Printf("%d bytes, distance² %.1f, estimate %.1f ± %.1f\n", len(code), exact, estimate[0], sigma)
	// Output: 26 bytes, distance² 101.5, estimate 100.8 ± 4.0
}
