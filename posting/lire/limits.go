package lire

import "github.com/spratdb/sprat/posting"

// Limits bound a posting, in entries.
type Limits struct {
	Target int // what a cut aims at
	Split  int // above it a posting is cut; at most what one read holds
	Merge  int // below it a posting is given up
	Fold   int // changes that are worth writing the posting anew
}

// A posting is cut above twice its target, so that two even parts are of the size
// aimed at, far from both limits: neither part is cut or given up soon. A stream in
// the order of its data fills one region after the other before it thins them out;
// cut earlier, postings end at two thirds of their target, and queries read more of
// them. A fold costs a write of
// the whole posting, so four of them write each entry about four times.
const (
	mergeShare = 6
	foldShare  = 4
)

// LimitsFor returns the limits of postings whose extents shall be about so many
// bytes, at most posting.MaxBytes. All limits are at least 1.
func LimitsFor(l *posting.Layout, postingBytes int) Limits {
	postingBytes = min(postingBytes, posting.MaxBytes)
	target := max(1, l.Capacity(postingBytes))
	return Limits{
		Target: target,
		Split:  max(target, l.Capacity(min(2*postingBytes, posting.MaxBytes))),
		Merge:  max(1, target/mergeShare),
		Fold:   max(1, target/foldShare),
	}
}

// Action is what a posting needs.
type Action uint8

// The actions. Drop is considered first, then Drain, Split, Fold.
const (
	Keep  Action = iota // nothing
	Fold                // write extent and delta as one extent
	Split               // cut into parts
	Drain               // re-place all members, into other postings
	Drop                // remove: nothing live is in it
)

var actionNames = [...]string{"keep", "fold", "split", "drain", "drop"}

// String returns the action in lower case, for logs.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown"
}

// Shape is the counts that decide about a posting, in entries. It holds Extent +
// Delta - Dead live ones.
type Shape struct {
	Extent, Delta int
	Dead          int  // of both
	Draining      bool // a drain has begun
	Only          bool // there is no other posting that could take its members
	Pressed       bool // memory is short: any delta shall be folded
}

// Live is the number of live entries, at least 0.
func (s Shape) Live() int { return max(0, s.Extent+s.Delta-s.Dead) }

// Decide returns the action that the posting needs most.
//
// A fold is worth it when the delta holds Fold entries, when it holds any and
// memory is short, or when at least Fold entries and a quarter of all are dead. A
// drain that has begun goes on, whatever came in meanwhile, unless the posting has
// become the only one.
func (l Limits) Decide(s Shape) Action {
	live := s.Live()
	switch {
	case live == 0:
		return Drop
	case !s.Only && (s.Draining || live < l.Merge):
		return Drain
	case live > l.Split:
		return Split
	case s.Delta >= l.Fold, s.Delta > 0 && s.Pressed:
		return Fold
	case s.Dead >= l.Fold && 4*s.Dead >= s.Extent+s.Delta:
		return Fold
	default:
		return Keep
	}
}

// Urgency orders the work on many postings, for Queue.Add: 1 and more for those
// to cut, by how far they have outgrown one read; less for those to fold, by what a
// fold saves; 0 for the rest, which only costs space.
func (l Limits) Urgency(s Shape) float64 {
	switch l.Decide(s) {
	case Split:
		return float64(s.Live()) / float64(l.Split)
	case Fold:
		return min(1, float64(max(s.Delta, s.Dead))/float64(l.Split))
	default:
		return 0
	}
}
