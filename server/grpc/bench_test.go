package grpc_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
)

// BenchmarkQuery asks the same queries of the library and over loopback, in turns, and
// reports the medians and what gRPC adds, in microseconds. The server has all its
// interceptors at work.
func BenchmarkQuery(b *testing.B) {
	const dimension, n, k = 384, 5000, 10
	store := newStore(b)
	random := rand.New(rand.NewPCG(1, 2))
	vector := func() []float32 {
		v := make([]float32, dimension)
		for i := range v {
			v[i] = random.Float32() - 0.5
		}
		return v
	}
	rows := func(yield func(sprat.Record, error) bool) {
		for i := 0; i < n && yield(sprat.Record{Key: fmt.Sprint(i), Vector: vector()}, nil); i++ {
		}
	}
	ix, _, err := store.Build(b.Context(), "b", "i", sprat.IndexConfig{Dimension: dimension, Metric: sprat.Cosine}, rows, sprat.BuildOptions{})
	must(b, err)
	server, err := spratgrpc.New(store, spratgrpc.Options{Tokens: tokenList(b), Rate: 1e6, Registry: prometheus.NewRegistry()})
	must(b, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	go func() { _ = server.Serve(listener) }() // ends with Drain
	defer func() { must(b, server.Drain(b.Context())) }()
	c, err := client.New(listener.Addr().String(), client.Options{Token: readToken})
	must(b, err)
	defer c.Close()

	var library, remote []time.Duration
	queries := make([][]float32, 100)
	for i := range queries {
		queries[i] = vector()
	}
	for i := 0; b.Loop(); i++ {
		q := queries[i%len(queries)]
		begin := time.Now()
		_, err := ix.Query(b.Context(), q, k, sprat.QueryOptions{})
		must(b, err)
		between := time.Now()
		_, err = c.Query(b.Context(), "b", "i", q, k, sprat.QueryOptions{})
		must(b, err)
		library, remote = append(library, between.Sub(begin)), append(remote, time.Since(between))
	}
	median := func(d []time.Duration) float64 { slices.Sort(d); return float64(d[len(d)/2]) / 1e3 }
	l, r := median(library), median(remote)
	b.ReportMetric(l, "library-p50-µs")
	b.ReportMetric(r, "grpc-p50-µs")
	b.ReportMetric(r-l, "overhead-p50-µs")
}
