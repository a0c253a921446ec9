package sprat

import (
	"container/list"
	"errors"
	"math"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/filter"
	"github.com/spratdb/sprat/internal/filterindex"
)

// Plans of a query with a filter; see searchMatching.
const (
	planNone  = "none match"
	planScan  = "scan"
	planProbe = "probe"
	planCheck = "check"
)

// filterPlan is how a query with a filter is done. Costs are in operations of the
// volume, of which rescore.DefaultBalance bytes are worth one.
type filterPlan struct {
	name     string
	matching uint64 // at most so many vectors match

	slots  []uint32 // all that match, when they are listed
	listed bool
	scan   float64 // cost of reading them, the least while they are not listed; +Inf when they cannot be
	refine bool    // by refine records first

	probes      int     // postings that a probe is expected to read
	postingCost float64 // of each
}

const (
	// scanMost is how many matches are listed for a scan.
	scanMost = 1 << 17
	// scanCompute is how many matches scanned are worth an operation in
	// processor time.
	scanCompute = 2000
)

// planMatching chooses by what each plan is expected to read.
func (s *searcher) planMatching() (filterPlan, error) {
	f := &s.filter
	live := s.v.state.Vectors
	m, rows, ok, err := s.ix.matching(s.v, f.filter, string(s.opts.Filter))
	s.work.FilterRows = rows
	switch {
	case err != nil:
		return filterPlan{}, err
	case !ok:
		s.explain("filter: the filter index is not ready; documents are looked at\n")
		return filterPlan{name: planCheck, matching: live}, nil
	}
	f.restricts, f.matches = true, m
	p := filterPlan{name: planProbe, matching: m.len(live), scan: math.Inf(1)}
	if p.matching == 0 {
		s.explain("filter: none of %d vectors matches, by %d rows of the filter index\n", live, rows)
		p.name = planNone
		return p, nil
	}
	probe := s.priceProbe(&p)
	s.priceScan(&p, probe)
	if p.scan <= probe && !s.opts.FixedWork {
		p.name = planScan
	}
	if s.trace != nil {
		exactly := "at most "
		if m.set.Exact && m.maybe == nil {
			exactly = ""
		}
		s.say("filter: %s%d of %d vectors match, by %d rows of the filter index; cost of a scan %.1f, of a probe %.1f (%d postings): %s\n",
			exactly, p.matching, live, rows, p.scan, probe, p.probes, p.name)
	}
	return p, nil
}

func (s *searcher) explain(format string, args ...any) {
	if s.trace != nil {
		s.say(format, args...)
	}
}

// priceScan finds what reading all matches costs. While the least that it can cost
// is more than enough, they are not listed for that.
func (s *searcher) priceScan(p *filterPlan, enough float64) {
	if p.listed || p.matching > scanMost {
		return
	}
	stride := s.ix.records.Bytes
	if s.ix.refine != nil {
		stride = s.ix.refine.Bytes
	}
	n := float64(p.matching)
	if p.scan = n*float64(stride)/float64(s.planner.Balance) + n/scanCompute; p.scan > enough {
		return
	}
	f := &s.filter
	f.slots = f.matches.list(f.slots[:0], s.v)
	p.slots, p.listed = f.slots, true
	records, refines := s.planner.Cost(p.slots)
	// Refine records leave few vector records to be read: those of the answer.
	refines += float64(min(2*s.k, len(p.slots)))
	p.refine = refines < records
	p.scan = min(records, refines) + float64(len(p.slots))/scanCompute
}

// priceProbe is what reading postings is expected to cost: k matches are among the
// nearest of k divided by the share that matches, if that has nothing to do with
// distance.
func (s *searcher) priceProbe(p *filterPlan) float64 {
	postings, live := float64(s.v.set.Len()), float64(s.v.state.Vectors)
	p.postingCost = 1 + float64(s.ix.row.PostingBytes)/float64(s.planner.Balance)
	among := float64(s.k) * live / float64(p.matching)
	probes := among / max(live/max(postings, 1), 1)
	if _, preset := s.ix.dialsFor(s.k, s.opts); preset.Found > 0 {
		probes = max(probes, s.calib.between(int(min(among, live)), func(l *ladder) float64 { return l.step(preset.Found).Probes }))
	} else {
		probes = max(probes, firstWave)
	}
	probes = min(probes, postings)
	p.probes = int(probes)
	return probes*p.postingCost + float64(s.k)
}

// matchSet is what a query knows of the slots that match. The set is shared with
// other queries.
type matchSet struct {
	set   filterindex.Set
	maybe *roaring.Bitmap // slots that came or went since the set was made; nil is none
}

