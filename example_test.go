package sprat_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/spratdb/sprat"
)

// Open a store, load an index from an iterator, ask it for the nearest vectors.
func Example() {
	dir, err := os.MkdirTemp("", "sprat-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sprat.Open(dir, sprat.Options{MemoryLimit: 256 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	places := []sprat.Record{
		{Key: "harbour", Vector: []float32{0.9, 0.1, 0.2}, Metadata: []byte(`{"boats": 12}`)},
		{Key: "quay", Vector: []float32{0.8, 0.2, 0.1}},
		{Key: "meadow", Vector: []float32{0.1, 0.9, 0.3}},
	}
	rows := func(yield func(sprat.Record, error) bool) {
		for _, r := range places {
			if !yield(r, nil) {
				return
			}
		}
	}
	ctx := context.Background()
	index, stats, err := store.Build(ctx, "maps", "places",
		sprat.IndexConfig{Dimension: 3, Metric: sprat.Cosine}, rows, sprat.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Vectors, "vectors in", index.Name())

	result, err := index.Query(ctx, []float32{1, 0, 0}, 2, sprat.QueryOptions{Metadata: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range result.Matches {
		fmt.Printf("%s at %.3f %s\n", m.Key, m.Distance, m.Metadata)
	}
	// Output:
	// 3 vectors in maps/places
	// harbour at 0.030 {"boats": 12}
	// quay at 0.037
}
