package centroids

import "github.com/spratdb/sprat/rq"

// exactRows is the largest set of which Nearest scans every row. Larger ones are
// grouped.
const exactRows = 20_000

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
	groups []Neighbor
	route  routeScratch
}

// Nearest returns the n centroids nearest to q, or all when there are fewer,
// ascending by squared distance and then id. Distances are to the decoded
// centroids, with q rounded to 16 bits a dimension for 8-bit codes and to 8 bits
// for 4-bit codes. The result takes the memory of dst when that suffices.
//
// A flat set is scanned whole. Of a grouped set only the groups nearest to q are,
// see scanRows; then the answer holds at least 99 % of the n nearest on average,
// for n up to 256, and for larger n more.
//
// q must have the dimensions of the set.
func (s *Set) Nearest(dst []Neighbor, q *rq.Query, n int, ws *Workspace) []Neighbor {
	dst = dst[:0]
	n = min(n, s.Len())
	if n < 1 {
		return dst
	}
	if scan := scanRows(s.Len(), n); s.supers != nil && scan < s.Len() {
		mean := s.Len() / len(s.blocks)
		ws.groups = s.supers.Nearest(ws.groups, q, 1+2*scan/mean, ws)
		if s.scanGroups(q, n, scan, ws) {
			return ws.sel.appendSorted(dst)
		}
	}
	ws.sel.reset(n, s.Len())
	for at, b := range s.blocks {
		ws.sel.offer(b.distances(s.coder, q, ws), b.ids, s.start[at])
	}
	return ws.sel.appendSorted(dst)
}

// scanGroups offers the groups of ws.groups in turn until scan rows were seen. It
// tells whether there were as many as n.
func (s *Set) scanGroups(q *rq.Query, n, scan int, ws *Workspace) bool {
	ws.sel.reset(n, s.Len())
	seen := 0
	for _, g := range ws.groups {
		b := s.blocks[g.Row]
		ws.sel.offer(b.distances(s.coder, q, ws), b.ids, s.start[g.Row])
		if seen += len(b.ids); seen >= scan {
			break
		}
	}
	return seen >= n
}
