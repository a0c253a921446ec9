package sprat

import (
	"context"

	"github.com/spratdb/sprat/rescore"
)

// rescore replaces the estimates of the candidates that matter by exact
// distances.
//
// The first wave reads, for each candidate whose lower bound is within the k-th
// best distance, its refine record or, where that is no dearer, its vector
// record. Later waves read the vector records of what is still within the k-th
// best and not exact; there is usually one, and none is left when every
// candidate within the k-th best is exact.
//
// Past its deadline a query spends one last wave on the records of the k best.
func (s *searcher) rescore(ctx context.Context) error {
	all := func(c *rescore.Candidate) bool { return c.Tier < rescore.Exact }
	if s.late() {
		s.cands.Cut(s.k)
		return s.readWave(ctx, s.afford(s.planner.PlanRecords(s.cands.All(), all)))
	}
	s.cands.Cut(max(s.k, s.rules.limit))
	if s.opts.FixedWork {
		return s.readWave(ctx, s.planner.PlanRecords(s.cands.All(), all))
	}
	s.cands.Prune(s.rules.eps)
	limit := s.cands.Settle()
	reads := s.planner.PlanWave(s.cands.All(), limit, within(limit, s.rules.eps))
	for len(reads) > 0 {
		if reads = s.afford(reads); len(reads) == 0 {
			return nil
		}
		if err := s.readWave(ctx, reads); err != nil {
			return err
		}
		if s.late() {
			s.cands.Cut(s.k)
		}
		limit = s.cands.Settle()
		reads = s.planner.PlanRecords(s.cands.All(), within(limit, s.rules.eps))
	}
	return nil
}

// within picks the candidates that are not exact and whose lower bound is at
// most limit.
func within(limit, eps float32) func(*rescore.Candidate) bool {
	return func(c *rescore.Candidate) bool {
		return c.Tier < rescore.Exact && c.Lower(eps) <= limit
	}
}

// afford keeps the reads that the query's read budget allows.
func (s *searcher) afford(reads []rescore.Read) []rescore.Read {
	if s.opts.MaxReads == 0 {
		return reads
	}
	left := max(s.opts.MaxReads-s.readCount(), 0)
	if len(reads) > left {
		s.partial = true
		s.work.Stop = "read budget"
		reads = s.planner.Best(s.cands.All(), reads, left)
	}
	return reads
}

// readWave submits the planned reads as one wave and takes in what they bring.
func (s *searcher) readWave(ctx context.Context, reads []rescore.Read) error {
	refines := 0
	for i, r := range reads {
		f := s.ix.recordsFile
		if r.Refine {
			f = s.ix.refineFile
			refines++
		}
		s.batch.Read(f, r.Off, r.Len, uint64(i))
	}
	s.work.RefineReads += refines
	s.work.RecordReads += len(reads) - refines
	err := s.inOrder(ctx, len(reads), len(reads), func(i int, data []byte) error {
		if reads[i].Refine {
			return s.takeRefined(reads[i], data)
		}
		return s.takeRecords(reads[i], data)
	})
	s.say("rescore wave: %d refine and %d record reads; %d refined, %d exact so far\n",
		refines, len(reads)-refines, s.work.Refined, s.work.Exact)
	return err
}

func (s *searcher) takeRefined(r rescore.Read, data []byte) error {
	l, cands := s.ix.refine, s.cands.All()
	for i := r.First; i < r.Last; i++ {
		c := &cands[s.planner.Order(i)]
		off := l.Offset(c.Slot)
		est, sigma, err := s.refiner.Estimate(l, data[off-r.Off:], c.Slot, &s.query)
		if err != nil {
			return rescore.Located(err, s.ix.path(refineFile), off)
		}
		c.Dist, c.Sigma, c.Tier = est, sigma, rescore.Refined
		s.work.Refined++
	}
	return nil
}

func (s *searcher) takeRecords(r rescore.Read, data []byte) error {
	l, cands := &s.ix.records, s.cands.All()
	for i := r.First; i < r.Last; i++ {
		c := &cands[s.planner.Order(i)]
		off := l.Offset(c.Slot)
		rec, err := l.Decode(data[off-r.Off:], c.Slot)
		if err != nil {
			return rescore.Located(err, s.ix.path(recordsFile), off)
		}
		rec.Vector(s.vector)
		d := s.target.Distance(s.vector)
		c.Dist, c.Sigma, c.Tier = s.engineDistance(d), 0, rescore.Exact
		s.rows = append(s.rows, row{distance: d, order: s.target.Metric.Order(d), slot: c.Slot, record: rec})
		s.work.Exact++
	}
	return nil
}

// engineDistance is the squared L2 distance in the engine's space that belongs
// to an exact answered distance, so that exact and estimated candidates compare.
func (s *searcher) engineDistance(d float64) float32 {
	switch s.target.Metric {
	case rescore.Cosine:
		return float32(2 * d)
	case rescore.Dot:
		return float32(s.ix.space.dotDistance(d, s.target.Vector))
	}
	return float32(d)
}
