package fio

import (
	"fmt"
	"strconv"
)

// indexText writes the costs of queries and the predictions.
func (r *Report) indexText(p *page) {
	ix := r.Index
	if ix == nil {
		return
	}
	whose := "given"
	if ix.OwnVectors {
		whose = "of its own vectors"
	}
	p.title("\nqueries of %s: %s vectors of %d dimensions, k = %d, sample of %s %s", ix.Name,
		grouped(int64(ix.Vectors)), ix.Dimension, ix.K, grouped(int64(ix.Sample)), whose)
	ix.costs(p, "without a cache", func(c Cell) *Spent { return c.Cold })
	if ix.CacheBytes > 0 {
		ix.costs(p, "with the cache, which holds "+sizeText(ix.CacheBytes), func(c Cell) *Spent { return c.Cached })
	}
}

// costs writes the table of one way to measure, and what a wanted rate takes.
func (ix *IndexReport) costs(p *page, how string, of func(Cell) *Spent) {
	p.title("\n%s: QPS of %d clients (* the index's own dials)", how, ix.Clients)
	p.row("probe", "rescore", "reads", "KiB", "waves", "CPU", "hits",
		"by IOPS", "by throughput", "by CPU", "binds", "QPS", "latency", "floor")
	var wanted *Needs
	for _, c := range ix.Grid {
		if s := of(c); s != nil {
			p.row(costRow(c, s)...)
			wanted = s.Needs
		}
	}
	if wanted == nil {
		return
	}
	p.title("\n%s: needed for %s QPS", how, decimal(wanted.QPS, 0))
	p.row("probe", "rescore", "IOPS", "MiB/s", "processors", "missing here")
	for _, c := range ix.Grid {
		if s := of(c); s != nil && s.Needs != nil {
			p.row(needRow(c, s.Needs)...)
		}
	}
}

// caps are the first two cells of a row.
func (c Cell) caps() []string {
	probe := strconv.Itoa(c.SearchProbe)
	if c.Own {
		probe += "*"
	}
	return []string{probe, strconv.Itoa(c.RescoreLimit)}
}

func costRow(c Cell, s *Spent) []string {
	q := s.Prediction
	return append(c.caps(), decimal(s.Reads, 1), decimal(s.Bytes/1024, 1), decimal(s.Waves, 1),
		decimal(1000*s.CPUTime, 2)+" ms", decimal(100*s.HitRatio, 0)+" %",
		ceiling(q.ByIOPS), ceiling(q.ByThroughput), ceiling(q.ByCPU), q.Binds, whole(q.QPS),
		decimal(q.Latency, 1)+" ms", decimal(q.LatencyFloor, 2)+" ms")
}

func needRow(c Cell, n *Needs) []string {
	missing := n.Missing
	if missing == "" {
		missing = "nothing"
	}
	return append(c.caps(), whole(n.IOPS), decimal(n.MiBps, 0), decimal(n.Processors, 2), missing)
}

// ceiling is a limit, of which 0 is none.
func ceiling(v float64) string {
	if v == 0 {
		return "-"
	}
	return whole(v)
}

func decimal(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// whole writes a number without its fraction, with commas.
func whole(v float64) string { return grouped(int64(v + 0.5)) }

// grouped writes a whole number with commas between groups of three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// microsText writes microseconds in the unit that suits.
func microsText(us float64) string {
	switch {
	case us < 1000:
		return decimal(us, 0) + " us"
	case us < 100_000:
		return decimal(us/1000, 1) + " ms"
	}
	return decimal(us/1000, 0) + " ms"
}

// sizeText writes bytes in the largest unit that leaves a number above 1.
func sizeText(n int64) string {
	v := float64(n)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if v < 1024 {
			return strconv.FormatFloat(round(v, 1), 'f', -1, 64) + " " + unit
		}
		v /= 1024
	}
	return strconv.FormatFloat(round(v, 1), 'f', -1, 64) + " TiB"
}

func yes(b bool) string { return choose(b, "yes", "no") }

func memoryText(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return sizeText(n)
}

// memlockText: -1 is no limit, 0 unknown.
func memlockText(n int64) string {
	switch n {
	case -1:
		return "unlimited"
	case 0:
		return "unknown"
	}
	return sizeText(n)
}

func throttleText(iops, bytes int64) string {
	if iops == 0 && bytes == 0 {
		return "unlimited"
	}
	text := "any IOPS"
	if iops > 0 {
		text = fmt.Sprintf("%s IOPS", grouped(iops))
	}
	if bytes > 0 {
		text += " and " + sizeText(bytes) + "/s"
	}
	return text
}
