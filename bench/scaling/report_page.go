package scaling

import (
	_ "embed" // the style sheet and the template
	"html/template"
	"io"
	"strings"
)

//go:embed report_page.css
var plotStyle string

//go:embed report_page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// shade is a colour by its name in the style sheet, on white paper and on black.
type shade struct{ name, light, dark string }

var shades = []shade{
	{"--ink", "#1c2430", "#e4e8ee"}, {"--soft", "#5b6675", "#a3adba"}, {"--rule", "#d9dee5", "#38414d"},
	{"--paper", "#ffffff", "#14181e"}, {"--shade", "#f0f3f6", "#1f262f"},
	{"--c0", "#0068a8", "#5cb8f0"}, {"--c1", "#c24e00", "#ff9b57"}, {"--c2", "#00805c", "#3fcf9f"}, {"--c3", "#a8457f", "#ef9ccb"},
	{"--c4", "#9a7000", "#e8bd3c"}, {"--c5", "#3f6f8f", "#9bd8fb"}, {"--c6", "#6a51b8", "#b9a5ff"}, {"--c7", "#444c58", "#c3cad4"},
}

func (s shade) of(dark bool) string {
	if dark {
		return s.dark
	}
	return s.light
}

// variables declares the colours. Paper is white also where the screen is dark.
func variables() string {
	declare := func(dark bool) string {
		var b strings.Builder
		for _, s := range shades {
			b.WriteString(s.name + ":" + s.of(dark) + ";")
		}
		return ":root{" + b.String() + "}"
	}
	return declare(false) + "\n@media screen and (prefers-color-scheme:dark){" + declare(true) + "}\n"
}

// literalStyle is the style sheet of plots with the colours put in: what shows an SVG
// by itself often knows no variables.
func literalStyle() string {
	put := func(dark bool) string {
		var pairs []string
		for _, s := range shades {
			pairs = append(pairs, "var("+s.name+")", s.of(dark))
		}
		return strings.NewReplacer(pairs...).Replace(plotStyle)
	}
	return put(false) + "@media screen and (prefers-color-scheme:dark){\n" + put(true) + "}"
}

// WriteHTML writes plots and tables as one page, which loads nothing and runs
// nothing.
func (r *Report) WriteHTML(w io.Writer) error {
	type drawn struct {
		ID, Title, Caption string
		SVG                template.HTML
	}
	var shown []drawn
	for _, f := range r.figures() {
		// Texts are escaped where they are drawn.
		shown = append(shown, drawn{f.id, f.title, f.caption, template.HTML(f.svg(""))})
	}
	return pageTemplate.Execute(w, struct {
		Style      template.CSS
		Set        string
		Findings   []string
		Conditions []condition
		Figures    []drawn
		Tables     []table
	}{template.CSS(variables() + plotStyle), r.subject(), r.lines(), r.conditions(), shown, r.tables()})
}

// WriteSVG writes the main plot, QPS against search probe by volume, as a picture of
// its own for light and dark pages.
func (r *Report) WriteSVG(w io.Writer) error {
	f := r.probeFigure()
	f.title += ": " + r.subject()
	_, err := io.WriteString(w, f.svg(literalStyle()))
	return err
}
