package scaling

import (
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/internal/blockdev"
	"github.com/spratdb/sprat/internal/throttle"
	"github.com/spratdb/sprat/iopath"
)

// gauges read what a sample is made of. What the system does not tell stays zero.
type gauges struct {
	proc   procfs.FS
	disks  blockdevice.FS
	device blockdev.Device
	group  *throttle.Group // nil without a control group that limits memory
	volume func() iopath.Stats
}

// newGauges reads /proc and /sys below root.
func newGauges(root string, device blockdev.Device, group *throttle.Group) (*gauges, error) {
	g := &gauges{device: device, group: group}
	var err error
	if g.proc, err = procfs.NewFS(root + "proc"); err != nil {
		return nil, fmt.Errorf("scaling: %w", err)
	}
	if g.disks, err = blockdevice.NewFS(root+"proc", root+"sys"); err != nil {
		return nil, fmt.Errorf("scaling: %w", err)
	}
	return g, nil
}

// reading is the counters at one moment.
type reading struct {
	at      time.Time
	queries int64
	volume  iopath.Stats
	disk    blockdevice.IOStats
	cpu     time.Duration // of this process
	machine float64       // seconds that processors were busy
}

func (g *gauges) read(queries int64) reading {
	r := reading{at: time.Now(), queries: queries, volume: g.volume(), cpu: processCPU()}
	if g.device.None == "" {
		all, err := g.disks.ProcDiskstats()
		for _, d := range all {
			if err == nil && d.MajorNumber == g.device.Major && d.MinorNumber == g.device.Minor {
				r.disk = d.IOStats
			}
		}
	}
	if stat, err := g.proc.Stat(); err == nil {
		c := stat.CPUTotal
		r.machine = c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
	}
	return r
}

// between is the sample of the time between two readings, without depth and memory.
func between(a, b reading, began time.Time) Sample {
	passed := b.at.Sub(a.at).Seconds()
	rate := func(x, y uint64) float64 { return ratioOf(float64(y)-float64(x), passed) }
	const sectorsPerMiB = 1 << 20 / 512
	return Sample{
		Second: round(b.at.Sub(began).Seconds(), 2), QPS: round(ratioOf(float64(b.queries-a.queries), passed), 1),
		ReadIOPS:  round(rate(a.disk.ReadIOs, b.disk.ReadIOs), 1),
		ReadMiBps: round(rate(a.disk.ReadSectors, b.disk.ReadSectors)/sectorsPerMiB, 2),
		Device:    round(rate(a.disk.ReadTicks, b.disk.ReadTicks)/1000, 2), // ticks are milliseconds
		Utilised:  round(min(rate(a.disk.IOsTotalTicks, b.disk.IOsTotalTicks)/1000, 1), 4),
		CPU:       round(ratioOf((b.cpu-a.cpu).Seconds(), passed), 3),
		Machine:   round(ratioOf(b.machine-a.machine, passed), 3),
	}
}

// memory fills in what is in memory now.
func (g *gauges) memory(s *Sample) {
	s.RSS, s.Heap = bench.ProcessMemory().Resident, heapBytes()
	if g.group != nil {
		if m, err := g.group.Memory(); err == nil {
			s.Cgroup = m.Usage
		}
	}
}

const heapMetric = "/memory/classes/heap/objects:bytes"

// heapBytes is the memory of objects on the Go heap, those not swept yet included.
func heapBytes() int64 {
	s := []metrics.Sample{{Name: heapMetric}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(s[0].Value.Uint64())
}

// sampler makes samples of equal length out of frequent looks.
type sampler struct {
	gauges *gauges
	every  time.Duration
	began  reading
	last   reading
	depth  float64 // sum over the looks since last
	looks  int
	peak   int64 // of the control group, by the looks
	out    []Sample
}

func newSampler(g *gauges, every time.Duration) *sampler {
	s := &sampler{gauges: g, every: every}
	s.began = g.read(0)
	s.last = s.began
	return s
}

// look notes the reads in flight, and takes a sample when its time has come.
// queries is the answers since the window was opened.
func (s *sampler) look(queries int64) {
	s.depth += float64(s.gauges.volume().InFlight)
	s.looks++
	if s.gauges.group != nil {
		if m, err := s.gauges.group.Memory(); err == nil {
			s.peak = max(s.peak, m.Usage)
		}
	}
	if time.Since(s.last.at) >= s.every {
		s.take(queries)
	}
}

func (s *sampler) take(queries int64) {
	now := s.gauges.read(queries)
	sample := between(s.last, now, s.began.at)
	sample.InFlight = round(ratioOf(s.depth, float64(s.looks)), 2)
	s.gauges.memory(&sample)
	s.out = append(s.out, sample)
	s.last, s.depth, s.looks = now, 0, 0
}

// end fills in what a run has of its samples. A last sample is taken when it is at
// least half as long as the others.
func (s *sampler) end(r *Result, queries int64) {
	if len(s.out) == 0 || time.Since(s.last.at) >= s.every/2 {
		s.take(queries)
	}
	whole := between(s.began, s.last, s.began.at)
	r.Samples = s.out
	passed := s.last.at.Sub(s.began.at).Seconds()
	r.IOPS = round(ratioOf(float64(s.last.volume.Reads-s.began.volume.Reads), passed), 1)
	r.MiBps = round(ratioOf(mebibytes(s.last.volume.Bytes-s.began.volume.Bytes), passed), 2)
	r.DeviceIOPS, r.Device, r.Utilised, r.CPU, r.Machine = whole.ReadIOPS, whole.Device, whole.Utilised, whole.CPU, whole.Machine
	n := float64(len(s.out))
	var depth float64
	var group, rss, heap int64
	for _, x := range s.out {
		depth += x.InFlight
		group, rss, heap = group+x.Cgroup, rss+x.RSS, heap+x.Heap
	}
	r.InFlight = round(depth/n, 2)
	r.CgroupMean, r.RSSMean, r.HeapMean = group/int64(n), rss/int64(n), heap/int64(n)
	r.CgroupPeak = s.peak
	if s.gauges.group != nil {
		if m, err := s.gauges.group.Memory(); err == nil {
			r.CgroupPeak = max(r.CgroupPeak, m.Peak)
		}
	}
}