func (m *matchSet) has(slot uint32) bool {
	return m.set.Has(slot) || m.maybe != nil && m.maybe.Contains(slot)
}

// len is the most slots of so many live ones that may match.
func (m *matchSet) len(live uint64) uint64 {
	n := m.set.Len(live)
	if m.maybe != nil {
		n += m.maybe.GetCardinality()
	}
	return min(n, live)
}

// list appends the live slots of a version that may match, ascending.
func (m *matchSet) list(slots []uint32, v *version) []uint32 {
	if m.set.Neg {
		for r := range v.runs.Len() {
			x := v.runs.At(r)
			for i := range catalog.RunSlots {
				if slot := uint32(r*catalog.RunSlots + i); x.live>>i&1 != 0 && m.has(slot) {
					slots = append(slots, slot)
				}
			}
		}
		return slots
	}
	all := m.set.Bits
	if m.maybe != nil {
		all = roaring.Or(all, m.maybe)
	}
	for it := all.Iterator(); it.HasNext(); {
		slot := it.Next()
		if uint64(slot) < v.state.Slots {
			if _, live := v.generation(slot); live {
				slots = append(slots, slot)
			}
		}
	}
	return slots
}

// staleMost is how many slots a set may be wrong about before it is made anew.
const staleMost = 2048

// matching returns the slots of a version that may match a filter, and how many
// rows were read for it; not ok when the rows do not tell.
//
// Rows and sets are of other moments than the version: they are right about every
// slot that no commit has filled or emptied in between, and the others may match.
func (ix *Index) matching(v *version, f *filter.Filter, text string) (m matchSet, rows int, ok bool, err error) {
	if v.state.Filters != catalog.FiltersWhole {
		return m, 0, false, nil
	}
	epoch, _ := ix.filterLog.state()
	if c, found := ix.filterSets.get(text, epoch); found {
		if maybe, known := ix.filterLog.since(min(c.seq, v.state.Seq)); known && (maybe == nil || maybe.GetCardinality() <= staleMost) {
			return matchSet{c.set, maybe}, 0, true, nil
		}
	}
	seq := ix.current.Load().state.Seq // before the rows are read
	cur, err := ix.store.catalog.FilterRows(ix.row.ID)
	if err != nil {
		return m, 0, false, err
	}
	e := filterindex.Evaluator{Rows: cur}
	set, err := e.Evaluate(f.Root())
	if err = errors.Join(err, cur.Close()); err != nil {
		return m, 0, false, ix.inCatalog(err)
	}
	set.Bits.RunOptimize()
	now, whole := ix.filterLog.state()
	maybe, known := ix.filterLog.since(min(seq, v.state.Seq))
	if !whole || now != epoch || !known {
		return m, e.RowsRead, false, nil
	}
	ix.filterSets.put(filterSet{text: text, set: set, seq: seq, epoch: epoch}, ix.store.writeShare(64, 16<<20))
	return matchSet{set, maybe}, e.RowsRead, true, nil
}

// filterSets are the sets of recent filters of an index, in bounded memory; the one
// used last goes last. It is safe for concurrent use.
type filterSets struct {
	mu    sync.Mutex
	order list.List // of filterSet, the latest used in front
	at    map[string]*list.Element
	bytes int64
}

// filterSet is the set of a filter. It is not changed any more.
type filterSet struct {
	text  string
	set   filterindex.Set
	seq   uint64 // of the commit up to which it is right about all
	epoch uint64 // of the rows
}

func (s *filterSet) bytes() int64 { return s.set.Bytes() + 2*int64(len(s.text)) + 200 }

func (c *filterSets) get(text string, epoch uint64) (filterSet, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.at[text]
	if !ok {
		return filterSet{}, false
	}
	s := e.Value.(filterSet)
	if s.epoch != epoch {
		c.drop(e)
		return s, false
	}
	c.order.MoveToFront(e)
	return s, true
}

// put keeps a set, in place of those that most bytes have no room for.
func (c *filterSets) put(s filterSet, most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]*list.Element{}
	}
	if e, ok := c.at[s.text]; ok {
		c.drop(e)
	}
	c.at[s.text] = c.order.PushFront(s)
	for c.bytes += s.bytes(); c.bytes > most; {
		c.drop(c.order.Back())
	}
}

func (c *filterSets) drop(e *list.Element) {
	s := c.order.Remove(e).(filterSet)
	delete(c.at, s.text)
	c.bytes -= s.bytes()
}

// size is the memory of the sets, in bytes.
func (c *filterSets) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
