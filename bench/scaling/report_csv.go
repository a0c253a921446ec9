package scaling

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/spratdb/sprat/bench"
)

// csvColumn is a figure of a run. Columns are only ever added at the end of their
// group: programs read them by name.
type csvColumn struct {
	name string
	of   func(*Result, *bench.WorkloadReport) string
}

// WriteCSV writes a row a run with all figures that are one number, the names of
// the columns first. What is not known is empty.
func (r *Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	columns := csvColumns()
	row := make([]string, len(columns))
	for i := range columns {
		row[i] = columns[i].name
	}
	if err := c.Write(row); err != nil {
		return err
	}
	for _, run := range r.sorted() {
		for i := range columns {
			row[i] = plain(columns[i].of(run, run.load()))
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func csvColumns() []csvColumn {
	columns := csvSettingColumns()
	columns = append(columns, csvLoadColumns()...)
	columns = append(columns, csvVolumeColumns()...)
	return append(columns, csvPredictionColumns()...)
}

func csvSettingColumns() []csvColumn {
	whole := func(name string, of func(*Setting) int64) csvColumn {
		return csvColumn{name, func(r *Result, _ *bench.WorkloadReport) string { return strconv.FormatInt(of(&r.Setting), 10) }}
	}
	text := func(name string, of func(*Result) string) csvColumn {
		return csvColumn{name, func(r *Result, _ *bench.WorkloadReport) string { return of(r) }}
	}
	return []csvColumn{
		whole("volume_iops", func(s *Setting) int64 { return s.Volume.IOPS }),
		whole("volume_mibps", func(s *Setting) int64 { return s.Volume.MiBps }),
		text("engine", func(r *Result) string { return r.Setting.Engine }),
		whole("clients", func(s *Setting) int64 { return int64(s.Clients) }),
		whole("search_probe", func(s *Setting) int64 { return int64(s.SearchProbe) }),
		whole("rescore_limit", func(s *Setting) int64 { return int64(s.RescoreLimit) }),
		text("stop_rules", func(r *Result) string { return onOff(r.Setting.StopRules) }),
		text("io_engine", func(r *Result) string { return r.IOEngine }),
		text("direct_io", func(r *Result) string { return strconv.FormatBool(r.DirectIO) }),
		text("cold", func(r *Result) string { return orElse(r.Cold, "yes") }),
	}
}

func csvLoadColumns() []csvColumn {
	load := func(name string, of func(*bench.WorkloadReport) float64) csvColumn {
		return csvColumn{name, func(_ *Result, w *bench.WorkloadReport) string { return csvNumber(of(w)) }}
	}
	return []csvColumn{
		load("queries", func(w *bench.WorkloadReport) float64 { return float64(w.Queries) }),
		load("seconds", func(w *bench.WorkloadReport) float64 { return w.Seconds }),
		{"recall", func(_ *Result, w *bench.WorkloadReport) string {
			if w.Recall == nil {
				return ""
			}
			return csvNumber(*w.Recall)
		}},
		load("qps", func(w *bench.WorkloadReport) float64 { return w.QPS }),
		load("latency_mean_ms", func(w *bench.WorkloadReport) float64 { return w.Latency.Mean }),
		load("latency_p50_ms", func(w *bench.WorkloadReport) float64 { return w.Latency.P50 }),
		load("latency_p95_ms", func(w *bench.WorkloadReport) float64 { return w.Latency.P95 }),
		load("latency_p99_ms", func(w *bench.WorkloadReport) float64 { return w.Latency.P99 }),
		load("latency_max_ms", func(w *bench.WorkloadReport) float64 { return w.Latency.Max }),
		load("reads_per_query", func(w *bench.WorkloadReport) float64 { return w.ReadsPerQuery }),
		load("posting_reads_per_query", func(w *bench.WorkloadReport) float64 { return w.PostingReadsPerQuery }),
		load("refine_reads_per_query", func(w *bench.WorkloadReport) float64 { return w.RefineReadsPerQuery }),
		load("record_reads_per_query", func(w *bench.WorkloadReport) float64 { return w.RecordReadsPerQuery }),
		load("kib_per_query", func(w *bench.WorkloadReport) float64 { return w.KiBPerQuery }),
		load("waves_per_query", func(w *bench.WorkloadReport) float64 { return w.WavesPerQuery }),
		load("probes_per_query", func(w *bench.WorkloadReport) float64 { return w.ProbesPerQuery }),
		load("codes_per_query", func(w *bench.WorkloadReport) float64 { return w.CodesPerQuery }),
		load("cache_hit_ratio", func(w *bench.WorkloadReport) float64 { return w.CacheHitRatio }),
		load("cpu_ms_per_query", func(w *bench.WorkloadReport) float64 { return w.CPUMSPerQuery }),
		load("partial", func(w *bench.WorkloadReport) float64 { return float64(w.Partial) }),
		load("rss_mib", func(w *bench.WorkloadReport) float64 { return w.RSSMiB }),
		load("rss_peak_mib", func(w *bench.WorkloadReport) float64 { return w.RSSPeakMiB }),
	}
}

func csvVolumeColumns() []csvColumn {
	number := func(name string, of func(*Result) float64) csvColumn {
		return csvColumn{name, func(r *Result, _ *bench.WorkloadReport) string { return csvNumber(of(r)) }}
	}
	size := func(name string, of func(*Result) int64) csvColumn {
		return csvColumn{name, func(r *Result, _ *bench.WorkloadReport) string { return strconv.FormatInt(of(r), 10) }}
	}
	return []csvColumn{
		number("limit_iops", func(r *Result) float64 { return r.Limit.IOPS }),
		number("limit_mibps", func(r *Result) float64 { return r.Limit.MiBps }),
		number("base_latency_ms", func(r *Result) float64 { return r.Limit.BaseLatency }),
		number("kib_per_read", func(r *Result) float64 { return r.KiBPerRead }),
		number("iops", func(r *Result) float64 { return r.IOPS }),
		number("mibps", func(r *Result) float64 { return r.MiBps }),
		number("share_of_limit", func(r *Result) float64 { return r.ShareOfLimit }),
		number("device_iops", func(r *Result) float64 { return r.DeviceIOPS }),
		number("in_flight", func(r *Result) float64 { return r.InFlight }),
		number("device_in_flight", func(r *Result) float64 { return r.Device }),
		number("utilised", func(r *Result) float64 { return r.Utilised }),
		number("cpu", func(r *Result) float64 { return r.CPU }),
		number("cpu_share", func(r *Result) float64 { return r.CPUShare }),
		number("machine_cpu", func(r *Result) float64 { return r.Machine }),
		size("cgroup_mean_bytes", func(r *Result) int64 { return r.CgroupMean }),
		size("cgroup_peak_bytes", func(r *Result) int64 { return r.CgroupPeak }),
		size("rss_mean_bytes", func(r *Result) int64 { return r.RSSMean }),
		size("heap_mean_bytes", func(r *Result) int64 { return r.HeapMean }),
	}
}

func csvPredictionColumns() []csvColumn {
	number := func(name string, of func(*Prediction) float64) csvColumn {
		return csvColumn{name, func(r *Result, _ *bench.WorkloadReport) string {
			if r.Prediction == nil {
				return ""
			}
			return csvNumber(of(r.Prediction))
		}}
	}
	text := func(name string, of func(*Prediction) string) csvColumn {
		return csvColumn{name, func(r *Result, _ *bench.WorkloadReport) string {
			if r.Prediction == nil {
				return ""
			}
			return of(r.Prediction)
		}}
	}
	return []csvColumn{
		number("predicted_qps", func(p *Prediction) float64 { return p.QPS }),
		number("predicted_error", func(p *Prediction) float64 { return p.Error }),
		text("predicted_near", func(p *Prediction) string { return strconv.FormatBool(p.Near) }),
		text("predicted_judged", func(p *Prediction) string { return strconv.FormatBool(p.Judged) }),
		text("predicted_from", func(p *Prediction) string { return p.From }),
		number("qps_by_iops", func(p *Prediction) float64 { return p.ByIOPS }),
		number("qps_by_throughput", func(p *Prediction) float64 { return p.ByThroughput }),
		number("qps_by_cpu", func(p *Prediction) float64 { return p.ByCPU }),
		number("qps_ceiling", func(p *Prediction) float64 { return p.Ceiling }),
		text("binds", func(p *Prediction) string { return p.Binds }),
	}
}

// csvNumber writes a number for programs, with up to six digits after the point.
func csvNumber(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(round(v, 6), 'f', -1, 64)
}
