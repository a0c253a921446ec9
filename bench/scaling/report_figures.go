package scaling

import (
	"fmt"
	"slices"
)

// markShapes go with the colours of the same number.
var markShapes = []string{"circle", "square", "triangle", "diamond"}

func colour(i int) string    { return fmt.Sprintf("c%d", i%7) }
func markShape(i int) string { return markShapes[i%len(markShapes)] }

// figures are all that the runs give, the main one first.
func (r *Report) figures() []figure {
	out := []figure{r.probeFigure()}
	for _, f := range []figure{r.clientsFigure(), r.enginesFigure(), r.predictionFigure()} {
		if len(f.panels) > 0 {
			out = append(out, f)
		}
	}
	out = append(out, r.timeFigures()...)
	if f := r.memoryFigure(); len(f.panels) > 0 {
		out = append(out, f)
	}
	return out
}

// tip is what a mark says when it is pointed at.
func (r *Result) tip() string {
	w := r.load()
	return fmt.Sprintf("%s %s: %s QPS, recall %s, %s reads/query, CPU %s ms/query, p99 %s ms", r.Setting.Volume.words(), settingWords(&r.Setting),
		decimal(w.QPS), recallWords(r), fixedOrNone(w.ReadsPerQuery, 1), fixedOrNone(w.CPUMSPerQuery, 2), decimal(w.Latency.P99))
}

// probeFigure is QPS against search probe, a panel a volume and a line a rescore limit,
// with stop rules where any run has them.
func (r *Report) probeFigure() figure {
	a := r.axes()
	f := figure{id: "probe", title: "QPS against search probe", columns: 3, height: 230}
	if len(r.Runs) == 0 {
		return f
	}
	clients, engine := a.base()
	rules := slices.Contains(a.StopRules, true)
	f.caption = fmt.Sprintf("%s, %d clients, k = %d, stop rules %s. The rate axes differ.", plain(engine), clients, r.Experiment.K, onOff(rules))
	for i, rescore := range a.RescoreLimit {
		f.legend = append(f.legend, key{class: colour(i), shape: markShape(i), text: "rescore limit " + thousands(int64(rescore))})
	}
	f.legend = append(f.legend, key{text: fmt.Sprintf("%d clients, rules %s, %s", clients, onOff(rules), plain(engine)), style: "none"})
	for _, v := range a.Volumes {
		p := panel{title: v.words(), x: listAxis("search probe (postings read at most)", a.SearchProbe)}
		var rates []float64
		for i, rescore := range a.RescoreLimit {
			l := line{class: colour(i), shape: markShape(i)}
			for _, x := range r.where(func(s *Setting) bool {
				return s.Volume == v && s.Engine == engine && s.Clients == clients && s.StopRules == rules && s.RescoreLimit == rescore
			}) {
				l.points = append(l.points, point{x: float64(x.Setting.SearchProbe), y: x.load().QPS, tip: x.tip()})
				rates = append(rates, x.load().QPS)
			}
			p.lines = append(p.lines, l)
		}
		p.y = zeroAxis("queries per second", rates)
		f.panels = append(f.panels, p)
	}
	return f
}

// clientsFigure is QPS against clients with the predicted ceilings, a panel a volume
// and a line for each of the points at which clients are compared.
func (r *Report) clientsFigure() figure {
	a := r.axes()
	if len(a.Clients) < 2 {
		return figure{}
	}
	_, engine := a.base()
	f := figure{id: "clients", title: "QPS against clients, with the predicted ceilings", columns: 3, height: 230,
		caption: plain(engine) + ". The ceiling is the lowest of IOPS / reads, throughput / bytes and processors / CPU; the prediction is what so " +
			"many clients get below it. Both come from the cost of a query that another run measured."}
	for i, at := range a.points() {
		f.legend = append(f.legend, key{class: colour(i), shape: markShape(i), text: at.Dials()})
	}
	f.legend = append(f.legend, key{class: "c7", style: "dash", text: "predicted ceiling"}, key{class: "c7", style: "none", shape: "hollow", text: "predicted"})
	for _, v := range a.Volumes {
		p := panel{title: v.words(), x: listAxis("clients", a.Clients)}
		var rates []float64
		for i, at := range a.points() {
			runs := r.where(func(s *Setting) bool { return s.Volume == v && s.Engine == engine && dials(s) == at })
			lines := clientsLines(runs, i)
			for _, l := range lines {
				for _, at := range l.points {
					rates = append(rates, at.y)
				}
			}
			p.lines = append(p.lines, lines...)
		}
		p.y = zeroAxis("queries per second", rates)
		f.panels = append(f.panels, p)
	}
	return f
}

