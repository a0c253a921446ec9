package iopath

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// load is a point of a benchmark: reads at random aligned offsets. Depth is
// reached as a database reaches it, by several clients that submit waves of up to
// eight reads and work off each whole wave before the next.
type load struct {
	Path   string
	Engine string
	Direct string
	Size   int // bytes of a read
	Depth  int
	Reads  int // in all
}

// cost is what a load came to.
type cost struct {
	Ring    string        // Info.Ring
	Elapsed time.Duration // wall clock
	CPU     time.Duration // of the process
	P99     time.Duration // from Submit to the end of a read
	Threads int           // of the process, at the end
	Enters  int64
	Wakes   int64
}

func init() { helpers["load"] = helpLoad }

// helpLoad carries a load out in a process of its own, so that neither the
// threads nor the garbage of other loads are counted.
func helpLoad() error {
	var l load
	if err := json.Unmarshal([]byte(os.Getenv(orderEnv)), &l); err != nil {
		return err
	}
	e, err := Open(filepath.Dir(l.Path), Config{Engine: l.Engine, Direct: l.Direct, Depth: l.Depth, Rings: 1})
	if err != nil {
		return err
	}
	defer e.Close()
	c, err := l.run(e)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// run carries the load out on an engine.
func (l load) run(e *Engine) (cost, error) {
	f, err := e.OpenFile(l.Path)
	if err != nil {
		return cost{}, err
	}
	defer f.Close()
	per := min(l.Depth, 8)
	clients := max(l.Depth/per, 1)
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	var left atomic.Int64
	left.Store(int64(l.Reads))
	before, cpu, start := e.Stats(), cpuTime(), time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 2))
			for errs[c] == nil {
				n := min(int64(per), left.Add(-int64(per))+int64(per))
				if n <= 0 {
					return
				}
				took[c], errs[c] = l.wave(e, f, rng, int(n), took[c])
			}
		})
	}
	wg.Wait()
	out := cost{Ring: e.Info().Ring, Elapsed: time.Since(start), CPU: cpuTime() - cpu, Threads: threadCount()}
	after := e.Stats()
	out.Enters, out.Wakes = after.Enters-before.Enters, after.Wakes-before.Wakes
	for _, err := range errs {
		if err != nil {
			return cost{}, err
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	out.P99 = all[len(all)*99/100]
	return out, nil
}

// wave is one wave of a client. It appends how long each read took.
func (l load) wave(e *Engine, f *File, rng *rand.Rand, n int, took []time.Duration) ([]time.Duration, error) {
	b := e.NewBatch()
	defer b.Release()
	for i := range n {
		b.Read(f, rng.Int64N((benchFileBytes-int64(l.Size))/4096)*4096, l.Size, uint64(i))
	}
	start := time.Now()
	if err := b.Submit(background); err != nil {
		return took, err
	}
	for b.Pending() > 0 {
		c, err := b.Next(background)
		if err != nil {
			return took, err
		}
		if c.Err != nil {
			return took, c.Err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// BenchmarkEngines reads records (4 KiB) and postings (40 KiB) with each engine at
// equal depth, each point in a process of its own. Under the build tag giouring the
// ring is that library's. IOPATH_BENCH_BUFFERED=1 goes through the page cache.
// bench/results/engines.md has a run of it.
func BenchmarkEngines(b *testing.B) {
	path := benchFile(b, b.TempDir())
	direct := Auto
	if os.Getenv("IOPATH_BENCH_BUFFERED") != "" {
		direct = DirectOff
	}
	for _, engine := range []string{IOUring, Pread} {
		name := engine
		if engine == IOUring {
			name += "-" + ringBinding
		}
		for _, kib := range []int{4, 40} {
			for _, depth := range []int{1, 8, 32, 128, 512} {
				b.Run(fmt.Sprintf("engine=%s/KiB=%d/depth=%d", name, kib, depth), func(b *testing.B) {
					benchLoad(b, load{path, engine, direct, kib << 10, depth, b.N})
				})
			}
		}
	}
}

// benchLoad runs a load in a child and reports what it cost.
func benchLoad(b *testing.B, l load) {
	text, err := json.Marshal(l)
	if err != nil {
		b.Fatal(err)
	}
	var c cost
	if err := json.Unmarshal(helpPlainly(b, "load", string(text), nil), &c); err != nil {
		b.Fatal(err)
	}
	n := float64(l.Reads)
	b.ReportMetric(float64(c.Elapsed.Nanoseconds())/n, "ns/op")
	b.ReportMetric(n/c.Elapsed.Seconds(), "IOPS")
	b.ReportMetric(float64(c.CPU.Nanoseconds())/1e3/n, "cpu-us/read")
	b.ReportMetric(float64(c.P99.Microseconds()), "p99-us")
	b.ReportMetric(float64(c.Threads), "threads")
	b.ReportMetric(float64(c.Enters)/n, "enters/read")
	b.ReportMetric(float64(c.Wakes)/n, "wakes/read")
}

// BenchmarkRegisteredMemory compares reads into registered memory with others, in
// turn and each time on a fresh engine, and reports the middle one of the ratios of
// processor time: below 1 registered memory wins. Use -benchtime 15x.
func BenchmarkRegisteredMemory(b *testing.B) {
	path := benchFile(b, b.TempDir())
	for _, kib := range []int{4, 40} {
		for _, depth := range []int{1, 32, 128} {
			b.Run(fmt.Sprintf("KiB=%d/depth=%d", kib, depth), func(b *testing.B) {
				l := load{path, IOUring, Auto, kib << 10, depth, 10_000}
				if depth == 1 || testing.Short() {
					l.Reads /= 5
				}
				var with, without, ratios []float64
				for i := range b.N {
					var us [2]float64
					for j := range us {
						fixed := (i + j) % 2
						us[fixed] = registeredLoad(b, l, fixed == 1)
					}
					without, with = append(without, us[0]), append(with, us[1])
					ratios = append(ratios, us[1]/us[0])
				}
				for unit, v := range map[string][]float64{"ratio": ratios, "plain-us/read": without, "registered-us/read": with} {
					slices.Sort(v)
					b.ReportMetric(v[len(v)/2], unit)
				}
			})
		}
	}
}

// registeredLoad is the processor time of a read, in microseconds.
func registeredLoad(b *testing.B, l load, registered bool) float64 {
	sizes := memoryTableSizes
	defer func() { memoryTableSizes = sizes }()
	if !registered {
		memoryTableSizes = nil
	}
	e, err := Open(filepath.Dir(l.Path), Config{Engine: IOUring, Depth: l.Depth, Rings: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	warm := l
	warm.Reads /= 10
	if _, err := warm.run(e); err != nil {
		b.Fatal(err)
	}
	c, err := l.run(e)
	if err != nil {
		b.Fatal(err)
	}
	// A lone reader goes through the lane, whose ring has no table.
	if got := e.Stats().BufferFixed > 0; got != registered && l.Depth > 1 {
		b.Fatalf("registered: %v, want %v (%s)", got, registered, e.Stats().BufferCause)
	}
	return float64(c.CPU.Nanoseconds()) / 1e3 / float64(l.Reads)
}
