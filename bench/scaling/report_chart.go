package scaling

// figure is panels with a legend, drawn as one SVG.
type figure struct {
	id, title, caption string
	columns            int
	height             float64 // of a panel's axes
	small              bool    // many small panels of one kind: few ticks, axes without names
	panels             []panel
	legend             []key
}

// key is an entry of the legend. style is that of a [line], or "bar"; one of style
// "none" without a shape is words alone, and stands last.
type key struct{ class, style, shape, text string }

// panel is one pair of axes with what stands between them.
type panel struct {
	title, tip string
	x, y       axis
	lines      []line
	levels     []level
	areas      []area
	groups     []barGroup // instead of lines
}

// line is points joined in order. class is its colour ("c0" to "c7"), style is
// made of "dash", "dot" and "thin", or is "none" for marks alone; shape is of the
// marks, "" for none.
type line struct {
	class, style, shape string
	points              []point
}

// point ends the line when gap is set: the next point begins another.
type point struct {
	x, y float64
	tip  string
	gap  bool
}

// level is a horizontal line with a name, which may be "".
type level struct {
	y    float64
	text string
}

// area is a part of the panel's width that says something when it is pointed at.
type area struct {
	from, to float64
	tip      string
	shaded   bool
}

// barGroup is bars side by side with a name below, of one or two lines.
type barGroup struct {
	name string
	bars []bar
}

type bar struct {
	class string
	value float64
	tip   string
}

// room is what a panel needs around its axes.
type room struct{ left, right, top, bottom float64 }

var (
	wideRoom  = room{left: 62, right: 14, top: 26, bottom: 46}
	smallRoom = room{left: 54, right: 10, top: 25, bottom: 22}
)

const (
	figureWidth = 980.0
	keyHeight   = 20.0
	keyLeft     = 14.0
)

// frame is the place of a panel's axes in the drawing.
type frame struct{ left, top, width, height float64 }

func (f frame) x(a axis, v float64) float64 { return f.left + f.width*a.place(v) }
func (f frame) y(a axis, v float64) float64 { return f.top + f.height*(1-a.place(v)) }

// svg draws the figure. style is a style sheet to put in, for a file of its own.
func (f figure) svg(style string) string {
	columns := max(min(f.columns, len(f.panels)), 1)
	rows := (len(f.panels) + columns - 1) / columns
	around := wideRoom
	if f.small {
		columns, around = max(f.columns, 1), smallRoom
		rows = (len(f.panels) + columns - 1) / columns
	}
	title := ""
	if style != "" {
		title = f.title
	}
	keys, legendHeight := f.layLegend(title)
	each := around.top + f.height + around.bottom
	height := legendHeight + float64(rows)*each
	if rows == 0 {
		height = legendHeight + 2*keyHeight
	}
	var d drawing
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`,
		figureWidth, height, escape(f.title))
	if style != "" {
		d.put("<title>%s</title><style>%s</style><rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>", escape(f.title), style, figureWidth, height)
	}
	d.WriteString(keys)
	if rows == 0 {
		d.text(figureWidth/2, legendHeight+keyHeight, "label", "middle", "no runs")
	}
	width := figureWidth / float64(columns)
	for i, p := range f.panels {
		p.draw(&d, f.small, frame{left: float64(i%columns)*width + around.left, top: legendHeight + float64(i/columns)*each + around.top,
			width: width - around.left - around.right, height: f.height})
	}
	d.WriteString("</svg>\n")
	return d.String()
}

// layLegend draws the legend at the top, in as many rows as it needs, below a
// title if there is one.
func (f figure) layLegend(title string) (svg string, height float64) {
	var d drawing
	x, y := keyLeft, 16.0
	if title != "" {
		d.text(x, y+2, "title", "start", title)
		y += 1.5 * keyHeight
	}
	if len(f.legend) == 0 {
		return d.String(), y
	}
	for _, k := range f.legend {
		if k.shape == "" && k.style == "none" { // words alone
			d.text(x, y, "label", "start", k.text)
			continue
		}
		width := 34 + textWidth(k.text, 12) + 18
		if x+width > figureWidth && x > keyLeft {
			x, y = keyLeft, y+keyHeight
		}
		if k.style == "bar" {
			d.put(`<rect class="bar %s" x="%.1f" y="%.1f" width="14" height="10"/>`, k.class, x+10, y-9)
		} else {
			if k.style != "none" {
				d.put(`<path class="line %s %s" d="M%.1f %.1fh26"/>`, k.class, k.style, x, y-4)
			}
			d.shape(k.shape, k.class, x+13, y-4, "")
		}
		d.text(x+32, y, "key", "start", k.text)
		x += width
	}
	return d.String(), y + 12
}

func (p panel) draw(d *drawing, small bool, f frame) {
	if small {
		d.text(f.left-smallRoom.left+keyLeft, f.top-11, "small", "start", p.title)
	} else {
		d.text(f.left, f.top-8, "head", "start", p.title)
	}
	if p.tip != "" { // below everything else, so that marks keep their own
		p.drawArea(d, f, area{from: p.x.lo, to: p.x.hi, tip: p.tip})
	}
	for _, a := range p.areas {
		p.drawArea(d, f, a)
	}
	p.drawAxes(d, small, f)
	if len(p.groups) > 0 {
		p.drawBars(d, f)
	}
	p.drawLevels(d, f)
	for _, l := range p.lines {
		p.drawLine(d, f, l)
	}
}

func (p panel) drawAxes(d *drawing, small bool, f frame) {
	for i, t := range p.y.ticks {
		if small && i > 0 && i < len(p.y.ticks)-1 {
			continue
		}
		y := f.y(p.y, t.at)
		d.put(`<path class="grid" d="M%.1f %.1fh%.1f"/>`, f.left, y, f.width)
		d.text(f.left-6, y+3.5, "tick", "end", t.text)
	}
	taken := f.left - 100 // right end of the last name
	for i, t := range p.x.ticks {
		x := f.x(p.x, t.at)
		if !small {
			d.put(`<path class="grid" d="M%.1f %.1fv%.1f"/>`, x, f.top, f.height)
		}
		half := textWidth(t.text, 11) / 2
		if x-half < taken+6 || small && i > 0 && i < len(p.x.ticks)-1 {
			continue
		}
		d.text(x, f.top+f.height+15, "tick", "middle", t.text)
		taken = x + half
	}
	d.put(`<path class="axis" d="M%.1f %.1fv%.1fh%.1f"/>`, f.left, f.top, f.height, f.width)
	if small {
		return
	}
	if p.x.label != "" {
		d.text(f.left+f.width/2, f.top+f.height+34, "label", "middle", p.x.label)
	}
	x, y := f.left-50, f.top+f.height/2
	d.put(`<text x="%.1f" y="%.1f" class="label" text-anchor="middle" transform="rotate(-90 %.1f %.1f)">%s</text>`, x, y, x, y, escape(p.y.label))
}
