package plan

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawType is a volume type small enough to try all its settings.
func drawType(rt *rapid.T) *VolumeType {
	n := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(rt, name) }
	price := func(name string) float64 { return float64(n(name, 0, 50)) / 10 }
	t := &VolumeType{Name: "drawn", LatencyMS: 1}
	t.GiB = SizePrice{Step: n("gib step", 1, 2), Price: price("gib price")}
	t.GiB.Min = t.GiB.Step * n("gib min", 1, 3)
	t.GiB.Max = t.GiB.Min + t.GiB.Step*n("gib span", 0, 6)
	t.IOPS = IOPSPrice{Step: n("iops step", 1, 3)}
	t.IOPS.Min = t.IOPS.Step * n("iops min", 1, 4)
	t.IOPS.Max = t.IOPS.Min + t.IOPS.Step*n("iops span", 0, 12)
	t.IOPS.PerGiB = float64(t.IOPS.Max) / float64(t.GiB.Max) * rapid.Float64Range(1, 3).Draw(rt, "per gib")
	above := n("first tier", 0, t.IOPS.Max)
	t.IOPS.Tiers = []IOPSTier{{Above: above, Price: price("tier")}}
	if above < t.IOPS.Max {
		t.IOPS.Tiers = append(t.IOPS.Tiers, IOPSTier{Above: n("second tier", above+1, t.IOPS.Max), Price: price("tier 2")})
	}
	t.MiBps.Step = n("mibps step", 0, 2)
	unit := max(t.MiBps.Step, 1)
	t.MiBps.Min = unit * n("mibps min", 0, 2)
	t.MiBps.Max = max(t.MiBps.Min+unit*n("mibps span", 0, 10), unit)
	t.MiBps.PerIOPS = float64(t.MiBps.Max) / float64(t.IOPS.Max) * rapid.Float64Range(1, 4).Draw(rt, "per iops")
	t.MiBps.Included, t.MiBps.Price = n("included", 0, t.MiBps.Max), price("mibps price")
	if err := t.validate(""); err != nil {
		rt.Fatal(err)
	}
	return t
}

// settings calls f with every setting of n volumes that can be ordered.
func (t *VolumeType) settings(n int, f func(Setting)) {
	for gib := t.GiB.Min; gib <= t.GiB.Max; gib += t.GiB.Step {
		for iops := t.IOPS.Min; iops <= t.IOPS.Max; iops += t.IOPS.Step {
			if iops > t.IOPS.Min && float64(iops) > t.IOPS.PerGiB*float64(gib)+1e-6 {
				break
			}
			carried := t.MiBps.PerIOPS * float64(iops)
			each := func(mibps float64) {
				f(Setting{n, gib, iops, mibps, float64(n) * t.month(gib, iops, mibps)})
			}
			if t.MiBps.Step == 0 {
				each(min(carried, float64(t.MiBps.Max)))
				continue
			}
			for mibps := t.MiBps.Min; mibps <= t.MiBps.Max && float64(mibps) <= carried+1e-6; mibps += t.MiBps.Step {
				each(float64(mibps))
			}
		}
	}
}

func (s Setting) gives(need Need) bool {
	has := s.total()
	return has.GiB >= need.GiB-1e-6 && has.IOPS >= need.IOPS-1e-6 && has.MiBps >= need.MiBps-1e-6
}

// TestCheapest: no setting that can be ordered and gives what is needed costs less,
// and where none is found none exists.
func TestCheapest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := drawType(rt)
		volumes := rapid.IntRange(1, 3).Draw(rt, "volumes")
		need := Need{
			GiB:   float64(rapid.IntRange(0, 5*volumes*v.GiB.Max).Draw(rt, "gib")) / 4,
			IOPS:  float64(rapid.IntRange(0, 5*volumes*v.IOPS.Max).Draw(rt, "iops")) / 4,
			MiBps: float64(rapid.IntRange(0, 5*volumes*v.MiBps.Max).Draw(rt, "mibps")) / 4,
		}
		best, found, orderable := math.Inf(1), false, false
		got, ok := v.Cheapest(need, volumes)
		for n := 1; n <= volumes; n++ {
			v.settings(n, func(s Setting) {
				if s.gives(need) {
					best, found = min(best, s.Month), true
				}
				orderable = orderable || ok && s == got
			})
		}
		if ok != found {
			rt.Fatalf("found %v, by trying all %v", ok, found)
		}
		if ok && (!orderable || !got.gives(need) || math.Abs(got.Month-best) > 1e-6) {
			rt.Fatalf("%+v (can be ordered: %v), the cheapest costs %v", got, orderable, best)
		}
		if few := v.Fewest(need); !few.gives(need) || ok != (few.Volumes <= volumes) {
			rt.Fatalf("fewest: %+v for %+v", few, need)
		}
	})
}

// TestEBSRules: the rules between size, IOPS and throughput of the default list.
func TestEBSRules(t *testing.T) {
	p := prices(t)
	for _, c := range []struct {
		kind int
		need Need
		want Setting
	}{
		{0, Need{GiB: 10, IOPS: 100, MiBps: 1}, Setting{1, 10, 3000, 125, 0.8}},
		{0, Need{GiB: 10.2, IOPS: 3000.5, MiBps: 125.5}, Setting{1, 11, 3001, 126, 0.88 + 0.005 + 0.04}},
		{0, Need{GiB: 10, IOPS: 80_000, MiBps: 1}, Setting{1, 160, 80_000, 125, 12.8 + 385}},
		{0, Need{GiB: 10, IOPS: 1, MiBps: 2000}, Setting{1, 16, 8000, 2000, 1.28 + 25 + 75}},
		{1, Need{GiB: 1, IOPS: 50, MiBps: 1}, Setting{1, 4, 100, 25.6, 0.5 + 6.5}},
		{1, Need{GiB: 1, IOPS: 50, MiBps: 4000}, Setting{1, 16, 15_625, 4000, 2 + 15_625*0.065}},
	} {
		got, ok := p.Volumes[c.kind].Cheapest(c.need, 1)
		if !ok || math.Abs(got.Month-c.want.Month) > 1e-9 {
			t.Errorf("%+v: %+v, %v, want %+v", c.need, got, ok, c.want)
		}
		got.Month = c.want.Month
		if got != c.want {
			t.Errorf("%+v: got %+v, want %+v", c.need, got, c.want)
		}
	}
}
