package fio

import (
	"context"
	"fmt"
	"time"
)

// sweep measures a list of loads in rounds: all of them, several times over, so
// that a volume that changes meanwhile is noticed; then those whose rounds do not
// agree again, a bounded number of times.
type sweep struct {
	points []Point // Depth and Bytes are given
	rounds int     // of all points
	extra  int     // of points that do not agree, at most
	until  time.Time
	step   func(p Point, round int) // told before each measurement
}

// run measures. After the first round no measurement begins later than until.
func (s sweep) run(ctx context.Context, measure func(ctx context.Context, depth, bytes int) (Point, error)) ([]Point, error) {
	last := make([]float64, len(s.points))
	out := append([]Point(nil), s.points...)
	for round := range s.rounds + s.extra {
		for i := range out {
			settled := round >= s.rounds && out[i].Agree
			if settled || round > 0 && time.Now().After(s.until) {
				continue
			}
			s.step(out[i], round)
			p, err := measure(ctx, out[i].Depth, out[i].Bytes)
			if err != nil {
				return nil, fmt.Errorf("depth %d, %d bytes: %w", out[i].Depth, out[i].Bytes, err)
			}
			rate := p.IOPS
			if round > 0 {
				p = out[i].next(last[i], p)
			}
			out[i], last[i] = p, rate
		}
	}
	return out, nil
}

// atDepths are 4 KiB reads at these depths.
func atDepths(depths []int) []Point {
	var out []Point
	for _, d := range depths {
		out = append(out, Point{Depth: d, Bytes: block})
	}
	return out
}

// ofSizes are reads of these sizes at one depth.
func ofSizes(sizes []int, depth int) []Point {
	var out []Point
	for _, n := range sizes {
		out = append(out, Point{Depth: depth, Bytes: n})
	}
	return out
}
