package fio

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteText writes the report for people, in aligned columns.
func (r *Report) WriteText(w io.Writer) error {
	p := &page{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	r.environmentText(p)
	r.derivedText(p)
	for _, e := range r.Engines {
		engineText(p, e)
	}
	r.programText(p)
	r.sizesText(p)
	r.mixedText(p)
	r.sustainedText(p)
	r.indexText(p)
	r.notesText(p)
	p.keep(p.w.Flush())
	return p.err
}

// page is text in aligned columns; it keeps the first error.
type page struct {
	w   *tabwriter.Writer
	err error
}

func (p *page) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// title begins a table.
func (p *page) title(format string, args ...any) {
	p.keep(p.w.Flush())
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	p.keep(err)
	p.keep(p.w.Flush())
}

// row writes the cells of one row.
func (p *page) row(cells ...string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	_, err := fmt.Fprintln(p.w, "  "+strings.Join(cells, "\t"))
	p.keep(err)
}

func (r *Report) environmentText(p *page) {
	env, d := r.Environment, r.Environment.Device
	p.title("environment")
	p.row("file system", strings.TrimSpace(d.FSType+" on "+d.MountPoint), strings.Join(d.MountOptions, ","))
	if d.None != "" {
		p.row("device", "none: "+d.None)
	} else {
		p.row("device", fmt.Sprintf("%s (%d:%d)", d.Name, d.Major, d.Minor), fmt.Sprintf(
			"blocks %d/%d B, scheduler %s, read-ahead %d KiB, %d requests, rotational %s",
			d.LogicalBlock, d.PhysicalBlock, d.Scheduler, d.ReadAheadKiB, d.QueueRequests, yes(d.Rotational)))
	}
	p.row("limits", "memory "+memoryText(d.Limits.Memory), "reads "+throttleText(d.Limits.ReadIOPS, d.Limits.ReadBytesPerSecond)+
		", writes "+throttleText(d.Limits.WriteIOPS, d.Limits.WriteBytesPerSecond))
	p.row("direct I/O", yes(env.Direct), fmt.Sprintf("alignment %d B in files, %d B in memory", env.OffsetAlign, env.MemAlign))
	ring := "yes"
	if !env.IOUring {
		ring = "no: " + env.IOUringCause
	}
	p.row("io_uring", ring, "memlock "+memlockText(env.MemlockBytes))
	p.row("machine", env.System, fmt.Sprintf("%d of %d processors", env.Processors, env.CPUs))
	f := r.File
	if f.Written {
		p.row("test file", sizeText(f.Bytes), fmt.Sprintf("random bytes, written at %.0f MiB/s", f.WriteMiBps))
	} else {
		p.row("file read", f.Path, sizeText(f.Bytes))
	}
}

func (r *Report) derivedText(p *page) {
	d := r.Derived
	p.title("\nthe volume by %s", d.Engine)
	p.row("IOPS cap", whole(d.IOPS), "4 KiB random reads")
	reachedBy := "reached with reads of " + sizeText(int64(d.SaturationBytes))
	if d.SaturationBytes == 0 {
		reachedBy = "reached by longer runs only"
	}
	p.row("throughput cap", whole(d.MiBps)+" MiB/s", reachedBy)
	p.row("balanced read", decimal(float64(d.BalancedBytes)/1024, 1)+" KiB", "below it operations run out first, above it bytes")
	p.row("base latency", microsText(d.BaseLatency), "median of a read alone")
	p.row("knee", strconv.Itoa(d.Knee)+" in flight", "IOPS x base latency is "+decimal(d.LittleDepth, 1))
	p.row("recommended", strconv.Itoa(d.Depth)+" in flight", "four times as many would wait "+microsText(d.DeeperLatency)+" each, for the same rate")
	e := r.Expectation
	if e == nil {
		return
	}
	if e.IOPS > 0 {
		p.row("expected IOPS", whole(e.GotIOPS)+" of "+whole(e.IOPS), verdict(e.GotIOPS, e.IOPS))
	}
	if e.MiBps > 0 {
		p.row("expected MiB/s", whole(e.GotMiBps)+" of "+whole(e.MiBps), verdict(e.GotMiBps, e.MiBps))
	}
}

func verdict(got, want float64) string {
	text := decimal(100*got/want, 1) + " %"
	if got < reached*want {
		text += ", BELOW 95 %"
	}
	return text
}

var pointHead = []string{"in flight", "IOPS", "MiB/s", "mean", "p50", "p90", "p99", "p99.9", "CPU/read", "threads"}

func pointRow(p Point) []string {
	threads := "-"
	if p.Threads > 0 {
		threads = strconv.Itoa(p.Threads)
	}
	l := p.Latency
	row := []string{strconv.Itoa(p.Depth), whole(p.IOPS), decimal(p.MiBps, 1), microsText(l.Mean), microsText(l.P50),
		microsText(l.P90), microsText(l.P99), microsText(l.P999), decimal(p.CPU, 1) + " us", threads}
	if p.Rounds > 1 && !p.Agree {
		row = append(row, "unsteady")
	}
	return row
}

func engineText(p *page, e EngineReport) {
	if e.Missing != "" {
		p.title("\n4 KiB random reads by %s: not available: %s", e.Engine, e.Missing)
		return
	}
	p.title("\n4 KiB random reads by %s%s: plateau %s IOPS, knee %d", e.Engine, choose(e.Direct, ", direct", ", buffered"), whole(e.Plateau), e.Knee)
	p.row(pointHead...)
	for _, point := range e.Depths {
		p.row(pointRow(point)...)
	}
}

func (r *Report) programText(p *page) {
	if r.ProgramHint != "" {
		p.title("\n%s", r.ProgramHint)
	}
	if r.Program == nil {
		return
	}
	p.title("\n4 KiB random reads by the program %s (%s), engine %s", r.Program.Version, r.Program.Path, r.Program.Engine)
	p.row(pointHead...)
	for _, point := range r.Program.Points {
		p.row(pointRow(point)...)
	}
	p.title("  by hand: %s", r.Program.Command)
}

func (r *Report) sizesText(p *page) {
	if len(r.Sizes) == 0 {
		return
	}
	p.title("\nrandom reads by size, %d in flight", r.Sizes[0].Depth)
	p.row("size", "IOPS", "MiB/s", "mean", "p99", "CPU/read")
	for _, s := range r.Sizes {
		p.row(sizeText(int64(s.Bytes)), whole(s.IOPS), decimal(s.MiBps, 1), microsText(s.Latency.Mean),
			microsText(s.Latency.P99), decimal(s.CPU, 1)+" us")
	}
	if l := r.Large; l != nil {
		p.title("  longer, %d in flight: %s of %s, %s MiB/s", l.Depth, whole(l.IOPS), sizeText(int64(l.Bytes)), decimal(l.MiBps, 1))
	}
}

func (r *Report) mixedText(p *page) {
	m := r.Mixed
	if m == nil {
		return
	}
	p.title("\nreads (half %s, half %s) and writes (%s), 70 to 30, %d in flight",
		sizeText(int64(m.RecordBytes)), sizeText(int64(m.PostingBytes)), sizeText(int64(m.PostingBytes)), m.Depth)
	p.row("", "IOPS", "MiB/s", "mean", "p50", "p99", "p99.9")
	p.row("reads", whole(m.ReadIOPS), decimal(m.ReadMiBps, 1), microsText(m.Read.Mean), microsText(m.Read.P50), microsText(m.Read.P99), microsText(m.Read.P999))
	p.row("writes", whole(m.WriteIOPS), decimal(m.WriteMiBps, 1), microsText(m.Write.Mean), microsText(m.Write.P50), microsText(m.Write.P99), microsText(m.Write.P999))
}

func (r *Report) sustainedText(p *page) {
	s := r.Sustained
	if s == nil {
		return
	}
	p.title("\nsustained for %s s, %d in flight: %s IOPS, first third %s, last third %s%s", decimal(s.Seconds, 0), s.Depth,
		whole(s.Mean), whole(s.First), whole(s.Last), choose(s.BurstLimited, ": burst-limited", ""))
	cells := make([]string, len(s.IOPS))
	for i, v := range s.IOPS {
		cells[i] = whole(v)
	}
	p.title("  every %s s: %s", decimal(s.Window, 2), strings.Join(cells, " "))
}

func (r *Report) notesText(p *page) {
	if len(r.Notes) == 0 {
		return
	}
	p.title("\nnotes")
	for _, n := range r.Notes {
		p.title("  - %s", n)
	}
}
