package lire

import (
	"math"
	"time"
)

const (
	// paceFrom is the debt from which writers are slowed.
	paceFrom = 0.5
	// maxPace is the delay of one vector just below a debt of 1.
	maxPace = 2 * time.Millisecond
)

// Block is the delay that never ends: the writer waits until the debt is below 1.
const Block = time.Duration(math.MaxInt64)

// Pace returns how long a writer shall be held for each vector it writes. Below a
// debt of 0.5 that is 0; from there it grows with the square of the way to a debt
// of 1, up to 2 ms; at 1 and above it is Block.
//
// The square leaves writers alone while maintenance keeps up and meets a lasting
// overload early: the rate of writing settles where the delay makes it equal to
// that of maintenance, well before the debt is 1.
func Pace(debt float64) time.Duration {
	switch {
	case debt >= 1:
		return Block
	case debt > paceFrom:
		way := (debt - paceFrom) / (1 - paceFrom)
		return time.Duration(way * way * float64(maxPace))
	default: // NaN too: nothing is known to be behind
		return 0
	}
}

// Backlog is what maintenance has not done yet, beside what it may leave undone. A
// limit of 0 or less is none.
type Backlog struct {
	DeltaBytes, DeltaLimit     int64 // memory of deltas
	LandingBytes, LandingLimit int64 // records that are not in their place
	Oversized, OversizedLimit  int   // postings that wait for a cut
}

// Debt is the greatest of the ratios, 0 and more: the argument of Pace.
func (b Backlog) Debt() float64 {
	ratio := func(have, limit int64) float64 {
		if limit <= 0 {
			return 0
		}
		return float64(max(0, have)) / float64(limit)
	}
	return max(ratio(b.DeltaBytes, b.DeltaLimit), ratio(b.LandingBytes, b.LandingLimit),
		ratio(int64(b.Oversized), int64(b.OversizedLimit)))
}
