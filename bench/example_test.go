package bench_test

import (
	"context"
	"fmt"

	"github.com/spratdb/sprat/bench"
)

// The exact neighbours of two queries, and the recall of an answer to them.
func ExampleTruth() {
	ids, dist, err := bench.Truth(context.Background(), bench.TruthConfig{
		Base:    func() (bench.Reader, error) { return bench.Open("testdata/list.parquet") },
		Queries: [][]float32{{0, 0, 0, 0}, {5, 5, 5, 5}},
		Metric:  bench.Euclidean,
		K:       2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ids.Row(0), ids.Row(1))
	fmt.Println(dist.Row(0), dist.Row(1))

	// An engine answers squared distances. It missed the second row of query 1.
	answers := [][]float64{{0.0546875, 4.8046875}, {0.0546875, 4.8046875}}
	for _, a := range answers {
		for i := range a {
			a[i] = bench.TruthDistance(bench.Euclidean, a[i])
		}
	}
	fmt.Println(bench.Recall(answers, dist, 2))
	// Output:
	// [0 1] [5 4]
	// [0.2338536 2.1919599] [0.2338536 1.8178799]
	// 0.75 <nil>
}
