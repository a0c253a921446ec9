package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// table is one of the report, for Markdown and HTML alike.
type table struct {
	Title string
	Note  string // beneath the title
	Head  []string
	Text  int // leading columns that are words, not figures
	Rows  [][]string
}

// tables are all of the report, without those that would be empty.
func (r *Report) tables() (out []table) {
	add := func(t *table) {
		if t != nil && len(t.Rows) > 0 {
			out = append(out, *t)
		}
	}
	add(r.bestTable())
	add(r.referenceTable())
	add(r.saturationTable())
	add(r.limitTable())
	for _, v := range r.axes().Volumes {
		add(r.gridTable(v))
	}
	add(r.flatTable())
	add(r.clientsTable())
	add(r.enginesTable())
	add(r.memoryTable())
	return out
}

func (r *Report) bestTable() *table {
	t := &table{
		Title: "Highest rate at a recall",
		Note:  "The fastest run of each volume with at least this recall, whatever its dials, clients and engine; mmap is left out.",
		Head:  []string{"volume", "run", "recall at least", "recall", "QPS", "p99 ms", "reads/query", "CPU ms/query"},
		Text:  2,
	}
	for _, b := range r.Findings().Best {
		w := b.run.load()
		t.Rows = append(t.Rows, []string{b.Volume.words(), settingWords(&b.Setting), fixed(b.AtLeast, 2), fixed(b.Recall, 4),
			decimal(b.QPS), decimal(b.P99), fixed(w.ReadsPerQuery, 1), fixed(w.CPUMSPerQuery, 2)})
	}
	return t
}

// settingWords names a run without its volume.
func settingWords(s *Setting) string {
	return fmt.Sprintf("%s, %d clients, %s", plain(s.Engine), s.Clients, s.Dials())
}

func (r *Report) saturationTable() *table {
	t := &table{
		Title: "Share of the measured limit",
		Note: fmt.Sprintf("IOPS or throughput that the queries used over what the volume gave right before, whichever share is more. "+
			"Only runs which the volume bounds: at least %d clients, and processors that would carry %s times the rate.",
			saturatingClients, fixed(clearlyBound, 2)),
		Head: []string{"volume", "lowest run", "runs", "lowest", "median", "highest"},
		Text: 2,
	}
	for _, v := range r.axes().Volumes {
		var runs []*Result
		for _, run := range r.where(func(s *Setting) bool { return s.Volume == v }) {
			if r.saturates(run) {
				runs = append(runs, run)
			}
		}
		if len(runs) == 0 {
			t.Rows = append(t.Rows, []string{v.words(), "none is bound by the volume", "0", none, none, none})
			continue
		}
		slices.SortStableFunc(runs, func(a, b *Result) int { return cmp.Compare(a.ShareOfLimit, b.ShareOfLimit) })
		t.Rows = append(t.Rows, []string{v.words(), settingWords(&runs[0].Setting), itoa(len(runs)), percent(runs[0].ShareOfLimit),
			percent(runs[len(runs)/2].ShareOfLimit), percent(runs[len(runs)-1].ShareOfLimit)})
	}
	return t
}

func (r *Report) limitTable() *table {
	t := &table{
		Title: "What the volumes gave",
		Note:  "Random reads through the I/O engine, right before the runs of a setting; lowest and highest where it was measured more than once.",
		Head:  []string{"volume", "IOPS at 4 KiB", "MiB/s at 256 KiB", "ms of a read alone"},
		Text:  1,
	}
	for _, v := range r.axes().Volumes {
		runs := r.where(func(s *Setting) bool { return s.Volume == v })
		t.Rows = append(t.Rows, []string{v.words(),
			span(runs, func(x *Result) float64 { return x.Limit.IOPS }),
			span(runs, func(x *Result) float64 { return x.Limit.MiBps }),
			span(runs, func(x *Result) float64 { return x.Limit.BaseLatency })})
	}
	return t
}

