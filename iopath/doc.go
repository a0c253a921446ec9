// Package iopath is the only door to the volume: every read and every bulk
// write of the engine goes through it, so it is the place where the cost of a
// query in operations, bytes and waves is decided, bounded and counted.
//
// May import: nothing of sprat
//
// # What it promises
//
// A caller collects the reads of one step of its work in a [Batch], submits
// them together (a wave) and takes completions in the order in which they
// arrive. The caller never sees an alignment, a buffer, a ring or a thread:
//
//	b := engine.NewBatch()
//	defer b.Release()
//	for i, x := range extents {
//		b.Read(x.File, x.Off, x.Len, uint64(i))
//	}
//	if err := b.Submit(ctx); err != nil {
//		return err
//	}
//	for b.Pending() > 0 {
//		c, err := b.Next(ctx)
//		if err != nil {
//			return err
//		}
//		scan(c.Tag, c.Data, c.Err)
//	}
//
// Memory belongs to the engine. Buffers are page aligned, live off the Go heap
// and are pooled; [Completion.Data] is valid until [Batch.Release]. Releasing a
// batch while the kernel still writes into its buffers is allowed, because that
// is what a cancelled query does: such a buffer stays with the engine until the
// kernel has let go of it, so late DMA never lands in memory given to another
// reader.
//
// Everything is bounded: reads with the kernel by [Config].Depth, waves waiting
// behind them by a fixed queue that makes Submit wait, idle memory by
// [Config].PoolBytes.
//
// # Admission
//
// What exceeds the depth waits here, where its order can be decided, and not at
// the device, where it cannot. Classes ([Class]) share the volume by weight, the
// batches of a class take turns, and one that is out of time may pass the others
// ([Batch.Hurry]). Without a depth of the caller's the engine keeps it near the knee
// of the volume, which it finds by trial under load (adapt.go).
//
// # Engines
//
// Three engines keep one contract and pass one conformance suite:
//
//   - io_uring: one or two rings, each owned by one goroutine on a locked
//     thread and fed whole waves. One system call submits a wave and waits for
//     its first completion. The cheapest in CPU and the only one whose depth
//     does not cost threads. A caller who finds nothing in flight skips the
//     hand-over to that goroutine and drives a small ring itself (the lane).
//     Files are registered with the rings, and buffers as far as RLIMIT_MEMLOCK
//     allows; where it does not, reads do without and [Stats].BufferCause says why.
//   - pread: a pool of at most Depth workers, started as they are needed.
//   - mmap: page faults on the same pool, then a copy. A baseline to measure
//     against; it is never chosen unless it is asked for.
//
// [Open] walks the ladder io_uring+direct, io_uring+buffered, pread+direct,
// pread+buffered and takes the first rung on which a real read of a probe file
// returns the right bytes. Why a rung was passed over (a seccomp filter, the
// sysctl kernel.io_uring_disabled, RLIMIT_MEMLOCK, a file system without
// O_DIRECT) is logged once and kept in [Info].Cause. An engine or a direct mode
// that was asked for by name and cannot be had is a [*ModeError], never a
// silent substitute. Other systems than Linux have pread without direct I/O.
//
// # Which ring
//
// The ring is our own: about three hundred lines over golang.org/x/sys/unix
// behind the unexported interface ring. The build tag giouring swaps in
// github.com/pawelgaczynski/giouring behind the same interface. That library
// reaches into package syscall with go:linkname, which the linker refuses since
// Go 1.23, so a program built with the tag links only with
//
//	go build -tags giouring -ldflags=-checklinkname=0
//
// and every program that embeds us would have to pass the flag. That is why it
// is a tag and not the default. The conformance suite runs on both.
//
// # Writing
//
// [Engine.Create] returns a sequential [Writer] that uses direct I/O when the
// engine does and otherwise drops the pages that it has written, so that a bulk
// build does not fill a memory cgroup with dirty page cache. [Engine.OpenUpdate]
// returns an [Updater], which changes a file in place at any offset: it reads,
// patches and writes back the blocks that a change covers in part. Nothing here
// decides when data is durable: callers say it with [Writer.Sync],
// [Updater.Sync] and [Engine.SyncDir].
//
// Every change of the file system that is made here asks [Config].Ops first, the
// seam by which tests fill the volume, tear writes and record what a crash would
// leave. In production it is nil and costs nothing.
package iopath
