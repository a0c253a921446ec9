package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// WriteFiles writes the report into a folder, which it makes when it is missing:
// all figures as churn.json, tables as churn.md.
func (r *ChurnReport) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	figures, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("bench: report: %w", err)
	}
	var tables bytes.Buffer
	if err := r.Markdown(&tables); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"churn.json": append(figures, '\n'), "churn.md": tables.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// Markdown writes the report as a document of tables.
func (r *ChurnReport) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Recall and cost under churn\n\n")
	fmt.Fprintf(&b, "Set %s: %s vectors of %d dimensions, %s; %d queries, k = %d, one at a time, nothing cached. The same "+
		"content came about in %d ways; maintenance had finished before anything was measured. Live changes: %d callers, "+
		"%d vectors a call.\n\n", r.Set, thousands(int64(r.Vectors)), r.Dimension, r.Metric, r.Queries, r.K, len(r.Cases),
		r.Callers, r.Batch)
	m := r.Machine
	fmt.Fprintf(&b, "Machine: %s, %d cores used, %s kernels; %s; %s; %s.\n\n", m.CPU, m.Cores, m.Kernels, m.System, m.Go, r.IOEngine)
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "- **%s**: %s.\n", c.Name, c.How)
	}
	r.fixed(&b)
	r.asked(&b)
	r.shapes(&b)
	r.rates(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// fixed is one row a case: recall and reads of fixed work.
func (r *ChurnReport) fixed(b *strings.Builder) {
	if len(r.Cases) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Recall at equal work\n\nExactly so many postings and rescored candidates, no stop rules. Recall, "+
		"and in brackets reads and KiB a query.\n\n")
	head := []string{"case"}
	for _, p := range r.Cases[0].Fixed {
		head = append(head, fmt.Sprintf("%d postings, %d rescored", p.SearchProbe, p.RescoreLimit))
	}
	churnPoints(newMDTable(b, head...), r.Cases, func(c *ChurnCase) []ANNPoint { return c.Fixed })
}

// asked is one row a case: what queries that ask for a recall get.
func (r *ChurnReport) asked(b *strings.Builder) {
	if len(r.Cases) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Asking for a recall\n\nThe index chooses dials and stop rules. Recall got, and in brackets reads and "+
		"KiB a query.\n\n")
	head := []string{"case"}
	for _, p := range r.Cases[0].Targets {
		head = append(head, fmt.Sprintf("target %g", p.RecallTarget))
	}
	churnPoints(newMDTable(b, head...), r.Cases, func(c *ChurnCase) []ANNPoint { return c.Targets })
}

func churnPoints(t mdTable, cases []*ChurnCase, points func(*ChurnCase) []ANNPoint) {
	for _, c := range cases {
		row := []string{c.Name}
		for _, p := range points(c) {
			row = append(row, fmt.Sprintf("%.4f (%.1f, %.0f)", p.recall(), p.ReadsPerQuery, p.KiBPerQuery))
		}
		t.row(row...)
	}
}

// shapes is one row a case: postings and space.
func (r *ChurnReport) shapes(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Shape and space\n\nNot nearest: vectors whose primary posting is not the one with the nearest "+
		"centroid. Stale: posting entries of vectors that are gone.\n\n")
	t := newMDTable(b, "case", "postings", "KiB mean", "KiB max", "copies", "not nearest", "stale", "disk MiB", "x fresh",
		"postings MiB", "records MiB", "refine MiB", "catalog MiB")
	for _, c := range r.Cases {
		mib := func(n int64) string { return fmt.Sprintf("%.1f", mebibytes(n)) }
		d := c.Disk
		t.row(c.Name, thousands(int64(c.Postings)), fmt.Sprintf("%.1f", c.PostingBytesMean/1024),
			fmt.Sprintf("%.1f", float64(c.PostingBytesMax)/1024), fmt.Sprintf("%.2f", c.CopiesMean),
			fmt.Sprintf("%.2f %%", 100*c.NearestViolations), fmt.Sprintf("%.2f %%", 100*c.StaleEntries),
			mib(c.DiskBytes), fmt.Sprintf("%.2f", float64(c.DiskBytes)/float64(max(r.Cases[0].DiskBytes, 1))),
			mib(d.Postings), mib(d.Records), mib(d.Refine), mib(d.Catalog))
	}
}

// rates is one row a case: what it took to come about.
func (r *ChurnReport) rates(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Time and memory\n\nDurable: until the last call had returned. Settled: until maintenance was done, too. "+
		"Peak: resident memory of the whole process, of the live part where there is one.\n\n")
	t := newMDTable(b, "case", "build s", "changes", "durable/s", "settled/s", "settle s", "peak MiB")
	for _, c := range r.Cases {
		row := []string{c.Name, fmt.Sprintf("%.1f", c.Build)}
		if l := c.Live; l != nil {
			row = append(row, thousands(l.Changes), thousands(int64(l.PerSecond())), thousands(int64(l.SettledPerSecond())),
				fmt.Sprintf("%.1f", l.SettleSeconds))
		} else {
			row = append(row, "–", "–", "–", "–")
		}
		t.row(append(row, fmt.Sprintf("%.0f", c.MemoryPeakMiB))...)
	}
}
