package main

import (
	"runtime/metrics"

	"github.com/spratdb/sprat"
)

// memoryShares are the bytes that the parts of a store and of the process hold:
// those of StoreStats, and the Go heap and read buffers beside them.
func memoryShares(st *sprat.StoreStats) map[string]int64 {
	shares := map[string]int64{"limit": st.MemoryLimit, "buffers": st.Volume.BufferMapped, "go_heap": heapBytes()}
	for name, bytes := range st.Memory {
		shares[name] = bytes
	}
	return shares
}

// heapBytes is what live and not yet collected objects of the Go heap take.
func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
