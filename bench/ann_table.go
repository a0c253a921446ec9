package bench

import (
	"fmt"
	"io"
	"strings"
)

// annBudgets are the most reads a query may cost, by set and recall: k = 10,
// nothing cached, exact distances and keys included.
var annBudgets = map[string]map[float64]float64{
	"text-lsa384": {0.95: 25, 0.99: 50},
	"glove100":    {0.95: 40, 0.99: 90},
	"fashion784":  {0.95: 15, 0.99: 22},
	"gist960":     {0.95: 30, 0.99: 60},
	"sift128":     {0.95: 30, 0.99: 60},
}

// OverBudget names the sets and recalls whose reads exceed their budget or that
// were not reached. Sets without a budget are never named.
func (r *ANNReport) OverBudget() (over []string) {
	for _, s := range r.Sets {
		for _, at := range s.At {
			budget, ok := annBudgets[s.Name][at.Recall]
			switch {
			case !ok:
			case !at.Reached:
				over = append(over, fmt.Sprintf("%s: recall %g was not reached (best %.4f)", s.Name, at.Recall, at.Best))
			case at.ReadsPerQuery > budget:
				over = append(over, fmt.Sprintf("%s: %.1f reads at recall %g, the budget is %g",
					s.Name, at.ReadsPerQuery, at.Recall, budget))
			}
		}
	}
	return over
}

