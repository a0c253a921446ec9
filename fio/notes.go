package fio

import (
	"fmt"
	"math"
	"time"
)

// judge compares the result with what was expected and notes what a reader
// should know.
func (b *bench) judge() {
	r := b.report
	b.report.Expectation = expectationOf(b.cfg, r)
	env, d := r.Environment, r.Derived
	if env.Device.None != "" {
		b.note("There is no device to speak of: %s.", env.Device.None)
	}
	if env.EngineCause != "" {
		b.note("A fallback engine is in use: %s.", env.EngineCause)
	}
	if !d.Direct {
		b.note("Without direct I/O part of the reads come from the page cache; read-ahead of %d KiB makes small reads larger.",
			env.Device.ReadAheadKiB)
	}
	if s := r.Sustained; s != nil && s.BurstLimited {
		b.note("burst-limited: the rate fell from %.0f to %.0f IOPS within %.0f s. A volume or an instance that bursts cannot be counted on.",
			s.First, s.Last, s.Seconds)
	}
	if l := env.Device.Limits; l.Throttled() {
		b.note("A control group limits reads to %s on this device: throttles work in slices of about 100 ms, so compare means, not p99.",
			limitsText(l.ReadIOPS, l.ReadBytesPerSecond))
	}
	if want := max(d.LittleDepth, 1); float64(d.Knee) > 4*want {
		b.note("The knee lies at %d reads in flight where IOPS x base latency wants %.1f: reads get slower well before the cap, "+
			"by processors, the way to the device, or the device itself.", d.Knee, d.LittleDepth)
	}
	if p := r.Program; p != nil {
		if best := plateau(p.Points); best > 1.1*d.IOPS {
			b.note("fio reaches %.0f IOPS, %.0f %% more than the engine %s: processors limit the engine, not the volume.",
				best, 100*(best/d.IOPS-1), d.Engine)
		}
	}
	if n := disagreeing(r.Engines[0].Depths); n > 0 {
		b.note("At %d of %d depths the last two rounds differ by more than 5 %%: the volume or the machine was disturbed.",
			n, len(r.Engines[0].Depths))
	}
	if f := r.File; f.Written && b.cfg.FileBytes == 0 && f.Bytes < quickFile {
		b.note("The test file has only %d MiB; a cache of the device may hold all of it.", f.Bytes>>20)
	}
}

// noteOthers says so when other processes took processors while queries were
// measured: predictions are for a machine that has nothing else to do.
func (b *bench) noteOthers(busy, elapsed time.Duration) {
	share := busy.Seconds() / elapsed.Seconds()
	if share > 0.1*float64(b.report.Environment.CPUs) {
		b.note("Other processes took %.1f of the machine's %d processors meanwhile: predictions are for a machine without them.",
			share, b.report.Environment.CPUs)
	}
}

func limitsText(iops, bytes int64) string {
	switch {
	case iops == 0 && bytes == 0:
		return "nothing (writes are limited)"
	case bytes == 0:
		return fmt.Sprintf("%d IOPS", iops)
	case iops == 0:
		return fmt.Sprintf("%d MiB/s", bytes>>20)
	}
	return fmt.Sprintf("%d IOPS and %d MiB/s", iops, bytes>>20)
}

func disagreeing(points []Point) int {
	n := 0
	for _, p := range points {
		if p.Rounds > 1 && !p.Agree {
			n++
		}
	}
	return n
}

// expectationOf compares, nil when nothing is expected. What any program reaches
// is what the volume gives, so the best of all counts.
func expectationOf(cfg Config, r *Report) *Expectation {
	if cfg.ExpectIOPS == 0 && cfg.ExpectMiBps == 0 {
		return nil
	}
	e := &Expectation{IOPS: cfg.ExpectIOPS, MiBps: cfg.ExpectMiBps, GotIOPS: r.Derived.IOPS, GotMiBps: r.Derived.MiBps}
	burst := r.Sustained != nil && r.Sustained.BurstLimited
	if r.Program != nil && !burst {
		e.GotIOPS = math.Max(e.GotIOPS, round(plateau(r.Program.Points), 1))
	}
	if e.GotIOPS < reached*e.IOPS {
		e.Below = append(e.Below, fmt.Sprintf("%.0f IOPS of the %.0f expected", e.GotIOPS, e.IOPS))
	}
	if e.GotMiBps < reached*e.MiBps {
		e.Below = append(e.Below, fmt.Sprintf("%.0f MiB/s of the %.0f expected", e.GotMiBps, e.MiBps))
	}
	return e
}
