package iopath

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const benchFileBytes = 256 << 20

// benchFile writes a file of random bytes: holes and unwritten extents would be
// answered without the device.
func benchFile(b *testing.B, dir string) string {
	b.Helper()
	path := filepath.Join(dir, "data")
	e, err := Open(dir, Config{Engine: Pread})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	w, err := e.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.NewChaCha8([32]byte{1})
	p := make([]byte, 1<<20)
	for range benchFileBytes / len(p) {
		_, _ = rng.Read(p)
		if _, err := w.Write(p); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// cpuTime is the processor time of the process so far.
func cpuTime() time.Duration {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// BenchmarkRead reads records (4 KiB) and postings (40 KiB) at random aligned
// offsets. Depth is reached as a database reaches it, by several clients that
// submit waves of up to eight reads and work off each whole wave before the
// next. IOPATH_BENCH_BUFFERED=1 goes through the page cache.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	path := benchFile(b, dir)
	for _, engine := range []string{IOUring, Pread, Mmap} {
		for _, kib := range []int{4, 40} {
			for _, depth := range []int{1, 32, 256} {
				b.Run(fmt.Sprintf("%s/size=%dKiB/depth=%d", engine, kib, depth), func(b *testing.B) {
					benchRead(b, dir, path, engine, kib<<10, depth)
				})
			}
		}
	}
}

func benchRead(b *testing.B, dir, path, engine string, size, depth int) {
	direct := Auto
	if os.Getenv("IOPATH_BENCH_BUFFERED") != "" {
		direct = DirectOff
	}
	e, err := Open(dir, Config{Engine: engine, Depth: depth, Direct: direct})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	f, err := e.OpenFile(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	per := min(depth, 8)
	clients := depth / per
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	start := time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 2))
			for {
				n := min(int64(per), left.Add(-int64(per))+int64(per))
				if n <= 0 {
					return
				}
				benchWave(b, e, f, rng, size, int(n))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	cpu = cpuTime() - cpu
	b.StopTimer()
	s := e.Stats()
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "IOPS")
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-us/read")
	b.ReportMetric(float64(s.Enters)/float64(b.N), "enters/read")
	b.ReportMetric(float64(s.Wakes)/float64(b.N), "wakes/read")
}

func benchWave(b *testing.B, e *Engine, f *File, rng *rand.Rand, size, n int) {
	ctx := context.Background()
	batch := e.NewBatch()
	defer batch.Release()
	for i := range n {
		batch.Read(f, rng.Int64N((benchFileBytes-int64(size))/4096)*4096, size, uint64(i))
	}
	if err := batch.Submit(ctx); err != nil {
		b.Error(err)
		return
	}
	for batch.Pending() > 0 {
		c, err := batch.Next(ctx)
		if err != nil || c.Err != nil {
			b.Error(err, c.Err)
			return
		}
	}
}
