package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// emit writes a result to standard output: as one JSON object, or by text.
func (c *cli) emit(asJSON bool, result any, text func(*page)) error {
	if asJSON {
		return json.NewEncoder(c.stdout).Encode(result)
	}
	p := newPage(c.stdout)
	text(p)
	return p.flush()
}

// page is text in aligned columns. flush returns the first error of all writes.
type page struct {
	w   *tabwriter.Writer
	err error
}

func newPage(w io.Writer) *page {
	return &page{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

func (p *page) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// line writes a line that is no part of a table. Columns above and below it are
// aligned apart.
func (p *page) line(format string, args ...any) {
	p.keep(p.w.Flush())
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	p.keep(err)
	p.keep(p.w.Flush())
}

// row writes the cells of one row of a table.
func (p *page) row(cells ...string) {
	_, err := fmt.Fprintln(p.w, "  "+strings.Join(cells, "\t"))
	p.keep(err)
}

func (p *page) flush() error {
	p.keep(p.w.Flush())
	return p.err
}

// count writes a whole number with commas between groups of three digits.
func count[T int | int64 | uint64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// decimal writes a number with so many digits after the point.
func decimal(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// size writes bytes in the largest unit that leaves a number above 1.
func size(n int64) string {
	v, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	if unit == "B" {
		return strconv.FormatInt(n, 10) + " B"
	}
	return decimal(v, 1) + " " + unit
}
