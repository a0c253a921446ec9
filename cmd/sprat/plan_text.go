package main

import (
	"fmt"
	"math"

	"github.com/spratdb/sprat/fio/plan"
)

// planText is a plan in words and tables.
func planText(p *page, r *plan.Plan) {
	q, v, c := &r.Request, &r.PerVector, &r.PerQuery
	p.line("%s vectors x %d, %s: recall %v at k = %d, %s QPS", count(q.Vectors), q.Dimension, q.Metric, q.Recall, q.K, planRate(q.QPS))

	p.line("\nMemory and disk")
	p.row("memory", size(r.MemoryBytes), fmt.Sprintf("%s bytes/vector: centroids %s, directory %s, slots %s; the rest is the store's",
		decimal(v.Memory, 1), decimal(v.Centroids, 1), decimal(v.Directory, 1), decimal(v.Slots, 1)))
	if r.CacheBytes > 0 {
		p.row("cache", size(r.CacheBytes), fmt.Sprintf("of the memory limit of %s: %.0f %% of the postings", size(q.MemoryLimit), 100*c.CachedPostings))
	}
	p.row("disk", size(r.DiskBytes), fmt.Sprintf("%.0f bytes/vector: postings %.0f, refine records %.0f, vector records %.0f, catalog %.0f",
		v.Disk, v.Postings, v.Refine, v.Records, v.Catalog))
	p.row("", "", fmt.Sprintf("%.2f x the raw vectors beyond them", v.Disk/v.Raw-1))

	p.line("\nA query")
	p.row("reads", decimal(c.Reads, 1), fmt.Sprintf("postings %.1f, records %.1f", c.PostingReads, c.RecordReads))
	p.row("KiB", decimal(c.KiB, 0), fmt.Sprintf("%.1f a read", c.KiB/c.Reads))
	p.row("CPU", decimal(c.CPUMS, 2)+" ms", "")
	p.row("waves", decimal(c.Waves, 1), "groups of reads, one after the other")

	planAnswer(p, r)
	planRates(p, r)
	p.line("\nNotes")
	for _, note := range r.Notes {
		p.line("  %s", note)
	}
}

func planAnswer(p *page, r *plan.Plan) {
	a := r.Answer()
	p.line("\nAt %s QPS", planRate(a.QPS))
	p.row("IOPS", count(int64(a.IOPS)))
	p.row("MiB/s", count(int64(a.MiBps)))
	p.row("cores", fmt.Sprint(a.Cores), decimal(a.Busy, 2)+" busy")

	p.line("\nThe cheapest setting of each volume type (%s, %s)", r.Prices.Name, r.Prices.Date)
	p.row("volume", "number", "GiB", "IOPS", "MiB/s", r.Prices.Currency+"/month", "per 100 QPS", "allows QPS", "first limit", "clients")
	for _, v := range a.Volumes {
		s := v.Setting
		name := v.Type
		if !v.Reached {
			name += " (not reached)"
		}
		p.row(name, count(s.Volumes), count(s.GiB), count(s.IOPS), decimal(s.MiBps, 0), decimal(s.Month, 2),
			decimal(v.Per100, 2), count(int64(lowest(v.Ceilings))), v.Binds, count(v.Clients))
	}
}

// planRate writes a rate: whole ones with commas, others with three digits.
func planRate(qps float64) string {
	if qps == math.Trunc(qps) {
		return count(int64(qps))
	}
	return decimal(qps, 3)
}

// lowest is the rate that all the ceilings allow.
func lowest(l plan.Limits) float64 {
	qps := min(l.IOPS, l.MiBps, l.CPU)
	if l.Clients > 0 {
		qps = min(qps, l.Clients)
	}
	return qps
}

// planRates is the cost table: a line for each rate and volume type.
func planRates(p *page, r *plan.Plan) {
	p.line("\nBy rate")
	p.row("QPS", "IOPS", "MiB/s", "cores", "volume", "setting", r.Prices.Currency+"/month", "per 100 QPS")
	for i := range r.Rows {
		row := &r.Rows[i]
		cells := []string{planRate(row.QPS), count(int64(row.IOPS)), count(int64(row.MiBps)), count(row.Cores)}
		for _, v := range row.Volumes {
			p.row(append(cells, v.Type, planSetting(&v), decimal(v.Setting.Month, 2), decimal(v.Per100, 2))...)
			cells = make([]string, len(cells))
		}
	}
}

func planSetting(v *plan.Reached) string {
	s := v.Setting
	text := fmt.Sprintf("%s GiB, %s IOPS, %.0f MiB/s", count(s.GiB), count(s.IOPS), s.MiBps)
	if s.Volumes > 1 {
		text = fmt.Sprintf("%s x %s", count(s.Volumes), text)
	}
	if !v.Reached {
		text = "not reached; " + text
	}
	return text
}
