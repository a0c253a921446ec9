package bench

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours that stay apart for most kinds of colour blindness (Okabe and Ito).
var annColours = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x00, 0x00, 0xff},
}

var annShapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{},
}

const (
	annWidth  = 9 * vg.Inch // 8:5
	annHeight = annWidth * 5 / 8
	annMargin = 3 * vg.Millimeter
	annLegend = 2.1 * vg.Inch // the strip at the right
	// annLeastRecall is where the plot begins when curves begin lower: what is
	// of interest happens near 1.
	annLeastRecall = 0.7
)

// Plot writes the curves of all sets, recall against reads per query, to files
// whose format follows from their names: .svg, .png or .pdf. Errors: a report
// without any point, those of the file system.
func (r *ANNReport) Plot(paths ...string) error {
	p, legend, err := r.plot()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := savePlot(p, legend, path); err != nil {
			return fmt.Errorf("bench: plot %s: %w", path, err)
		}
	}
	return nil
}

// savePlot draws a plot with its legend at the right, where no curve can run
// through it.
func savePlot(p *plot.Plot, legend plot.Legend, path string) (err error) {
	c, err := draw.NewFormattedCanvas(annWidth, annHeight, strings.TrimPrefix(filepath.Ext(path), "."))
	if err != nil {
		return err
	}
	all := draw.New(c)
	if p.BackgroundColor != nil {
		all.SetColor(p.BackgroundColor)
		all.Fill(all.Rectangle.Path())
	}
	p.Draw(draw.Crop(all, annMargin, -annLegend, annMargin, -annMargin))
	legend.Draw(draw.Crop(all, annWidth-annLegend+2*annMargin, -annMargin, annMargin, -12*annMargin))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = c.WriteTo(f)
	return errors.Join(err, f.Close())
}

// plot makes the plot and, apart from it, its legend.
func (r *ANNReport) plot() (*plot.Plot, plot.Legend, error) {
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text = fmt.Sprintf("Recall@%d against reads per query, nothing cached", r.K)
	p.X.Label.Text = "reads per query (operations of the volume)"
	p.Y.Label.Text = fmt.Sprintf("recall@%d", r.K)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(readTicks)
	p.Y.Tick.Marker = plot.TickerFunc(recallTicks)
	p.Title.Padding, p.X.Padding, p.Y.Padding = annMargin, 0, 0
	legend.Top, legend.Left, legend.YPosition, legend.Padding = true, true, draw.PosCenter, annMargin/2
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xd8}, color.Gray{0xd8}
	p.Add(grid)
	for i, s := range r.Sets {
		points := s.curve()
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, legend, fmt.Errorf("bench: plot %s: %w", s.Name, err)
		}
		line.Color, line.Width = annColours[i%len(annColours)], vg.Points(1.6)
		dots.Color, dots.Shape, dots.Radius = line.Color, annShapes[i%len(annShapes)], vg.Points(2.6)
		p.Add(line, dots)
		legend.Add(s.Name, line, dots)
		legend.Add(fmt.Sprintf("%s x %d", thousands(s.Vectors), s.Dimension))
	}
	if math.IsInf(p.X.Min, 0) {
		return nil, legend, errors.New("bench: plot: no point with reads and recall")
	}
	p.Y.Min, p.Y.Max = max(p.Y.Min, annLeastRecall), 1
	p.X.Min, p.X.Max = p.X.Min/1.1, p.X.Max*1.1
	return p, legend, nil
}

// curve is what the plot shows of a set: reads and recall of the frontier. Points
// without reads have no place on a logarithmic axis.
func (s *ANNResult) curve() (xy plotter.XYs) {
	for _, p := range frontier(slices.Concat(s.Sweep, s.Targets)) {
		if p.ReadsPerQuery > 0 {
			xy = append(xy, plotter.XY{X: p.ReadsPerQuery, Y: p.recall()})
		}
	}
	return xy
}

// readTicks marks every multiple of a power of ten, with numbers where there is
// room for them.
func readTicks(lo, hi float64) (ticks []plot.Tick) {
	numbered := "125"
	if hi/lo < 20 {
		numbered = "1234568"
	}
	for decade := math.Pow(10, math.Floor(math.Log10(lo))); decade <= hi; decade *= 10 {
		for i := 1; i <= 9; i++ {
			t := plot.Tick{Value: decade * float64(i)}
			if t.Value < lo || t.Value > hi {
				continue
			}
			if strings.Contains(numbered, fmt.Sprint(i)) {
				t.Label = fmt.Sprintf("%g", t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// recallTicks marks every 0.05 from 1 downwards, and 0.99.
func recallTicks(lo, hi float64) (ticks []plot.Tick) {
	for i := 0; ; i++ {
		v := 1 - 0.05*float64(i)
		if v < lo-1e-9 {
			return append(ticks, plot.Tick{Value: 0.99, Label: "0.99"})
		}
		if v <= hi {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.2f", v)})
		}
	}
}