// span is the lowest and highest of a figure, once when they read the same.
func span(runs []*Result, of func(*Result) float64) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, r := range runs {
		if v := of(r); known(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	a, b := decimal(least), decimal(most)
	if a == b {
		return a
	}
	return a + " – " + b
}

// gridTable is every run of the dials on one volume, with the engine and the number of
// clients that the dials were measured with.
func (r *Report) gridTable(v Volume) *table {
	clients, engine := r.axes().base()
	t := &table{
		Title: "Dials: " + v.words(),
		Note:  fmt.Sprintf("%s, %d clients. Predicted from the cost of a query that another run measured, and the limits of this volume.", plain(engine), clients),
		Head: []string{"probe", "rescore", "rules", "recall", "QPS", "mean ms", "p99 ms", "reads/query", "KiB/read", "CPU ms/query", "IOPS",
			"share of limit", "predicted QPS", "off by", "binds"},
	}
	for _, run := range r.where(func(s *Setting) bool { return s.Volume == v && s.Engine == engine && s.Clients == clients }) {
		s, w := &run.Setting, run.load()
		row := []string{itoa(s.SearchProbe), itoa(s.RescoreLimit), onOff(s.StopRules), recallWords(run), decimal(w.QPS),
			decimal(w.Latency.Mean), decimal(w.Latency.P99), fixedOrNone(w.ReadsPerQuery, 1), fixedOrNone(run.KiBPerRead, 1),
			fixedOrNone(w.CPUMSPerQuery, 2), decimal(run.IOPS), percentOrNone(run.ShareOfLimit)}
		t.Rows = append(t.Rows, append(row, predictionCells(run.Prediction)...))
	}
	return t
}

// predictionCells are predicted rate, deviation and what binds.
func predictionCells(p *Prediction) []string {
	if p == nil {
		return []string{none, none, none}
	}
	off := signed(p.Error)
	if !p.Judged {
		off += " (does not count)"
	}
	return []string{decimal(p.QPS), off, orElse(plain(p.Binds), none)}
}

func recallWords(run *Result) string {
	if v := run.recall(); v >= 0 {
		return fixedOrNone(v, 4)
	}
	return none
}

func fixedOrNone(v float64, digits int) string {
	if !known(v) {
		return none
	}
	return fixed(v, digits)
}

func (r *Report) flatTable() *table {
	if len(r.Flat) == 0 {
		return nil
	}
	few, many := r.Flat[0].Few, r.Flat[0].Many
	t := &table{
		Title: "Rate with many clients",
		Note:  fmt.Sprintf("QPS at %d clients / QPS at %d: a rate that stays flat is at least %s.", many, few, fixed(MinFlat, 2)),
		Head:  []string{"volume", "engine", "dials", fmt.Sprintf("QPS at %d", few), fmt.Sprintf("QPS at %d", many), "ratio"},
		Text:  3,
	}
	for _, f := range r.Flat {
		t.Rows = append(t.Rows, []string{f.Volume.words(), plain(f.Engine), f.Dials, decimal(f.QPSFew), decimal(f.QPS), fixedOrNone(f.Ratio, 3)})
	}
	return t
}

// dials are the parts of a setting that are the query's.
func dials(s *Setting) Setting {
	return Setting{SearchProbe: s.SearchProbe, RescoreLimit: s.RescoreLimit, StopRules: s.StopRules}
}

// clientsTable has the runs of the two points of dials at which clients are compared.
func (r *Report) clientsTable() *table {
	a := r.axes()
	if len(a.Clients) < 2 {
		return nil
	}
	_, engine := a.base()
	points := a.points()
	t := &table{
		Title: "Clients",
		Note:  fmt.Sprintf("%s. The ceiling is the lowest of what IOPS, throughput and processors allow.", plain(engine)),
		Head: []string{"volume", "dials", "clients", "QPS", "mean ms", "p99 ms", "in flight", "CPU ms/query", "share of limit", "ceiling QPS",
			"predicted QPS", "off by", "binds"},
		Text: 2,
	}
	for _, run := range r.where(func(s *Setting) bool { return s.Engine == engine && slices.Contains(points, dials(s)) }) {
		s, w := &run.Setting, run.load()
		ceiling := none
		if run.Prediction != nil {
			ceiling = decimal(run.Prediction.Ceiling)
		}
		row := []string{s.Volume.words(), s.Dials(), itoa(s.Clients), decimal(w.QPS), decimal(w.Latency.Mean), decimal(w.Latency.P99),
			fixedOrNone(run.InFlight, 1), fixedOrNone(w.CPUMSPerQuery, 2), percentOrNone(run.ShareOfLimit), ceiling}
		t.Rows = append(t.Rows, append(row, predictionCells(run.Prediction)...))
	}
	return t
}

func (r *Report) enginesTable() *table {
	a := r.axes()
	if len(a.Engines) < 2 {
		return nil
	}
	clients, _ := a.base()
	points := a.points()
	t := &table{
		Title: "Engines side by side",
		Note:  fmt.Sprintf("%d clients. mmap reads through the page cache, so its reads are not all of the volume.", clients),
		Head: []string{"volume", "dials", "engine", "I/O as had", "recall", "QPS", "mean ms", "p99 ms", "CPU ms/query", "reads/query",
			"device IOPS", "in flight"},
		Text: 4,
	}
	runs := r.where(func(s *Setting) bool { return s.Clients == clients && slices.Contains(points, dials(s)) })
	// Engines stand beside each other, so dials come before the engine here.
	slices.SortStableFunc(runs, func(x, y *Result) int {
		return cmp.Or(compareVolumes(x.Setting.Volume, y.Setting.Volume),
			cmp.Compare(slices.Index(points, dials(&x.Setting)), slices.Index(points, dials(&y.Setting))))
	})
	for _, run := range runs {
		s, w := &run.Setting, run.load()
		had := strings.TrimSpace(plain(run.IOEngine) + map[bool]string{true: " direct", false: " buffered"}[run.DirectIO])
		t.Rows = append(t.Rows, []string{s.Volume.words(), s.Dials(), plain(s.Engine), had, recallWords(run), decimal(w.QPS),
			decimal(w.Latency.Mean), decimal(w.Latency.P99), fixedOrNone(w.CPUMSPerQuery, 2), fixedOrNone(w.ReadsPerQuery, 1),
			decimal(run.DeviceIOPS), fixedOrNone(run.InFlight, 1)})
	}
	return t
}

func (r *Report) memoryTable() *table {
	t := &table{
		Title: "Memory",
		Note:  "MiB, the most over the runs. The control group counts the page cache, too.",
		Head:  []string{"volume", "engine", "runs", "control group, peak", "resident, mean of a run", "Go heap, mean of a run"},
		Text:  2,
	}
	a := r.axes()
	for _, v := range a.Volumes {
		for _, engine := range a.Engines {
			var group, rss, heap int64
			runs := r.where(func(s *Setting) bool { return s.Volume == v && s.Engine == engine })
			for _, run := range runs {
				group, rss, heap = max(group, run.CgroupPeak), max(rss, run.RSSMean), max(heap, run.HeapMean)
			}
			if len(runs) > 0 {
				t.Rows = append(t.Rows, []string{v.words(), plain(engine), itoa(len(runs)), inMiB(group), inMiB(rss), inMiB(heap)})
			}
		}
	}
	return t
}