// Markdown writes the report as a document of tables.
func (r *ANNReport) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Recall against reads\n\n")
	fmt.Fprintf(&b, "k = %d, one query at a time, nothing cached, exact distances and keys included. A read is one "+
		"operation of the volume (up to 256 KiB). Each set is asked at rising search probes and at rising recall targets, "+
		"everything else by default; figures at a recall are interpolated between the two neighbouring points on the "+
		"frontier of all that was measured.\n\n", r.K)
	m := r.Machine
	fmt.Fprintf(&b, "Machine: %s, %d cores used, %s kernels; %s; %s.\n\n", m.CPU, m.Cores, m.Kernels, m.System, m.Go)
	r.summary(&b)
	r.details(&b)
	r.targets(&b)
	r.builds(&b)
	r.noise(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is one row a set: reads beside budgets.
func (r *ANNReport) summary(b *strings.Builder) {
	fmt.Fprintf(b, "## Reads per query\n\n")
	head := []string{"set", "vectors", "dimension", "metric"}
	for _, recall := range r.Recalls {
		head = append(head, fmt.Sprintf("recall %g", recall))
		if r.budgeted(recall) {
			head = append(head, "budget")
		}
	}
	t := newMDTable(b, append(head, "most recall")...)
	for _, s := range r.Sets {
		row := []string{s.Name, thousands(s.Vectors), fmt.Sprint(s.Dimension), s.Metric}
		best := "–"
		for _, at := range s.At {
			row = append(row, at.Reads())
			if r.budgeted(at.Recall) {
				row = append(row, budget(s.Name, at.Recall))
			}
			best = fmt.Sprintf("%.4f", at.Best)
		}
		t.row(append(row, best)...)
	}
	b.WriteString("\n")
}

// budgeted tells whether any set has a budget at a recall.
func (r *ANNReport) budgeted(recall float64) bool {
	for _, s := range r.Sets {
		if _, ok := annBudgets[s.Name][recall]; ok {
			return true
		}
	}
	return false
}

func budget(set string, recall float64) string {
	if reads, ok := annBudgets[set][recall]; ok {
		return fmt.Sprintf("%g", reads)
	}
	return "–"
}

// Reads is the figure of reads as tables show it: "≤" where the cheapest point has more recall.
func (at *ANNAt) Reads() string {
	switch {
	case !at.Reached:
		return "not reached"
	case at.Exceeds:
		return fmt.Sprintf("≤ %.1f", at.ReadsPerQuery)
	}
	return fmt.Sprintf("%.1f", at.ReadsPerQuery)
}

// details is one row a set and recall, with what volumes make of it.
func (r *ANNReport) details(b *strings.Builder) {
	fmt.Fprintf(b, "## Cost at a recall\n\n")
	head := []string{"set", "recall", "reads/query", "KiB/query", "waves/query", "CPU ms/query"}
	for _, v := range Volumes {
		head = append(head, fmt.Sprintf("QPS at %s IOPS, %s MiB/s", thousands(int64(v.IOPS)), thousands(int64(v.MiBps))))
	}
	t := newMDTable(b, head...)
	for _, s := range r.Sets {
		for _, at := range s.At {
			if !at.Reached {
				continue
			}
			row := []string{s.Name, fmt.Sprintf("%g", at.Recall), at.Reads(), fmt.Sprintf("%.0f", at.KiBPerQuery),
				fmt.Sprintf("%.1f", at.WavesPerQuery), fmt.Sprintf("%.2f", at.CPUMSPerQuery)}
			for _, v := range Volumes {
				qps, _ := v.QPS(at.ReadsPerQuery, at.KiBPerQuery)
				row = append(row, thousands(int64(qps)))
			}
			t.row(row...)
		}
	}
	fmt.Fprintf(b, "\nQPS is what the volume allows: the smaller of IOPS / reads and throughput / bytes. "+
		"The processor allows cores / CPU.\n\n")
}

// targets is one row a set: what queries that ask for a recall get.
func (r *ANNReport) targets(b *strings.Builder) {
	fmt.Fprintf(b, "## Asking for a recall\n\nThe index chooses dials and stop rules by its own sample. Recall got, and "+
		"reads/query.\n\n")
	head := []string{"set"}
	for _, recall := range r.Recalls {
		head = append(head, fmt.Sprintf("target %g", recall))
	}
	t := newMDTable(b, head...)
	for _, s := range r.Sets {
		row := []string{s.Name}
		for _, recall := range r.Recalls {
			cell := "–"
			for i := range s.Targets {
				if p := &s.Targets[i]; p.RecallTarget == recall {
					cell = fmt.Sprintf("%.4f, %.1f reads", p.recall(), p.ReadsPerQuery)
				}
			}
			row = append(row, cell)
		}
		t.row(row...)
	}
	b.WriteString("\n")
}

// builds is one row a set: what it costs to make, keep and open an index.
func (r *ANNReport) builds(b *strings.Builder) {
	fmt.Fprintf(b, "## Building, keeping and opening\n\n")
	t := newMDTable(b, "set", "vectors/s", "peak MiB", "postings", "copies", "disk bytes/vector", "beyond raw",
		"memory bytes/vector", "open to first answer, ms", "I/O engine")
	for _, s := range r.Sets {
		d := &s.Build
		engine := s.IOEngine + ", buffered"
		if s.DirectIO {
			engine = s.IOEngine + ", direct"
		}
		opened := fmt.Sprintf("%.0f (warm page cache)", s.Open.Milliseconds)
		if s.Open.Cold {
			opened = fmt.Sprintf("%.0f", s.Open.Milliseconds)
		}
		t.row(s.Name, thousands(int64(d.VectorsPerSecond)), fmt.Sprintf("%.0f", d.MemoryPeakMiB),
			thousands(d.Postings), fmt.Sprintf("%.2f", d.ReplicasMean), fmt.Sprintf("%.0f", d.DiskBytesPerVector),
			fmt.Sprintf("%.2f x raw", d.DiskBytesPerVector/d.RawBytesPerVector-1),
			fmt.Sprintf("%.1f", d.MemoryBytesPerVector), opened, engine)
	}
	b.WriteString("\nPeak is resident memory of the whole process while building; memory per vector is what an open " +
		"index keeps: centroids and directory.\n\n")
}

// noise says how far a figure that depends on time scatters.
func (r *ANNReport) noise(b *strings.Builder) {
	fmt.Fprintf(b, "## Noise\n\nThe same queries at the same dials, again and again (A/A). Differences of QPS or CPU "+
		"below the spread mean nothing; recall, reads and bytes do not vary.\n\n")
	t := newMDTable(b, "set", "search probe", "QPS of each run", "spread")
	for _, s := range r.Sets {
		qps := make([]string, len(s.Repeats.QPS))
		for i, q := range s.Repeats.QPS {
			qps[i] = fmt.Sprintf("%.0f", q)
		}
		t.row(s.Name, fmt.Sprint(s.Repeats.SearchProbe), strings.Join(qps, ", "), fmt.Sprintf("%.1f %%", 100*s.Repeats.Spread))
	}
}

// mdTable writes rows of Markdown.
type mdTable struct{ b *strings.Builder }

func newMDTable(b *strings.Builder, head ...string) mdTable {
	t := mdTable{b}
	t.row(head...)
	t.row(strings.Split(strings.Repeat("---,", len(head)-1)+"---", ",")...)
	return t
}

func (t mdTable) row(cells ...string) {
	fmt.Fprintf(t.b, "| %s |\n", strings.Join(cells, " | "))
}

// thousands writes a number with commas between groups of three digits.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
