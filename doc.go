// Package sprat is a vector search engine that lives on block storage: quantized
// centroids stay in memory, 1-bit postings and full vectors lie on an NVMe or EBS
// volume and are read, few and together, at high queue depth.
//
// This package is the API for embedding. It owns the store (a directory), its
// buckets and indexes, the bulk build, live writes with the maintenance behind
// them, and the query path; the packages below it
// own the parts: centroids, posting, rescore, rq and iopath. It promises that
//
//   - a Store, a Bucket name and an Index may be used by any number of goroutines;
//   - answers carry exact distances and are ordered by them, ties by key, the same
//     on every run, I/O engine and machine;
//   - a write is durable and visible when its call returns, all of it or nothing,
//     and a reader sees each key's old vector or its new one, whole;
//   - bad input gives an *InputError and changes nothing, a damaged byte gives a
//     *CorruptionError with its place and disturbs no other index;
//   - after Close no goroutine, descriptor or mapping of the store is left;
//   - it never logs except through the slog.Logger it is given, and never exits.
//
// # Words
//
// A posting is the list of the vectors near one centroid. A probe is the reading of
// one posting. A copy is an entry of a vector in a posting that is not its nearest.
// Rescoring replaces estimated distances by better ones: refined (8-bit) or exact. A
// slot is where a vector's records lie; sixteen neighbours are a run. Records land in
// a segment and go home to their slots when their posting is folded: its delta, the
// entries in memory and catalog, written into its extent. An extent is a contiguous range of a file. A
// wave is a set of reads submitted together. Recall@k is the share of the true k
// nearest that an answer holds.
//
// # Cost
//
// A block volume sells operations, so every answer carries a Work: its reads, bytes,
// waves, probes and the time it computed. QPS <= IOPS / reads, and QPS <= throughput / bytes.
//
// May import: centroids, posting, posting/lire, rescore, rq, rq/simd, iopath, internal/archive, internal/catalog, internal/cow, internal/diskfile, internal/arena, internal/filter, internal/filterindex
package sprat