// clientsLines are ceiling, prediction and measurement of runs that differ in
// clients alone.
func clientsLines(runs []*Result, i int) []line {
	measured, ceiling := line{class: colour(i), shape: markShape(i)}, line{class: colour(i), style: "dash"}
	predicted := line{class: colour(i), style: "none", shape: "hollow"}
	for _, x := range runs {
		at := float64(x.Setting.Clients)
		measured.points = append(measured.points, point{x: at, y: x.load().QPS, tip: x.tip()})
		if q := x.Prediction; q != nil && q.Ceiling > 0 {
			ceiling.points = append(ceiling.points, point{x: at, y: q.Ceiling})
			predicted.points = append(predicted.points, point{x: at, y: q.QPS,
				tip: fmt.Sprintf("predicted %s QPS, off by %s; %s binds; from %s", decimal(q.QPS), signed(q.Error), q.Binds, q.From)})
		}
	}
	if len(ceiling.points) < 2 {
		ceiling.points = nil
	}
	return []line{ceiling, predicted, measured}
}

// enginesFigure has a row of panels a volume: rate, CPU and p99 of each engine.
func (r *Report) enginesFigure() figure {
	a := r.axes()
	if len(a.Engines) < 2 {
		return figure{}
	}
	clients, _ := a.base()
	f := figure{id: "engines", title: "Engines side by side", columns: 3, height: 150,
		caption: fmt.Sprintf("The same queries at the same dials, %d clients. Below the bars: search probe / rescore limit. CPU is of the whole process. mmap reads through the page cache.", clients)}
	for i, e := range a.Engines {
		f.legend = append(f.legend, key{class: colour(i), style: "bar", text: e})
	}
	for _, v := range a.Volumes {
		for _, what := range []struct {
			name string
			of   func(*Result) float64
		}{
			{"queries per second", func(x *Result) float64 { return x.load().QPS }},
			{"CPU ms per query", func(x *Result) float64 { return x.load().CPUMSPerQuery }},
			{"p99 ms", func(x *Result) float64 { return x.load().Latency.P99 }},
		} {
			p := panel{title: v.words()}
			values := []float64{}
			for _, at := range a.points() {
				g := barGroup{name: fmt.Sprintf("%d / %d\nrules %s", at.SearchProbe, at.RescoreLimit, onOff(at.StopRules))}
				for i, e := range a.Engines {
					b := bar{class: colour(i)}
					for _, x := range r.where(func(s *Setting) bool {
						return s.Volume == v && s.Engine == e && s.Clients == clients && dials(s) == at
					}) {
						b.value, b.tip = what.of(x), x.tip()
					}
					g.bars, values = append(g.bars, b), append(values, 1.08*b.value) // room for the figure above
				}
				p.groups = append(p.groups, g)
			}
			p.y = zeroAxis(what.name, values)
			f.panels = append(f.panels, p)
		}
	}
	return f
}

// predictionFigure is predicted against measured, and the rate against recall.
func (r *Report) predictionFigure() figure {
	f := figure{id: "prediction", title: "Predicted and measured; rate and recall", columns: 2, height: 300,
		caption: "Left: every prediction that counts; between the dashed lines it is within 10 %. Right: every run, its rate at its recall."}
	var rates, recalls []float64
	left, right := panel{title: "predicted against measured: " + r.Predicted.String()}, panel{title: "rate against recall"}
	for i, v := range r.axes().Volumes {
		a, b := line{class: colour(i), style: "none", shape: markShape(i)}, line{class: colour(i), style: "none", shape: markShape(i)}
		for _, x := range r.where(func(s *Setting) bool { return s.Volume == v }) {
			w := x.load()
			if !known(w.QPS) || w.QPS <= 0 {
				continue
			}
			rates = append(rates, w.QPS)
			if q := x.Prediction; q != nil && q.Judged && q.QPS > 0 {
				a.points = append(a.points, point{x: w.QPS, y: q.QPS, tip: x.tip() + "; predicted " + decimal(q.QPS)})
				rates = append(rates, q.QPS)
			}
			if recall := x.recall(); recall >= 0 {
				b.points = append(b.points, point{x: recall, y: w.QPS, tip: x.tip()})
				recalls = append(recalls, recall)
			}
		}
		left.lines, right.lines = append(left.lines, a), append(right.lines, b)
		f.legend = append(f.legend, key{class: colour(i), style: "none", shape: markShape(i), text: v.words()})
	}
	if r.Predicted.Judged > 0 {
		left.x, left.y = logAxis("measured QPS", rates), logAxis("predicted QPS", rates)
		for _, times := range []float64{1 - Near, 1 + Near} {
			lo, hi := left.x.lo/min(times, 1), left.x.hi/max(times, 1)
			left.lines = append(left.lines, line{class: "c7", style: "dash thin", points: []point{{x: lo, y: lo * times}, {x: hi, y: hi * times}}})
		}
		f.panels = append(f.panels, left)
	}
	if len(recalls) > 0 {
		right.x, right.y = spanAxis(fmt.Sprintf("recall@%d", r.Experiment.K), recalls, 1), logAxis("queries per second", rates)
		f.panels = append(f.panels, right)
	}
	return f
}
