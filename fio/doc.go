// Package fio calibrates a volume: it measures what the volume gives through the
// engine's own read path, has the program fio measure the same beside it, and
// derives from both, and from real queries of an index, what the volume allows.
//
// # What is measured
//
// [Run] reads at random, aligned offsets of a file of random bytes that it has
// written itself (holes and preallocated extents would be answered without the
// device), or of an existing file, which is never written to. It does, in this
// order: the environment; a sweep over the number of reads in flight at 4 KiB for
// each engine, in rounds until two agree; the same by the program fio; a sweep
// over sizes at the knee; reads and writes mixed; a longer run cut into windows,
// which shows volumes that slow down after a burst; and, for an index, the cost of
// real queries. [Report] holds the result, as text and as JSON with a version.
//
// A rate is the slope of the operations done over time, see meter.go, because
// throttles let operations through in slices.
//
// # What is derived
//
//   - the IOPS cap and the throughput cap; their quotient is the balanced read
//     size, below which operations run out first and above which bytes do;
//   - the knee: the smallest number of reads in flight that reaches 95 % of the
//     plateau. Little's law wants IOPS x base latency; the engine should keep 1.5
//     to 2 times the knee in flight: more only adds waiting;
//   - for an index three ceilings, QPS <= IOPS / reads, QPS <= throughput / bytes
//     and QPS <= processors / CPU time, and what a number of clients gets below
//     them: see [Predict].
//
// # Promises
//
// The test file is removed when Run returns, for whatever reason. One
// calibration runs in a directory at a time. Nothing is stored but the profile of
// the volume, with the store, if there is one. Run is not for concurrent use
// with other work on the machine: its figures would be those of both.
//
// May import: root, iopath, internal/blockdev
package fio
