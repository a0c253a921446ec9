package sprat

import (
	"math"

	"github.com/spratdb/sprat/centroids"
)

// outlook tells a query with a filter how many of the k nearest matches the
// postings that it has not read are expected to hold. The stop rule of queries
// without a filter knows the neighbourhood of a query; matches may lie anywhere, and
// then it is far from what it was fitted on.
//
// Of a posting at squared distance D² the squared distances of members scatter
// around D² + m with deviation s, both learnt from the first postings of the query.
// So a member is within the k-th distance T² with probability
//
//	p = c · Φ((T² - D² - m) / s)
//
// where c corrects it by what the latest half of the postings read held. The
// expected number of matches missed is the sum of n · p · f / copies over the unread
// postings of n entries. f is the share of entries that match: of those in the latest
// half of the postings, or of all that are unseen when that is more.
type outlook struct {
	dists  []float32 // of live entries, matching or not
	fresh  []bool    // the entry is of a vector that no earlier posting had
	seen   slotSet
	views  []postingView
	around int     // vectors seen within the k-th distance, matching or not
	share  float64 // of entries that match, in the latest half
	mean   float64 // m
	dev    float64 // s
	scale  float64 // c
}

// postingView is what a query saw of a posting.
type postingView struct {
	distSq  float32 // of its centroid
	first   int     // of its distances
	n       int     // live entries and others
	all     bool    // dists has them all: none was beyond the limit
	matches int
}

// reset forgets what was seen, and lets go of what one long query has left.
func (o *outlook) reset() {
	if cap(o.dists) > outlookMost {
		*o = outlook{}
	}
	o.dists, o.fresh, o.views = o.dists[:0], o.fresh[:0], o.views[:0]
	o.seen.reset()
}

// outlookMost is how many entries' memory is kept from query to query.
const outlookMost = 1 << 15

// see begins a posting.
func (o *outlook) see(n centroids.Neighbor, entries int, limit float32) {
	o.views = append(o.views, postingView{distSq: n.DistSq, first: len(o.dists), n: entries, all: limit == inf})
}

// entry takes in a live entry of the posting.
func (o *outlook) entry(slot uint32, dist float32, matches bool) {
	o.dists = append(o.dists, dist)
	if o.fresh = append(o.fresh, o.seen.add(slot)); !o.fresh[len(o.fresh)-1] {
		return
	}
	if matches {
		o.views[len(o.views)-1].matches++
	}
}

// of are the distances of a posting.
func (o *outlook) of(i int) []float32 {
	end := len(o.dists)
	if i+1 < len(o.views) {
		end = o.views[i+1].first
	}
	return o.dists[o.views[i].first:end]
}

// learn fits the model to what was seen, for a squared k-th distance.
func (o *outlook) learn(kthSq float64) {
	var n, sum, squares float64
	for i := range o.views {
		if v := &o.views[i]; v.all {
			for _, d := range o.of(i) {
				x := float64(d - v.distSq)
				n, sum, squares = n+1, sum+x, squares+x*x
			}
		}
	}
	o.mean = sum / max(n, 1)
	o.dev = math.Sqrt(max(squares/max(n, 1)-o.mean*o.mean, 0)) + 1e-12
	within, expected, entries, matches := 0.0, 0.0, 0.0, 0.0
	o.around = 0
	for i := range o.views {
		v := &o.views[i]
		late := i >= len(o.views)/2
		for k, d := range o.of(i) {
			if !o.fresh[v.first+k] {
				continue
			}
			if late {
				entries++
			}
			if float64(d) <= kthSq {
				if o.around++; late {
					within++
				}
			}
		}
		if !late {
			continue
		}
		seen := float64(v.n)
		expected += seen * normalBelow((kthSq-float64(v.distSq)-o.mean)/o.dev)
		matches += float64(v.matches)
	}
	o.scale = (within + 1) / (expected + 1)
	o.share = (matches + 0.5) / (entries + 1)
}

func normalBelow(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// within is the expected number of matches within the k-th distance of an entry of
// a posting at the squared distance.
func (o *outlook) within(kthSq float64, distSq float32) float64 {
	return min(1, o.scale*normalBelow((kthSq-float64(distSq)-o.mean)/o.dev))
}

// fittedAround is up to how many times k vectors within the k-th distance the stop
// rule of queries without a filter is good enough: it was fitted to hundreds.
const fittedAround = 25

// surveyMost is how many postings an outlook judges one by one.
const surveyMost = 4096

// fittedTarget is what the fitted rule is asked for, for a recall target: it finds
// more than that of k matches among many more vectors. On text-lsa384, with half or a
// tenth of the vectors matching, 0.97 finds 0.993 and more, 0.98 finds 0.997.
func fittedTarget(recall float64) float64 {
	switch {
	case recall <= 0.97:
		return 0.97
	case recall <= 0.99:
		return 0.98
	}
	return recall
}

// filterRecall is the recall that queries with a filter aim at, at least.
const filterRecall = 0.99

// enoughPostings is the end of the postings after which fewer matches than allowed
// are expected to be missed, given the k-th best distance; beyond order when it does
// not say.
func (s *searcher) enoughPostings(kthSq float32, allowed float64, matching uint64) int {
	o, kth, total := &s.filter.outlook, float64(kthSq), s.v.set.Len()
	entries := float64(s.v.state.Entries) / float64(max(total, 1))
	unread := max(float64(total-s.next), 1)
	copies := float64(s.v.state.Entries) / float64(max(s.v.state.Vectors, 1))
	unseen := max(float64(matching)-float64(s.cands.Len()), 0)
	f := min(1, max(o.share, unseen*copies/(unread*entries)))
	each := entries * f
	if n := min(total, max(4*s.next, surveyMost)); n > len(s.order) {
		s.extendOrder(n)
	}
	// From the far end: what lies beyond the order is as near as its last.
	last := len(s.order) - 1
	missed := float64(total-len(s.order)) * each * o.within(kth, s.order[last].DistSq)
	if missed > allowed {
		return len(s.order) + 1
	}
	for i := last; i >= s.next; i-- {
		if missed += each * o.within(kth, s.order[i].DistSq); missed > allowed {
			return i + 1
		}
	}
	return s.next
}

// slotSet is a set of slots by open addressing.
type slotSet struct {
	table []uint32 // slot + 1; 0 is empty
	n     int
}

func (t *slotSet) reset() {
	clear(t.table)
	t.n = 0
}

// add puts a slot in and says whether it was not there.
func (t *slotSet) add(slot uint32) bool {
	if 2*(t.n+1) > len(t.table) {
		old := t.table
		t.table = make([]uint32, max(2*len(old), 1<<12))
		for _, x := range old {
			if x != 0 {
				t.table[t.find(x)] = x
			}
		}
	}
	at := t.find(slot + 1)
	if t.table[at] != 0 {
		return false
	}
	t.table[at] = slot + 1
	t.n++
	return true
}

// find is where an element is, or would be.
func (t *slotSet) find(x uint32) int {
	mask := uint32(len(t.table) - 1)
	h := x * 0x9e3779b1
	i := (h ^ h>>15) & mask
	for t.table[i] != 0 && t.table[i] != x {
		i = (i + 1) & mask
	}
	return int(i)
}
