package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spratdb/sprat/internal/blockdev"
)

// fixedReport is a report of everything, as a gp3 volume might give it.
func fixedReport() *Report {
	at := func(depth int, iops float64, p50 float64) Point {
		return Point{Depth: depth, Bytes: block, IOPS: iops, CPU: 17.25, Threads: 14, Rounds: 2, Agree: depth != 2,
			Latency: Latency{Mean: p50 + 50, P50: p50, P90: 2 * p50, P99: 5 * p50, P999: 200 * p50}}.rounded()
	}
	ring := EngineReport{Engine: "io_uring", Direct: true, Plateau: 3001.5, Knee: 4,
		Depths: []Point{at(1, 1000, 950), at(2, 1900, 1000), at(4, 2990, 1100), at(8, 3001, 2600)}}
	sizes := []Point{{Depth: 32, Bytes: 4 << 10, IOPS: 3000, CPU: 20}, {Depth: 32, Bytes: 40 << 10, IOPS: 2990, CPU: 30},
		{Depth: 32, Bytes: 256 << 10, IOPS: 500, CPU: 80}}
	for i := range sizes {
		sizes[i] = sizes[i].rounded()
	}
	r := &Report{
		SchemaVersion: SchemaVersion, MeasuredAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Seconds: 170.5,
		Environment: Environment{
			Device: blockdev.Device{Path: "/data", MountPoint: "/data", FSType: "ext4", Source: "/dev/nvme1n1p1",
				MountOptions: []string{"noatime", "rw"}, Major: 259, Minor: 2, Name: "nvme1n1", Partition: "nvme1n1p1",
				Bytes: 200 << 30, LogicalBlock: 512, PhysicalBlock: 4096, Scheduler: "none", ReadAheadKiB: 128, QueueRequests: 63,
				Limits: blockdev.Limits{Memory: 512 << 20, ReadIOPS: 3000, ReadBytesPerSecond: 125 << 20}},
			Direct: true, MemAlign: 512, OffsetAlign: 512, Engine: "io_uring", IOUring: true, MemlockBytes: 8 << 20,
			System: "Linux 6.12", Processors: 2, CPUs: 2},
		File:    TestFile{Path: "/data/.sprat-calibrate", Bytes: 1 << 30, Written: true, WriteMiBps: 125},
		Engines: []EngineReport{ring, {Engine: "pread", Missing: "pread+direct: no such luck"}},
		Program: &Program{Path: "/usr/bin/fio", Version: "fio-3.33", Engine: "io_uring", Command: "fio --readonly",
			Points: []Point{at(256, 2998, 85000)}},
		Sizes: sizes, Large: &Point{Depth: 32, Bytes: 256 << 10, IOPS: 500, MiBps: 125},
		Mixed: &Mixed{Depth: 8, RecordBytes: 4096, PostingBytes: postingBytes, ReadIOPS: 2100, WriteIOPS: 900,
			ReadMiBps: 45.1, WriteMiBps: 35.2, Read: Latency{Mean: 900, P50: 800, P99: 4000, P999: 9000}},
		Sustained: &Sustained{Depth: 7, Seconds: 12, Window: 1, IOPS: []float64{3000, 3000, 1500}, Mean: 2500, First: 3000, Last: 1500,
			BurstLimited: true},
		Notes: []string{"burst-limited: the rate fell.", "A second note."},
	}
	r.Derived = derive(ring, sizes, r.Large, nil)
	r.Expectation = expectationOf(Config{ExpectIOPS: 3000, ExpectMiBps: 250}, r)
	v := VolumeModel{IOPS: 3000, BytesPerSecond: 125 << 20, BaseLatency: 0.00095, Processors: 2, Sizes: sizes}
	spent := func(c Cost, hits float64) *Spent {
		need := Need(v, c, 200)
		return &Spent{Queries: 300, HitRatio: hits, Cost: c, Prediction: Predict(v, c, 64), Clients: crowd, Reached: 100, Needs: &need}
	}
	r.Index = &IndexReport{Name: "b/text", Dimension: 384, Vectors: 177_819, K: 10, Sample: 8192, OwnVectors: true, CacheBytes: 100 << 20,
		Clients: 64, Grid: []Cell{
			{SearchProbe: 44, RescoreLimit: 14678, RecallTarget: 0.95, Own: true,
				Cold:   spent(Cost{Reads: 9.9, Bytes: 390_000, Waves: 2.6, CPUTime: 0.00025}, 0),
				Cached: spent(Cost{CPUTime: 0.0002}, 1)},
			{SearchProbe: 256, RescoreLimit: 1000,
				Cold:   spent(Cost{Reads: 82.8, Bytes: 3_000_000, Waves: 3.2, CPUTime: 0.0014}, 0),
				Cached: spent(Cost{Reads: 20, Bytes: 800_000, Waves: 3, CPUTime: 0.001}, 0.75)},
		}}
	r.Stored = true
	return r
}

