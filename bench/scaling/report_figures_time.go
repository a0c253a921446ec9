package scaling

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds on what is drawn over time, so that the page stays small with any number
// and length of runs.
const (
	mostRunPanels = 240 // of all volumes
	mostRunPoints = 120 // of a panel
	mostLinePoint = 900 // of a line through all runs of a volume
)

// timeFigures are the read IOPS over time, a figure a volume and a small panel a run.
func (r *Report) timeFigures() (out []figure) {
	a := r.axes()
	shown := r.sorted()
	left := ""
	if len(shown) > mostRunPanels {
		clients, engine := a.base()
		shown = r.where(func(s *Setting) bool { return s.Engine == engine && s.Clients == clients })
		shown = shown[:min(len(shown), mostRunPanels)]
		left = fmt.Sprintf(" %d of %d runs are shown; the seconds of all are in scaling.json.", len(shown), len(r.Runs))
	}
	for i, v := range a.Volumes {
		f := figure{id: fmt.Sprintf("time-%d", i+1), title: "Read IOPS over time: " + v.words(), columns: 5, height: 62, small: true,
			caption: "Each panel is a run: engine, clients, probe / rescore limit, stop rules. Seconds of the measured window to the right, " +
				"operations of the device by /proc/diskstats upwards. Dashed: what random reads of 4 KiB got right before." + left}
		for _, x := range shown {
			if x.Setting.Volume == v && len(x.Samples) > 0 {
				f.panels = append(f.panels, timePanel(x, colour(slices.Index(a.Engines, x.Setting.Engine))))
			}
		}
		sameRise(f.panels)
		for i, e := range a.Engines {
			f.legend = append(f.legend, key{class: colour(i), text: e})
		}
		f.legend = append(f.legend, key{class: "c7", style: "dash thin", text: "measured limit"})
		if len(f.panels) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func timePanel(x *Result, class string) panel {
	s := &x.Setting
	p := panel{title: fmt.Sprintf("%s %d: %d/%d %s", plain(s.Engine), s.Clients, s.SearchProbe, s.RescoreLimit, onOff(s.StopRules)), tip: x.tip()}
	l := line{class: class, style: "thin"}
	values := []float64{x.Limit.IOPS}
	for i := range x.Samples {
		l.points = append(l.points, point{x: x.Samples[i].Second, y: x.Samples[i].ReadIOPS})
		values = append(values, x.Samples[i].ReadIOPS)
	}
	l.points = thinned(l.points, mostRunPoints, mean)
	p.lines = []line{l}
	if x.Limit.IOPS > 0 {
		p.levels = []level{{y: x.Limit.IOPS}}
	}
	p.x, p.y = zeroAxis("seconds", []float64{x.Samples[len(x.Samples)-1].Second / 1.02}), zeroAxis("read IOPS", values)
	return p
}

// sameRise gives all panels the highest of their axes, so that runs can be compared.
func sameRise(panels []panel) {
	var highest axis
	for _, p := range panels {
		if p.y.hi > highest.hi {
			highest = p.y
		}
	}
	for i := range panels {
		panels[i].y = highest
	}
}

// thinned replaces neighbouring points by one until there are at most so many in a
// line. A line that ends is not joined with the next.
func thinned(points []point, most int, value func([]point) float64) []point {
	every := (len(points) + most - 1) / most
	if every <= 1 {
		return points
	}
	var out []point
	for len(points) > 0 {
		n := 1
		for n < every && n < len(points) && !points[n-1].gap {
			n++
		}
		some := points[:n]
		out = append(out, point{x: (some[0].x + some[n-1].x) / 2, y: value(some), gap: some[n-1].gap})
		points = points[n:]
	}
	return out
}

func mean(points []point) float64 {
	sum := 0.0
	for _, p := range points {
		sum += p.y
	}
	return sum / float64(len(points))
}

func highest(points []point) float64 {
	most := points[0].y
	for _, p := range points {
		most = max(most, p.y)
	}
	return most
}

// timeline lays the measured seconds of runs one after the other.
type timeline struct {
	runs  []*Result
	start []float64 // of each run
	end   float64
}

// newTimeline takes the runs of a volume in the order of the report.
func newTimeline(r *Report, v Volume) (t timeline) {
	for i := range r.Runs {
		x := &r.Runs[i]
		n := len(x.Samples)
		if x.Setting.Volume == v && n > 0 && known(x.Samples[n-1].Second) {
			t.runs, t.start = append(t.runs, x), append(t.start, t.end)
			t.end += max(x.Samples[n-1].Second, 0)
		}
	}
	return t
}

// line draws a figure of the samples, its highest values where it must be thinned.
// A sample stands in the middle of its second.
func (t timeline) line(class, style string, of func(*Sample) float64) line {
	l := line{class: class, style: strings.TrimSpace(style + " thin")}
	for i, x := range t.runs {
		before := 0.0
		for j := range x.Samples {
			s := &x.Samples[j]
			l.points = append(l.points, point{x: t.start[i] + (before+s.Second)/2, y: of(s), gap: j == len(x.Samples)-1})
			before = s.Second
		}
	}
	l.points = thinned(l.points, mostLinePoint, highest)
	return l
}

// areas tell which run a place belongs to; every other run is shaded.
func (t timeline) areas() (out []area) {
	for i, x := range t.runs {
		end := t.end
		if i+1 < len(t.start) {
			end = t.start[i+1]
		}
		out = append(out, area{from: t.start[i], to: end, shaded: i%2 == 0,
			tip: fmt.Sprintf("%s; control group at most %s MiB, resident %s, heap %s", x.tip(), inMiB(x.CgroupPeak), inMiB(x.RSSMean), inMiB(x.HeapMean))})
	}
	return out
}

// memoryFigure is memory over time, a panel a volume.
func (r *Report) memoryFigure() figure {
	f := figure{id: "memory", title: "Memory over time", columns: 1, height: 180,
		caption: "The measured seconds of the runs one after the other in the order of the report, every other run shaded; what lies between them is " +
			"left out. The heap is that of Go; buffers, cache and mapped files are outside of it."}
	e := &r.Experiment
	f.legend = []key{{class: "c0", text: "resident"}, {class: "c1", style: "dot", text: "Go heap"}}
	grouped := slices.ContainsFunc(r.Runs, func(x Result) bool { return x.CgroupMean > 0 })
	if grouped {
		f.legend = append(f.legend, key{class: "c2", text: "control group, page cache included"})
	}
	if e.CgroupMemory > 0 || e.MemoryLimit > 0 {
		f.legend = append(f.legend, key{class: "c7", style: "dash thin", text: "limits"})
	}
	for _, v := range r.axes().Volumes {
		t := newTimeline(r, v)
		if len(t.runs) == 0 {
			continue
		}
		p := panel{title: v.words(), areas: t.areas(), x: zeroAxis("seconds measured, run after run", []float64{t.end})}
		p.x.hi = max(t.end, 1e-3)
		p.x.ticks = slices.DeleteFunc(p.x.ticks, func(m mark) bool { return m.at > p.x.hi })
		if grouped {
			p.lines = append(p.lines, t.line("c2", "", func(s *Sample) float64 { return mebibytes(s.Cgroup) }))
		}
		p.lines = append(p.lines,
			t.line("c0", "", func(s *Sample) float64 { return mebibytes(s.RSS) }),
			t.line("c1", "dot", func(s *Sample) float64 { return mebibytes(s.Heap) }))
		var values []float64
		for _, l := range p.lines {
			for _, at := range l.points {
				values = append(values, at.y)
			}
		}
		for _, limit := range []struct {
			name  string
			bytes int64
		}{{"control group", e.CgroupMemory}, {"store", e.MemoryLimit}} {
			if limit.bytes > 0 {
				p.levels = append(p.levels, level{y: mebibytes(limit.bytes), text: fmt.Sprintf("limit of the %s, %s MiB", limit.name, inMiB(limit.bytes))})
				values = append(values, 1.06*mebibytes(limit.bytes))
			}
		}
		p.y = zeroAxis("MiB", values)
		f.panels = append(f.panels, p)
	}
	return f
}
