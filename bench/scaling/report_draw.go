package scaling

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// drawing is an SVG in the making. Whatever text goes in is escaped here.
type drawing struct{ strings.Builder }

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(d, format, args...) }

func (d *drawing) text(x, y float64, class, anchor, text string) {
	d.put(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, escape(text))
}

// escape makes a text stand for itself in HTML and XML.
func escape(s string) string { return html.EscapeString(plain(s)) }

// textWidth is about how wide a text is, for a size of letters in pixels.
func textWidth(s string, size float64) float64 {
	return 0.56 * size * float64(utf8.RuneCountInString(s))
}

// shape draws a mark. Colours come with shapes, so that nobody has to tell colours apart.
func (d *drawing) shape(shape, class string, x, y float64, tip string) {
	title := ""
	if tip != "" {
		title = "<title>" + escape(tip) + "</title>"
	}
	switch shape {
	case "circle":
		d.put(`<circle class="mark %s" cx="%.1f" cy="%.1f" r="3.8">%s</circle>`, class, x, y, title)
	case "hollow":
		d.put(`<path class="hollow %s" d="M%.1f %.1fl5 5l-5 5l-5 -5z">%s</path>`, class, x, y-5, title)
	case "square":
		d.put(`<rect class="mark %s" x="%.1f" y="%.1f" width="7" height="7">%s</rect>`, class, x-3.5, y-3.5, title)
	case "triangle":
		d.put(`<path class="mark %s" d="M%.1f %.1fl4.4 7.6h-8.8z">%s</path>`, class, x, y-4.8, title)
	case "diamond":
		d.put(`<path class="mark %s" d="M%.1f %.1fl4.6 4.6l-4.6 4.6l-4.6 -4.6z">%s</path>`, class, x, y-4.6, title)
	}
}

func (p panel) drawArea(d *drawing, f frame, a area) {
	class := "area"
	if a.shaded {
		class = "area shaded"
	}
	from, to := f.x(p.x, a.from), f.x(p.x, a.to)
	d.put(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, class, from, f.top, max(to-from, 0), f.height,
		escape(a.tip))
}

// drawLevels puts the name of a level above its line, or below where another name
// stands close above.
func (p panel) drawLevels(d *drawing, f frame) {
	var taken []float64
	for _, l := range p.levels {
		if !known(l.y) {
			continue
		}
		y := f.y(p.y, l.y)
		d.put(`<path class="level" d="M%.1f %.1fh%.1f"/>`, f.left, y, f.width)
		if l.text == "" {
			continue
		}
		at := y - 4
		for _, other := range taken {
			if at-other < 13 && other-at < 13 {
				at = y + 13
			}
		}
		taken = append(taken, at)
		d.text(f.left+f.width-4, at, "note", "end", l.text)
	}
}

func (p panel) drawLine(d *drawing, f frame, l line) {
	var path strings.Builder
	pen, drawn := "M", 0
	for _, at := range l.points {
		if !known(at.x) || !known(at.y) {
			continue
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, f.x(p.x, at.x), f.y(p.y, at.y))
		drawn++
		if at.gap && pen == "M" { // alone between two gaps
			path.WriteString("h1")
		}
		if pen = "L"; at.gap {
			pen = "M"
		}
	}
	if drawn > 1 && l.style != "none" {
		d.put(`<path class="line %s %s" d="%s"/>`, l.class, l.style, path.String())
	}
	if l.shape == "" && drawn == 1 { // a line of one point is a dot
		l.shape = "circle"
	}
	for _, at := range l.points {
		if known(at.x) && known(at.y) {
			d.shape(l.shape, l.class, f.x(p.x, at.x), f.y(p.y, at.y), at.tip)
		}
	}
}

// drawBars divides the width among the groups, and each group among its bars.
func (p panel) drawBars(d *drawing, f frame) {
	each := f.width / float64(len(p.groups))
	for i, g := range p.groups {
		left := f.left + each*float64(i)
		width := min(each*0.9/float64(max(len(g.bars), 1)), 56)
		x := left + (each-width*float64(len(g.bars)))/2
		for _, b := range g.bars {
			if known(b.value) && b.value > 0 {
				y := f.y(p.y, b.value)
				d.put(`<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, b.class, x+1, y,
					max(width-2, 1), max(f.top+f.height-y, 0), escape(b.tip))
				d.text(x+width/2, y-4, "note", "middle", figures(b.value))
			}
			x += width
		}
		for n, text := range strings.SplitN(g.name, "\n", 2) {
			d.text(left+each/2, f.top+f.height+15+13*float64(n), "tick", "middle", text)
		}
	}
}