// TestGolden renders a fixed report as text and as JSON.
func TestGolden(t *testing.T) {
	var text, object bytes.Buffer
	if err := fixedReport().WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", text.String())
	e := json.NewEncoder(&object)
	e.SetIndent("", "\t")
	if err := e.Encode(fixedReport()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", object.String())
}

// TestGoldenBare renders what there is without a device, an index or fio.
func TestGoldenBare(t *testing.T) {
	r := fixedReport()
	r.Environment.Device = blockdev.Device{Path: "/tmp", MountPoint: "/tmp", FSType: "tmpfs", None: "tmpfs has no disk of its own"}
	r.Environment.Direct, r.Environment.IOUring, r.Environment.IOUringCause = false, false, "operation not permitted (seccomp)"
	r.Environment.MemlockBytes = -1
	r.Engines[0].Direct = false
	r.File = TestFile{Path: "/tmp/x", Bytes: 3 << 20}
	r.Program, r.ProgramHint, r.Mixed, r.Index, r.Expectation, r.Large, r.Notes = nil, InstallHint, nil, nil, nil, nil, nil
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "bare.txt", text.String())
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

func TestWriteTextFails(t *testing.T) {
	if err := fixedReport().WriteText(failing{}); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

// TestNotes says what a reader should know, and no more.
func TestNotes(t *testing.T) {
	notes := func(change func(*bench)) string {
		r := fixedReport()
		r.Notes, r.Sustained, r.Environment.Device.Limits = nil, nil, blockdev.Limits{}
		r.Engines[0].Depths[1].Agree = true
		r.Program.Points[0].IOPS = 3000
		b := &bench{report: r}
		change(b)
		b.judge()
		return strings.Join(r.Notes, "\n")
	}
	if got := notes(func(*bench) {}); got != "" {
		t.Errorf("nothing to note, noted %q", got)
	}
	for want, change := range map[string]func(*bench){
		"no device":     func(b *bench) { b.report.Environment.Device.None = "tmpfs has no disk of its own" },
		"fallback":      func(b *bench) { b.report.Environment.EngineCause = "seccomp" },
		"page cache":    func(b *bench) { b.report.Derived.Direct = false },
		"burst-limited": func(b *bench) { b.report.Sustained = &Sustained{BurstLimited: true} },
		"3000 IOPS and 9 M": func(b *bench) {
			b.report.Environment.Device.Limits = blockdev.Limits{ReadIOPS: 3000, ReadBytesPerSecond: 9 << 20}
		},
		"reads to 3000 IOPS":  func(b *bench) { b.report.Environment.Device.Limits.ReadIOPS = 3000 },
		"reads to 1 MiB/s":    func(b *bench) { b.report.Environment.Device.Limits.ReadBytesPerSecond = 1 << 20 },
		"writes are limited":  func(b *bench) { b.report.Environment.Device.Limits.WriteIOPS = 1 },
		"fio reaches 9000":    func(b *bench) { b.report.Program.Points[0].IOPS = 9000 },
		"1 of 4 depths":       func(b *bench) { b.report.Engines[0].Depths[0].Agree = false },
		"the knee lies at 64": func(b *bench) { b.report.Derived.Knee = 64 },
		"only 4 MiB":          func(b *bench) { b.report.File.Bytes = 4 << 20 },
		"1.5 of the machine":  func(b *bench) { b.noteOthers(3*time.Second, 2*time.Second) },
	} {
		if got := notes(change); !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("noted %q, want %q", got, want)
		}
	}
}

// TestExpectation: below 95 % only, by the best of our engine and fio.
func TestExpectation(t *testing.T) {
	for _, c := range []struct {
		iops, mibps float64
		below       int
	}{{0, 0, 0}, {3150, 0, 0}, {3170, 0, 1}, {0, 131, 0}, {0, 132, 1}, {9000, 900, 2}} {
		e := expectationOf(Config{ExpectIOPS: c.iops, ExpectMiBps: c.mibps}, fixedReport())
		if (e == nil) != (c.iops+c.mibps == 0) || e != nil && len(e.Below) != c.below {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	r := fixedReport()
	r.Sustained, r.Program.Points[0].IOPS = nil, 9000
	if e := expectationOf(Config{ExpectIOPS: 9000}, r); len(e.Below) != 0 {
		t.Errorf("fio reached it: %+v", e)
	}
	r.Sustained = &Sustained{BurstLimited: true}
	if e := expectationOf(Config{ExpectIOPS: 9000}, r); len(e.Below) != 1 {
		t.Errorf("fio reached it in a burst: %+v", e)
	}
}

// TestClock tells the time that is left, and that a phase was left out.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Progress
		c := newClock(func(p Progress) { seen = append(seen, p) },
			[]phase{{"a", 10 * time.Second}, {"b", 5 * time.Second}, {"c", 2 * time.Second}})
		end := c.tell()
		c.enter("a")
		synctest.Wait()
		c.detail("first")
		if got := c.now(); got.Remaining != 17*time.Second || got.Phase != "a" || got.Step != "first" {
			t.Errorf("%+v", got)
		}
		wait(t.Context(), 3500*time.Millisecond)
		c.enter("c")
		synctest.Wait()
		if got := c.now(); got.Remaining != 2*time.Second || got.Elapsed != 3500*time.Millisecond || got.Step != "" {
			t.Errorf("%+v", got)
		}
		wait(t.Context(), time.Minute)
		if got := c.now(); got.Remaining != 0 {
			t.Errorf("%+v", got)
		}
		end()
		// One at the start of each phase and one each second.
		if len(seen) != 2+63 || seen[0].Phase != "a" || seen[len(seen)-1].Phase != "c" {
			t.Errorf("%d reports", len(seen))
		}
	})
}

// TestTiming: the parts fit into the time promised, and a long run prolongs it.
func TestTiming(t *testing.T) {
	index := &IndexConfig{Probes: []int{1, 2, 3, 4}, Rescores: []int{1, 2, 3}}
	quickIndex := &IndexConfig{Probes: []int{1}, Rescores: []int{1}}
	sum := func(c Config) (d time.Duration) {
		for _, p := range phases(c, timingOf(c), true) {
			d += p.took
		}
		return d
	}
	if got := sum(Config{Index: index}); got > 180*time.Second {
		t.Errorf("everything takes %v", got)
	}
	if got := sum(Config{Index: quickIndex, Quick: true}); got > 20*time.Second {
		t.Errorf("quick takes %v", got)
	}
	c := Config{Sustained: time.Minute, Quick: true}
	if got := timingOf(c); got.sustained != time.Minute || got.whole != quickTiming.whole+time.Minute-quickTiming.sustained {
		t.Errorf("%+v", got)
	}
	if got := timingOf(Config{Sustained: time.Millisecond}).sustained; got != time.Second {
		t.Errorf("sustained %v", got)
	}
}
