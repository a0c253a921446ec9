package centroids

import "github.com/spratdb/sprat/rq"

// exactRows is the largest set of which Nearest scans every row. Larger ones are
// grouped.
const exactRows = 20_000

// scanPlan is how far Nearest goes in a grouped set. Groups are scanned from the
// nearest on: first rows rows, then rounds of more rows, until a round brings no
// more than slack rows into the n nearest. That adapts to the data: for n = 32, of
// 100,000 centroids of sift128 it scans 9,500, of 100,000 word vectors (glove100,
// not even averaged) 12,500, each for a recall above 0.99; the 256 nearest of
// 30,000 centroids of text-lsa384, nearly all of them equally far, mostly take a
// full scan.
type scanPlan struct {
	first int // rows before the first look
	round int // rows of a round
	slack int
	limit int // rows after which all that are left are scanned
}

func planScan(total, n int) scanPlan {
	return scanPlan{first: 2000 + 8*n, round: 3000 + total/50, slack: n / 256, limit: total / 3}
}

// Neighbor is a centroid at a distance.
type Neighbor struct {
	Row    int32   // within the Set that was asked
	ID     uint32  // of the centroid
	DistSq float32 // squared distance, never negative
}

// Workspace is scratch memory of Nearest and Route. The zero value is ready; it
// grows to what is asked of it and is then reused without allocation. It is for
// one goroutine at a time and serves any number of sets.
type Workspace struct {
	rq     rq.Workspace
	dist   []float32
	sel    selector
	groups selector // of the centres of a grouped set
	seen   []bool   // by group: scanned
	route  routeScratch
}

// Nearest returns the n centroids nearest to q, or all when there are fewer,
// ascending by squared distance and then id. Distances are to the decoded
// centroids, with q rounded to 16 bits a dimension for 8-bit codes and to 8 bits
// for 4-bit codes. The result takes the memory of dst when that suffices.
//
// A flat set is scanned whole. Of a grouped set only the groups nearest to q are,
// until more of them change next to nothing (scanPlan); then the answer holds at
// least 99 % of the n nearest on average.
//
// q must have the dimensions of the set.
func (s *Set) Nearest(dst []Neighbor, q *rq.Query, n int, ws *Workspace) []Neighbor {
	dst = dst[:0]
	n = min(n, s.Len())
	if n < 1 {
		return dst
	}
	ws.sel.reset(n, s.Len())
	plan := planScan(s.Len(), n)
	if s.supers == nil || plan.first >= plan.limit {
		s.scanAll(q, &ws.sel, ws)
	} else if !s.scanNear(q, plan, ws) {
		for at := range s.blocks {
			if !ws.seen[at] {
				s.scan(at, q, &ws.sel, ws)
			}
		}
	}
	return ws.sel.appendSorted(dst)
}

// scan offers the rows of block at to sel.
func (s *Set) scan(at int, q *rq.Query, sel *selector, ws *Workspace) {
	b := s.blocks[at]
	ws.dist = resize(ws.dist, len(b.ids))
	s.coder.Distances(ws.dist, q, b.codes, b.scale, b.normSq, &ws.rq)
	sel.offer(ws.dist, b.ids, s.start[at])
}

// scanAll offers all rows to sel.
func (s *Set) scanAll(q *rq.Query, sel *selector, ws *Workspace) {
	for at := range s.blocks {
		s.scan(at, q, sel, ws)
	}
}

// scanNear scans the groups of a grouped set, those with the nearest centres first,
// and notes them in ws.seen. It returns false when it came to plan.limit without
// an end. Groups are taken in batches of about plan.first and plan.round rows whose
// inner order is left open, which saves sorting them.
func (s *Set) scanNear(q *rq.Query, plan scanPlan, ws *Workspace) bool {
	ws.seen = resize(ws.seen, len(s.blocks))
	clear(ws.seen)
	mean := s.Len() / len(s.blocks)
	taken, rows, goal, first := 0, 0, plan.first, true
	// Most searches end with the first round, so no more is prepared at first.
	for _, reach := range [2]int{min(plan.first+plan.round*3/2, plan.limit), plan.limit} {
		groups := s.supers.nearestUnsorted(q, 1+reach/mean, ws)
		if taken > 0 {
			quickselect(groups, taken-1)
		}
		for taken < len(groups) {
			batch := groups[taken:]
			if n := 1 + (goal-rows)/mean; n < len(batch) {
				quickselect(batch, n-1)
				batch = batch[:n]
			}
			taken += len(batch)
			for _, g := range batch {
				s.scan(int(g.row), q, &ws.sel, ws)
				ws.seen[g.row] = true
				rows += len(s.blocks[g.row].ids)
			}
			if rows < goal {
				continue
			}
			if !first && ws.sel.accepted <= plan.slack {
				return true
			}
			rows, goal, first = 0, plan.round, false
			ws.sel.mark()
		}
	}
	return false
}

// nearestUnsorted returns the n rows of a flat set nearest to q, in any order.
func (s *Set) nearestUnsorted(q *rq.Query, n int, ws *Workspace) []candidate {
	ws.groups.reset(min(n, s.Len()), s.Len())
	s.scanAll(q, &ws.groups, ws)
	ws.groups.shrink()
	return ws.groups.pile
}
