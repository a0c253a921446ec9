package sprat

import (
	"context"
	"errors"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/filter"
	"github.com/spratdb/sprat/rescore"
)

// parseFilter compiles the filter of a query; nil when everything matches.
func (ix *Index) parseFilter(o *QueryOptions) (*filter.Filter, error) {
	if len(o.Filter) == 0 {
		return nil, nil
	}
	f, err := filter.Parse(o.Filter, filter.Options{Strict: o.StrictFilter})
	if not := ix.nonFilterable(); err == nil && f != nil && not != nil {
		err = f.CheckFilterable(not)
	}
	var refused *filter.FilterError
	switch {
	case errors.As(err, &refused):
		want := refused.Reason
		if refused.Path != "" {
			want = refused.Path + ": " + want
		}
		return nil, &InputError{Field: "filter", Want: want, Got: refused.Message}
	case err != nil:
		return nil, &InputError{Field: "filter", Want: "a JSON object", Got: MalformedJSON}
	}
	if f != nil && len(f.Fields()) == 0 {
		return nil, nil // {} holds for all
	}
	return f, nil
}

// filtering is the part of a query that knows its filter.
type filtering struct {
	filter *filter.Filter // nil when the query has none

	// restricts says that matches tells which slots may match. Otherwise documents
	// alone do.
	restricts bool
	matches   matchSet

	outlook  outlook
	rejected int      // records read whose documents do not match
	slots    []uint32 // scratch
}

// reset forgets the query's filter.
func (f *filtering) reset() { *f = filtering{slots: f.slots, outlook: f.outlook} }

// check says whether the document of a record matches, wherever it is.
func (f *filtering) check(ix *Index, slot uint32, rec *rescore.Record) (bool, error) {
	doc := rec.Metadata
	if rec.MetaElsewhere {
		var err error
		if doc, err = ix.wholeMetadata(rec, slot); err != nil {
			return false, err
		}
	}
	if f.filter.Match(doc) {
		return true, nil
	}
	f.rejected++
	return false, nil
}

// searchMatching is search for the vectors that match the query's filter. Every
// answer is checked on its document; what the plan decides is what is read:
//
//   - none match: nothing;
//   - scan: the records of all that match, where that costs less than
//   - probe: postings, in which only entries of slots that match count. When that
//     turns out to cost more than a scan, the rest is done by a scan;
//   - check: without filter rows, the nearest vectors, and more of them until
//     enough match.
//
// Where the set of matches holds others, or is not known, the search is done again
// for more candidates until the k nearest of those that match are among them.
func (s *searcher) searchMatching() error {
	k, rules := s.k, s.rules
	defer func() { s.k, s.rules = k, rules }()
	plan, err := s.planMatching()
	if err != nil {
		return err
	}
	s.work.Plan, s.work.Matching = plan.name, int(plan.matching)
	s.rules = s.ix.resolve(s.k, s.filterOptions(filterRecall))
	if plan.name == planCheck {
		s.k = min(4*k, maxWant)
	}
	for {
		if err := s.follow(plan); err != nil {
			return err
		}
		if s.sufficient(k, plan) || s.partial || s.late() || s.spent() {
			return nil
		}
		s.k = min(4*s.k, maxWant)
		if s.trace != nil {
			s.say("filter: %d records read do not match; again for %d candidates\n", s.filter.rejected, s.k)
		}
	}
}

// maxWant bounds the candidates that are asked for.
const maxWant = 1 << 30

// sufficient says that the k nearest that match are among the rows: that so many
// rows are as near as what was asked for, or that nothing is left.
func (s *searcher) sufficient(k int, plan filterPlan) bool {
	if s.filter.rejected == 0 && plan.name != planCheck || uint64(s.k) >= plan.matching {
		return true
	}
	limit, near := s.cands.Settle(), 0
	for i := range s.rows {
		if s.rows[i].near <= limit {
			near++
		}
	}
	return near >= k
}

// follow does what the plan says, for s.k candidates.
func (s *searcher) follow(plan filterPlan) error {
	s.filter.rejected, s.rows, s.text = 0, s.rows[:0], s.text[:0]
	s.cands.Reset(s.k)
	switch plan.name {
	case planNone:
		s.work.Stop = planNone
		return nil
	case planScan:
		return s.scanMatching(s.clock.hard, &plan)
	}
	instead := false
	var err error
	if plan.name == planCheck {
		s.rules, s.next, s.order = s.ix.resolve(s.k, s.filterOptions(filterRecall)), 0, s.order[:0]
		err = s.probe(s.clock.soft)
	} else {
		instead, err = s.probeMatching(s.clock.soft, &plan)
	}
	switch {
	case err != nil && !s.overdue(err):
		return err
	case !instead:
		return s.rescore(s.clock.hard)
	}
	s.work.Plan = planProbe + ", then " + planScan
	s.cands.Reset(s.k)
	return s.scanMatching(s.clock.hard, &plan)
}

// takeMatching takes in what was found in a posting of so many entries: the live
// entries whose slots may match.
func (s *searcher) takeMatching(n centroids.Neighbor, entries int, limit float32) {
	f := &s.filter
	f.outlook.see(n, entries, limit)
	for i := range s.hits {
		h := &s.hits[i]
		if !s.v.alive(h.Slot, h.Generation) {
			continue
		}
		matches := f.matches.has(h.Slot)
		if matches {
			s.cands.Add(h.Slot, h.Est, h.Err)
		}
		f.outlook.entry(h.Slot, h.Est, matches)
	}
}

