package scaling

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the conditions, the findings and all tables.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# IOPS scaling\n\n")
	for _, line := range r.lines() {
		fmt.Fprintf(&b, "- %s\n", markdown(line))
	}
	b.WriteString("\n## Conditions\n\n")
	for _, c := range r.conditions() {
		fmt.Fprintf(&b, "- %s: %s\n", markdown(c.Name), markdown(c.Value))
	}
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n## %s\n\n", markdown(t.Title))
		if t.Note != "" {
			fmt.Fprintf(&b, "%s\n\n", markdown(t.Note))
		}
		t.markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) markdown(b *strings.Builder) {
	row := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + markdown(c) + " ")
		}
		b.WriteString("|\n")
	}
	row(t.Head)
	for i := range t.Head {
		if i < t.Text {
			b.WriteString("|---")
		} else {
			b.WriteString("|--:")
		}
	}
	b.WriteString("|\n")
	for _, cells := range t.Rows {
		row(cells)
	}
}

// markdown makes a text stand for itself, on one line and in a cell.
func markdown(s string) string {
	s = plain(s)
	var b strings.Builder
	for i, c := range s {
		switch {
		case c == '&':
			b.WriteString("&amp;")
			continue
		case c == '<':
			b.WriteString("&lt;")
			continue
		case strings.ContainsRune("\\`*|[]>#~", c), c == '_' && !within(s, i):
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// within tells whether the byte at i stands between letters or digits: an
// underscore there begins no emphasis.
func within(s string, i int) bool {
	alnum := func(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
	return i > 0 && i+1 < len(s) && alnum(s[i-1]) && alnum(s[i+1])
}

// condition is a line of what the experiment was made with.
type condition struct{ Name, Value string }

// conditions are those that are known.
func (r *Report) conditions() (out []condition) {
	add := func(name, value string) {
		if value = plain(value); value != "" {
			out = append(out, condition{name, value})
		}
	}
	e, m := &r.Experiment, &r.Experiment.Machine
	add("Set", r.subject())
	add("Queries", fmt.Sprintf("%s different ones, k = %d", thousands(int64(e.Queries)), e.K))
	add("Recall by", orElse(e.RecallBy, "nothing: it is unknown"))
	add("Index", e.Parameters)
	add("Runs", fmt.Sprintf("%d, each %s s after %s s of warm-up", len(r.Runs), axisNumber(e.WindowSeconds), axisNumber(e.WarmupSeconds)))
	add("Volume limited by", r.Throttle)
	add("Memory", fmt.Sprintf("store %s, cache %s, control group %s", sizeOr(e.MemoryLimit, "by default"), cacheWords(e.CacheBytes),
		sizeOr(e.CgroupMemory, "none")))
	add("Direct I/O", e.Direct)
	add("Page cache", r.coldWords())
	add("Machine", fmt.Sprintf("%s, %d processors used, %s kernels; %s; %s", orElse(m.CPU, "unknown processor"), m.Cores,
		orElse(m.Kernels, "unknown"), orElse(m.System, "unknown system"), orElse(m.Go, "unknown Go")))
	add("Command", r.Command)
	for _, note := range r.Notes {
		add("Note", note)
	}
	return out
}

// coldWords says whether the page cache was dropped before the runs.
func (r *Report) coldWords() string {
	var reasons []string
	warm := 0
	for i := range r.Runs {
		if why := r.Runs[i].Cold; why != "" {
			warm++
			reasons = with(reasons, why)
		}
	}
	if warm == 0 {
		return "dropped before every run"
	}
	return fmt.Sprintf("not dropped before %d of %d runs: %s", warm, len(r.Runs), strings.Join(reasons, "; "))
}
