// Package ops serves what operators and their tools ask of a running server: whether it
// lives and is ready, and its figures for Prometheus.
//
// It owns three routes and the names of the metrics:
//
//   - /healthz answers 200 while the process lives;
//   - /readyz answers 200 while calls are served, and 503 with the reason otherwise;
//   - /metrics has every figure of sprat.StoreStats, names sprat_..., and what else is
//     in the registry. A figure without a number is a label, or a 1 where it is there.
//
// Metric names keep their meaning from release to release. The routes ask for no
// password and change nothing: listen on loopback or on a network of one's own.
//
// A Handler may be used by any number of goroutines.
//
// May import: .
package ops