// probeMatching is probe for the slots that match. When it turns out that a scan
// costs less than going on, it gives up and says so.
func (s *searcher) probeMatching(ctx context.Context, plan *filterPlan) (instead bool, err error) {
	s.filter.outlook.reset()
	total := s.v.set.Len()
	most := min(total, s.postingBudget())
	if d, _ := s.ix.dialsFor(s.k, s.opts); d.RecallTarget == 0 { // a cap of the caller's
		most = min(most, s.rules.probe)
	}
	s.next, s.order = 0, s.v.set.Nearest(s.order[:0], &s.query, min(total, max(64, 4*plan.probes)), &s.route)
	end := min(max(s.rules.firstWave, plan.probes/2), most)
	if s.opts.FixedWork {
		end = most
	}
	for s.next < end {
		if end > len(s.order) {
			s.extendOrder(min(total, max(end, 2*len(s.order))))
		}
		if err := s.probeWave(ctx, end); err != nil {
			return false, err
		}
		want := 0
		end, want = s.nextMatching(plan, most)
		rest := float64(want-s.next) * plan.postingCost
		if s.opts.FixedWork || rest <= plan.scan {
			continue
		}
		if s.priceScan(plan, rest); rest > plan.scan {
			return true, nil
		}
	}
	return false, s.probeForK(ctx, total, min(total, s.postingBudget()))
}

// nextMatching is nextWave for the slots that match: the end of the next wave, and
// of all postings that the query is expected to read.
func (s *searcher) nextMatching(plan *filterPlan, most int) (end, want int) {
	why := "search probe"
	want = min(s.v.set.Len(), most)
	switch limit := s.cands.Limit(); {
	case s.opts.FixedWork:
	case s.rules.eps >= noBound:
		// Nothing may be missed.
	case limit < inf:
		n, o, by := 0, &s.filter.outlook, "the fitted rule"
		if o.learn(float64(limit)); o.around <= fittedAround*s.k {
			s.rules.odds = s.filterOdds(max(o.around, s.k))
			n = s.worthwhile(limit, len(s.order))
		} else {
			n, by = s.enoughPostings(limit, float64(s.k)*(1-max(s.recall(), filterRecall)), plan.matching), "what is expected to be missed"
		}
		if s.trace != nil {
			s.say("filter: %d vectors seen within the k-th distance, %.1f %% of the latest match; by %s, postings up to %d\n",
				o.around, 100*o.share, by, n-1)
		}
		if n >= len(s.order) {
			want = min(want, max(n+1, 4*s.next))
		} else if n < want {
			want, why = n, "stop rule"
		}
	default: // as many as will hold k, at the present rate, and some more
		rate := float64(s.cands.Len()+1) / float64(s.next)
		want = min(want, s.next+1+int(1.25*float64(s.k-s.cands.Len())/rate))
	}
	end = min(want, 4*s.next)
	switch {
	case s.late():
		end, why = s.next, stopDeadline
	case s.next == s.v.set.Len():
		why = "all postings"
	case s.next >= most && s.opts.MaxReads > 0 && most == s.postingBudget() && why == "search probe":
		s.partial, why = true, "read budget"
	}
	s.work.Stop = why
	return end, want
}

// filterOdds is the threshold of the stop rule for a query whose k-th match is
// among so many nearest vectors.
func (s *searcher) filterOdds(among int) float64 {
	if s.recall() == 0 {
		return s.calib.capThreshold(s.rules.probe, s.v.set.Len(), among)
	}
	o := *s.opts
	o.RecallTarget = fittedTarget(s.recall())
	_, p := s.ix.dialsFor(among, &o)
	return s.calib.presetOdds(p, among)
}

// filterOptions are the query's, with at least the recall given where a recall
// target is in force.
func (s *searcher) filterOptions(least float64) *QueryOptions {
	o := *s.opts
	if o.RecallTarget = s.recall(); o.RecallTarget > 0 {
		o.RecallTarget = max(o.RecallTarget, least)
	}
	return &o
}

// recall is the recall target in force, 0 when caps are.
func (s *searcher) recall() float64 {
	d, _ := s.ix.dialsFor(s.k, s.opts)
	return d.RecallTarget
}

// unknown is the deviation of a candidate of which no estimate is known.
const unknown = 1e30

// scanMatching reads what matches: refine records, then the vector records of
// those that may be among the k nearest, or where that is no dearer all vector
// records.
func (s *searcher) scanMatching(ctx context.Context, plan *filterPlan) error {
	for _, slot := range plan.slots {
		s.cands.Add(slot, 0, unknown)
	}
	s.work.Stop = planScan
	if err := s.fromCache(notExact); err != nil {
		return err
	}
	unread := func(c *rescore.Candidate) bool { return c.Tier == rescore.Estimated }
	s.landed(unread)
	var reads []rescore.Read
	if plan.refine && !s.opts.FixedWork && s.rules.eps < noBound {
		reads = s.planner.PlanRefines(s.cands.All(), s.home(unread))
	} else {
		reads = s.planner.PlanRecords(s.cands.All(), s.home(notExact))
	}
	if err := s.readWave(ctx, s.afford(reads)); err != nil {
		return err
	}
	s.cands.Keep(func(c *rescore.Candidate) bool { return c.Tier > rescore.Estimated }) // a budget may have left some
	for {
		if s.late() {
			s.cands.Cut(s.k)
		}
		limit := s.cands.Settle()
		within := func(c *rescore.Candidate) bool {
			return c.Tier == rescore.Refined && c.Lower(refinedEps) <= limit
		}
		if err := s.fromCache(within); err != nil {
			return err
		}
		reads := s.planRecords(within)
		if len(reads)+len(s.away) == 0 || s.spent() {
			return nil
		}
		if err := s.readWave(ctx, reads); err != nil {
			return err
		}
	}
}
