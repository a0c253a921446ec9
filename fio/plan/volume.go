package plan

import "math"

// Need is what is asked of the volumes of a store, all together.
type Need struct {
	GiB   float64 `json:"gib"`
	IOPS  float64 `json:"iops"`
	MiBps float64 `json:"mibps"`
}

// Setting is how each of Volumes equal volumes is ordered; data is striped over
// them.
type Setting struct {
	Volumes int     `json:"volumes"`
	GiB     int     `json:"gib"`
	IOPS    int     `json:"iops"`
	MiBps   float64 `json:"mibps"`
	Month   float64 `json:"month"` // price of all of them
}

// total is what the volumes of the setting have together.
func (s Setting) total() Need {
	n := float64(s.Volumes)
	return Need{GiB: n * float64(s.GiB), IOPS: n * float64(s.IOPS), MiBps: n * s.MiBps}
}

// Cheapest returns the setting of at most so many volumes that gives what is needed
// for the least money, the one with fewer volumes where two cost the same. It
// returns false when none does.
func (t *VolumeType) Cheapest(need Need, maxVolumes int) (best Setting, ok bool) {
	for n := 1; n <= maxVolumes; n++ {
		s, fits := t.with(need, n)
		if fits && (!ok || s.Month < best.Month) {
			best, ok = s, true
		}
	}
	return best, ok
}

// Fewest returns the cheapest setting of the fewest volumes that give what is
// needed.
func (t *VolumeType) Fewest(need Need) Setting {
	most := max(min(float64(t.MiBps.Max), t.MiBps.PerIOPS*float64(t.IOPS.Max)), math.SmallestNonzeroFloat64)
	times := max(need.GiB/float64(t.GiB.Max), need.IOPS/float64(t.IOPS.Max), need.MiBps/most, 1)
	n := int(min(math.Ceil(times-slack), math.MaxInt32))
	for range 2 { // rounding may ask for one more
		if s, ok := t.with(need, n); ok {
			return s
		}
		n++
	}
	s := Setting{Volumes: n, GiB: t.GiB.Max, IOPS: t.IOPS.Max, MiBps: most}
	s.Month = float64(n) * t.month(s.GiB, s.IOPS, s.MiBps)
	return s
}

// slack is by how much a need may exceed a limit and still count as met: less
// than any rounding of the arithmetic matters to a volume.
const slack = 1e-9

// with is the smallest setting of n volumes that gives what is needed. The smallest
// is the cheapest, as no price is negative: throughput is chosen first, the IOPS
// then have to carry it, and the size both.
func (t *VolumeType) with(need Need, n int) (Setting, bool) {
	share := func(v float64) float64 { return v / float64(n) }
	mibps := share(need.MiBps)
	if t.MiBps.Step > 0 {
		mibps = float64(stepUp(mibps, t.MiBps.Min, t.MiBps.Step))
	}
	iops := stepUp(max(share(need.IOPS), mibps/t.MiBps.PerIOPS), t.IOPS.Min, t.IOPS.Step)
	if t.MiBps.Step == 0 {
		mibps = min(t.MiBps.PerIOPS*float64(iops), float64(t.MiBps.Max))
	}
	gib := share(need.GiB)
	if iops > t.IOPS.Min {
		gib = max(gib, float64(iops)/t.IOPS.PerGiB)
	}
	s := Setting{Volumes: n, GiB: stepUp(gib, t.GiB.Min, t.GiB.Step), IOPS: iops, MiBps: mibps}
	if s.GiB > t.GiB.Max || s.IOPS > t.IOPS.Max || s.MiBps > float64(t.MiBps.Max) || s.MiBps < share(need.MiBps)-slack {
		return Setting{}, false
	}
	s.Month = float64(n) * t.month(s.GiB, s.IOPS, s.MiBps)
	return s, true
}

// month is the price of one volume.
func (t *VolumeType) month(gib, iops int, mibps float64) float64 {
	return t.GiB.Price*float64(gib) + t.IOPS.month(iops) + t.MiBps.Price*max(0, mibps-float64(t.MiBps.Included))
}

// stepUp is the least number from low on, in steps, that is not below v.
func stepUp(v float64, low, step int) int {
	steps := math.Ceil((v-float64(low))/float64(step) - slack)
	return low + step*int(min(max(steps, 0), maxAmount))
}
