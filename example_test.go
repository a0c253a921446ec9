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

// A query may say how much it wants and what it may cost, and is told what it
// did cost.
func ExampleIndex_Query() {
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

	rows := func(yield func(sprat.Record, error) bool) {
		for i := range 1000 {
			r := sprat.Record{Key: fmt.Sprintf("point-%03d", i), Vector: []float32{float32(i % 40), float32(i / 40)}}
			if !yield(r, nil) {
				return
			}
		}
	}
	ctx := context.Background()
	index, _, err := store.Build(ctx, "maps", "points",
		sprat.IndexConfig{Dimension: 2, Metric: sprat.Euclidean}, rows, sprat.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}

	result, err := index.Query(ctx, []float32{7.2, 3.1}, 3, sprat.QueryOptions{RecallTarget: 0.99, MaxReads: 20})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range result.Matches {
		fmt.Printf("%s at %.2f\n", m.Key, m.Distance)
	}
	fmt.Println("within its budget:", result.Work.Reads <= 20 && !result.Partial)
	// Output:
	// point-127 at 0.05
	// point-128 at 0.65
	// point-167 at 0.85
	// within its budget: true
}

// Put, replace and delete vectors while the index serves; list what is there.
func ExampleIndex_Put() {
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
	ctx := context.Background()
	index, err := store.CreateIndex(ctx, "maps", "places", sprat.IndexConfig{Dimension: 3, Metric: sprat.Cosine})
	if err != nil {
		log.Fatal(err)
	}
	err = index.Put(ctx, []sprat.Record{
		{Key: "harbour", Vector: []float32{0.9, 0.1, 0.2}, Metadata: []byte(`{"boats":12}`)},
		{Key: "meadow", Vector: []float32{0.1, 0.9, 0.3}},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = index.Put(ctx, []sprat.Record{{Key: "harbour", Vector: []float32{0.9, 0.1, 0.2}, Metadata: []byte(`{"boats":13}`)}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := index.Delete(ctx, []string{"meadow"}); err != nil {
		log.Fatal(err)
	}
	page, err := index.List(ctx, sprat.ListOptions{Fields: sprat.Fields{Metadata: true}})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range page.Records {
		fmt.Println(r.Key, string(r.Metadata))
	}
	// Output: harbour {"boats":13}
}
