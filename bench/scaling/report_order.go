package scaling

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/iopath"
)

// load is what the queries of the run cost, all zero when that is not there.
func (r *Result) load() *bench.WorkloadReport {
	if r.Load == nil {
		return &bench.WorkloadReport{}
	}
	return r.Load
}

// recall is the share of right results, -1 when it is not known.
func (r *Result) recall() float64 {
	if w := r.load(); w.Recall != nil && !math.IsNaN(*w.Recall) {
		return *w.Recall
	}
	return -1
}

// sorted are the runs in the order of the tables, which does not depend on the
// order in which they were made.
func (r *Report) sorted() []*Result {
	out := make([]*Result, len(r.Runs))
	for i := range r.Runs {
		out[i] = &r.Runs[i]
	}
	slices.SortStableFunc(out, func(a, b *Result) int { return compareSettings(&a.Setting, &b.Setting) })
	return out
}

// compareSettings puts slow volumes and the default engine first, and stop rules
// before none.
func compareSettings(a, b *Setting) int {
	first := func(on bool) int {
		if on {
			return 0
		}
		return 1
	}
	return cmp.Or(
		compareVolumes(a.Volume, b.Volume), cmp.Compare(engineRank(a.Engine), engineRank(b.Engine)),
		strings.Compare(a.Engine, b.Engine), cmp.Compare(first(a.StopRules), first(b.StopRules)),
		cmp.Compare(a.RescoreLimit, b.RescoreLimit), cmp.Compare(a.SearchProbe, b.SearchProbe),
		cmp.Compare(a.Clients, b.Clients))
}

// compareVolumes puts the volume as it is last: it is the fastest.
func compareVolumes(a, b Volume) int {
	rank := func(v Volume) int64 {
		if v == (Volume{}) {
			return math.MaxInt64
		}
		return v.IOPS
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.MiBps, b.MiBps))
}

func engineRank(name string) int {
	if i := slices.Index([]string{iopath.IOUring, iopath.Pread, iopath.Mmap}, name); i >= 0 {
		return i
	}
	return 3
}

// axes are the values that occur in the runs, each axis in order.
func (r *Report) axes() (a Axes) {
	for _, run := range r.sorted() {
		s := run.Setting
		a.Volumes, a.Engines = with(a.Volumes, s.Volume), with(a.Engines, s.Engine)
		a.Clients, a.SearchProbe = with(a.Clients, s.Clients), with(a.SearchProbe, s.SearchProbe)
		a.RescoreLimit, a.StopRules = with(a.RescoreLimit, s.RescoreLimit), with(a.StopRules, s.StopRules)
	}
	slices.SortFunc(a.Volumes, compareVolumes)
	for _, list := range [][]int{a.Clients, a.SearchProbe, a.RescoreLimit} {
		slices.Sort(list)
	}
	slices.SortStableFunc(a.Engines, func(x, y string) int { return cmp.Compare(engineRank(x), engineRank(y)) })
	return a
}

// with is a list with a value in it once.
func with[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// where are the runs for which a condition holds, in the order of the tables.
func (r *Report) where(holds func(*Setting) bool) (out []*Result) {
	for _, run := range r.sorted() {
		if holds(&run.Setting) {
			out = append(out, run)
		}
	}
	return out
}

// plain makes one line of a text that others wrote, such as the name of a set:
// what does not show or is not allowed in XML becomes a space.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
