package ops

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spratdb/sprat"
)

// maxIndexes is of how many indexes there are figures; a server of a hundred thousand
// must not drown whoever collects them. sprat_indexes counts all.
const maxIndexes = 1000

// Collector shows the figures of a store. Register it.
type Collector struct {
	stats func() (sprat.StoreStats, error)
	descs map[string]*prometheus.Desc
	fault *prometheus.Desc // of stats itself
}

// NewCollector returns a collector of figures, those of sprat.Store.Stats.
func NewCollector(stats func() (sprat.StoreStats, error)) *Collector {
	c := &Collector{stats: stats, descs: map[string]*prometheus.Desc{}}
	describe(c, storeFigures)
	describe(c, tierFigures, "tier")
	describe(c, indexFigures, "index")
	describe(c, presetFigures, "index", "recall")
	c.describe("memory_bytes", "Memory, by what holds it.", "part")
	c.describe("budget_bytes", "What the parts of the memory limit may take.", "part")
	c.describe("io_info", "How the volume is read, and why not better.", "engine", "ring", "cause", "buffer_cause")
	c.describe("index_info", "1 for an index, with its metric.", "index", "metric")
	c.describe("index_memory_bytes", "Memory of an index, by what holds it.", "index", "part")
	c.describe("index_disk_bytes", "Size of an index on the volume.", "index", "part")
	c.describe("index_broken", "1 for an index that cannot be used.", "index")
	c.fault = prometheus.NewDesc("sprat_stats_error", "The store's figures cannot be had.", nil, nil)
	return c
}

func describe[T any](c *Collector, figures []figure[T], labels ...string) {
	for _, f := range figures {
		c.describe(f.name, f.help, labels...)
	}
}

func (c *Collector) describe(name, help string, labels ...string) {
	c.descs[name] = prometheus.NewDesc("sprat_"+name, help, labels, nil)
}

// Describe is of prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect is of prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	st, err := c.stats()
	if err != nil {
		to <- prometheus.NewInvalidMetric(c.fault, err)
		return
	}
	send(c, to, storeFigures, &st)
	c.parts(to, "memory_bytes", st.Memory)
	c.parts(to, "budget_bytes", st.Budget)
	for name, t := range st.Cache {
		send(c, to, tierFigures, &t, name)
	}
	c.one(to, "io_info", 1, st.IO.Engine, st.IO.Ring, st.IO.Cause, st.Volume.BufferCause)
	for i := range st.Indexes[:min(len(st.Indexes), maxIndexes)] {
		c.index(to, &st.Indexes[i])
	}
	left := maxIndexes
	for name := range st.Broken {
		if left--; left < 0 {
			break
		}
		c.one(to, "index_broken", 1, name)
	}
}

func (c *Collector) index(to chan<- prometheus.Metric, x *sprat.IndexStats) {
	c.one(to, "index_info", 1, x.Name, x.Metric)
	send(c, to, indexFigures, x, x.Name)
	c.parts(to, "index_memory_bytes", x.Memory, x.Name)
	for _, f := range diskParts {
		c.one(to, "index_disk_bytes", f.of(x), x.Name, f.name)
	}
	for i := range x.Presets {
		p := &x.Presets[i]
		send(c, to, presetFigures, p, x.Name, strconv.FormatFloat(p.Recall, 'g', -1, 64))
	}
}

func send[T any](c *Collector, to chan<- prometheus.Metric, figures []figure[T], of *T, labels ...string) {
	for _, f := range figures {
		to <- constant(c.descs[f.name], f.kind, f.of(of), labels)
	}
}

// parts sends one metric for each entry of m, whose name is the last label.
func (c *Collector) parts(to chan<- prometheus.Metric, name string, m map[string]int64, labels ...string) {
	for part, n := range m {
		c.one(to, name, float64(n), append(labels[:len(labels):len(labels)], part)...)
	}
}

func (c *Collector) one(to chan<- prometheus.Metric, name string, value float64, labels ...string) {
	to <- constant(c.descs[name], prometheus.GaugeValue, value, labels)
}

// constant is a metric. Labels hold texts of the system, which may be no UTF-8.
func constant(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels []string) prometheus.Metric {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
	}
	m, err := prometheus.NewConstMetric(desc, kind, value, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}
