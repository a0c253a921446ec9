package centroids

import (
	"cmp"
	"math"
	"slices"
)

// candidate is a row with its squared distance in the upper and its id in the
// lower half of key, so that keys order by distance and then by id. Distances are
// not negative, and the bits of such floats order like the floats.
type candidate struct {
	key uint64
	row int32
}

// selector keeps the want smallest of the candidates offered to it. It lets them
// pile up to room, twice want or more, and then drops the larger ones by
// quickselect, so that an offer costs constant time for any want.
type selector struct {
	want, room int
	limit      uint64 // a candidate must be below this
	pile       []candidate
	// accepted counts the candidates taken since the last mark. At most so many of
	// the want smallest are new since then.
	accepted int
}

// reset prepares for the want smallest of at most n candidates.
func (s *selector) reset(want, n int) {
	s.want, s.room = want, min(max(2*want, want+128), n)
	s.limit, s.accepted = math.MaxUint64, 0
	s.pile = resize(s.pile, s.room)[:0]
}

// mark starts to count accepted candidates anew.
func (s *selector) mark() {
	s.shrink()
	s.accepted = 0
}

// offer takes the rows first, first+1, ... with their distances and ids.
func (s *selector) offer(dist []float32, ids []uint32, first int32) {
	ids = ids[:len(dist)]
	for i, d := range dist {
		key := uint64(math.Float32bits(d))<<32 | uint64(ids[i])
		if key >= s.limit {
			continue
		}
		if len(s.pile) == s.room {
			if s.shrink(); key >= s.limit {
				continue
			}
		}
		s.pile = append(s.pile, candidate{key, first + int32(i)})
		s.accepted++
	}
}

// shrink drops all but the want smallest.
func (s *selector) shrink() {
	if len(s.pile) < s.want {
		return
	}
	quickselect(s.pile, s.want-1)
	s.pile = s.pile[:s.want]
	s.limit = s.pile[s.want-1].key
}

// appendSorted appends the chosen in ascending order to dst.
func (s *selector) appendSorted(dst []Neighbor) []Neighbor {
	s.shrink()
	slices.SortFunc(s.pile, func(a, b candidate) int { return cmp.Compare(a.key, b.key) })
	for _, c := range s.pile {
		dst = append(dst, Neighbor{c.row, uint32(c.key), math.Float32frombits(uint32(c.key >> 32))})
	}
	return dst
}

// quickselect reorders c so that c[k] is the one of rank k, those before it are not
// larger and those after it not smaller. The pivot is the median of three.
func quickselect(c []candidate, k int) {
	lo, hi := 0, len(c)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if c[mid].key < c[lo].key {
			c[mid], c[lo] = c[lo], c[mid]
		}
		if c[hi].key < c[lo].key {
			c[hi], c[lo] = c[lo], c[hi]
		}
		if c[hi].key < c[mid].key {
			c[hi], c[mid] = c[mid], c[hi]
		}
		pivot := c[mid].key
		i, j := lo, hi
		for i <= j {
			for c[i].key < pivot {
				i++
			}
			for c[j].key > pivot {
				j--
			}
			if i <= j {
				c[i], c[j] = c[j], c[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}
