package iopath

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// volumeRate is what a volume gives at a depth: Little's law below the knee, the
// cap above it.
func volumeRate(depth int64, iops float64, latency time.Duration) float64 {
	return min(float64(depth)/latency.Seconds(), iops)
}

// TestAdaptation has the decisions meet volumes that are changed while they run. At
// rest the limit must be between the knee and, as far as its bounds allow, a little
// above twice the knee; after a change it must be there again within seconds. Rates
// are off by up to 1 %, as measured ones are.
func TestAdaptation(t *testing.T) {
	type volume struct {
		iops    float64
		latency time.Duration
	}
	gp3, more := volume{3000, time.Millisecond}, volume{16000, time.Millisecond}
	most, nvme := volume{80000, 1500 * time.Microsecond}, volume{400000, 100 * time.Microsecond}
	for _, run := range [][]volume{{gp3}, {more}, {most}, {nvme}, {gp3, most, gp3}, {more, gp3, nvme, most}} {
		rng := rand.New(rand.NewPCG(1, 2))
		now := time.Unix(0, 0)
		d := adaptation{limit: firstLimit, least: leastLimit, most: depthUring}
		limit := d.limit
		for i, v := range run {
			name := fmt.Sprintf("%v after %v", v, run[:i])
			knee := int64(v.iops * v.latency.Seconds())
			asked, done := 0.0, 0.0 // of the time at rest
			for step := range 240 { // a minute
				now = now.Add(windowTime)
				rate := volumeRate(limit, v.iops, v.latency)
				if step >= 32 {
					asked, done = asked+v.iops, done+rate
				}
				limit = d.window(now, rate*(0.99+0.02*rng.Float64()), true)
				if step < 32 { // 8 s
					continue
				}
				if d.limit < min(knee, d.most) || d.limit > max(3*knee, 2*leastLimit) && d.limit > 2*d.least {
					t.Fatalf("%s: after %v the limit is %d, the knee at %d", name, windowTime*time.Duration(step), d.limit, knee)
				}
			}
			if share := done / asked; share < 0.98 {
				t.Errorf("%s: %.3f of the volume is used", name, share)
			}
		}
	}
}

// TestAdaptationIdle: windows in which the limit held nobody back change nothing.
func TestAdaptationIdle(t *testing.T) {
	d := adaptation{limit: 32, least: 8, most: 256}
	now := time.Unix(0, 0)
	for i := range 100 {
		now = now.Add(windowTime)
		if limit := d.window(now, float64(1000*(i%7)), false); limit != 32 {
			t.Fatalf("window %d: %d", i, limit)
		}
	}
}
