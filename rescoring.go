package sprat

import (
	"context"
	"slices"

	"github.com/spratdb/sprat/rescore"
)

// refinedEps is the bound, in sigmas, of candidates known from their refine
// record. Their errors are so small that a wide bound costs next to nothing, and
// it keeps answers from depending on which tier served a candidate.
const refinedEps = 3

// rescore replaces the estimates of the candidates that matter by exact
// distances.
//
// The candidates whose lower bound is within the k-th best estimate are known
// better after the first wave, each from its refine record or, where that is no
// dearer, its vector record. Later waves read the vector records of what is still
// within the k-th best and not exact; there is usually one, and none is left when
// every candidate within the k-th best is exact. Cached records are not read, and
// do not change which candidates are looked at.
//
// Past its deadline a query spends one last wave on the records of the k best.
func (s *searcher) rescore(ctx context.Context) error {
	if s.late() {
		s.cands.Cut(s.k)
		return s.readWave(ctx, s.afford(s.planner.PlanRecords(s.cands.All(), notExact)))
	}
	s.cands.Cut(max(s.k, s.rules.limit))
	if s.opts.FixedWork {
		return s.readWave(ctx, s.planner.PlanRecords(s.cands.All(), notExact))
	}
	s.cands.Prune(s.rules.eps)
	limit := s.cands.Settle()
	estimated := func(c *rescore.Candidate) bool {
		return c.Tier == rescore.Estimated && c.Lower(s.rules.eps) <= limit
	}
	if err := s.fromCache(estimated); err != nil {
		return err
	}
	reads := s.planner.PlanWave(s.cands.All(), limit, estimated)
	for {
		if err := s.readWave(ctx, s.afford(reads)); err != nil {
			return err
		}
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
		if reads = s.planner.PlanRecords(s.cands.All(), within); len(reads) == 0 || s.spent() {
			return nil
		}
	}
}

func notExact(c *rescore.Candidate) bool { return c.Tier < rescore.Exact }

// fromCache takes in what the cache holds of the picked candidates.
func (s *searcher) fromCache(pick func(*rescore.Candidate) bool) (err error) {
	if s.cache == nil {
		return nil
	}
	cands, id := s.cands.All(), s.ix.row.ID
	for i := range cands {
		c := &cands[i]
		if !pick(c) {
			continue
		}
		if b := s.cache.get(cachedRecord, id, c.Slot); b != nil {
			s.work.CacheHits++
			err = s.takeRecord(c, b, s.ix.records.Offset(c.Slot))
		} else if c.Tier == rescore.Estimated && s.ix.refine != nil {
			if b := s.cache.get(cachedRefine, id, c.Slot); b != nil {
				s.work.CacheHits++
				err = s.takeRefine(c, b, s.ix.refine.Offset(c.Slot))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spent says that the query's read budget is used up.
func (s *searcher) spent() bool {
	if s.opts.MaxReads == 0 || s.readCount() < s.opts.MaxReads {
		return false
	}
	s.partial = true
	s.work.Stop = "read budget"
	return true
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

// readWave submits the planned reads as one wave, or as several where they would
// bring more than waveBytes, and takes in what they bring.
func (s *searcher) readWave(ctx context.Context, reads []rescore.Read) error {
	for len(reads) > 0 {
		n, bytes := 0, 0
		for n < len(reads) && bytes < s.ix.store.waveBytes() {
			bytes += reads[n].Len
			n++
		}
		if err := s.readPart(ctx, reads[:n]); err != nil {
			return err
		}
		reads = reads[n:]
	}
	return nil
}

func (s *searcher) readPart(ctx context.Context, reads []rescore.Read) error {
	refines := 0
	for i, r := range reads {
		f := s.ix.recordsFile
		if r.Refine {
			f = s.ix.refineFile
			refines++
		}
		s.wave().Read(f, r.Off, r.Len, uint64(i))
	}
	s.work.RefineReads += refines
	s.work.RecordReads += len(reads) - refines
	s.expect(len(reads))
	err := s.inOrder(ctx, len(reads), func(i int, data []byte, _ bool) error { return s.take(reads[i], data) })
	if s.trace != nil {
		s.say("rescore wave: %d refine and %d record reads; %d refined, %d exact so far\n",
			refines, len(reads)-refines, s.work.Refined, s.work.Exact)
	}
	return err
}

// take takes in the candidates that one read serves.
func (s *searcher) take(r rescore.Read, data []byte) error {
	cands, id := s.cands.All(), s.ix.row.ID
	for i := r.First; i < r.Last; i++ {
		c := &cands[s.planner.Order(i)]
		stride, kind, take := s.ix.records.Stride, cachedRecord, s.takeRecord
		if r.Refine {
			stride, kind, take = s.ix.refine.Stride, cachedRefine, s.takeRefine
		}
		off := stride.Offset(c.Slot)
		b := data[off-r.Off:][:stride.Bytes]
		if err := take(c, b, off); err != nil {
			return err
		}
		s.cache.put(kind, id, c.Slot, b)
	}
	return nil
}

// takeRefine takes in the refine record of a candidate, which lies at off.
func (s *searcher) takeRefine(c *rescore.Candidate, b []byte, off int64) error {
	est, sigma, err := s.refiner.Estimate(s.ix.refine, b, c.Slot, &s.query)
	if err != nil {
		return rescore.Located(err, s.ix.path(refineFile), off)
	}
	c.Dist, c.Sigma, c.Tier = est, sigma, rescore.Refined
	s.work.Refined++
	return nil
}

// takeRecord takes in the vector record of a candidate, which lies at off.
func (s *searcher) takeRecord(c *rescore.Candidate, b []byte, off int64) error {
	rec, err := s.ix.records.Decode(b, c.Slot)
	if err != nil {
		return rescore.Located(err, s.ix.path(recordsFile), off)
	}
	rec.Vector(s.vector)
	d := s.target.Distance(s.vector)
	c.Dist, c.Sigma, c.Tier = s.engineDistance(d), 0, rescore.Exact
	r := row{distance: d, order: s.target.Metric.Order(d), slot: c.Slot, metaElsewhere: rec.MetaElsewhere}
	if !rec.KeyElsewhere {
		r.key = s.keep(rec.Key)
	}
	if s.opts.Metadata && rec.Metadata != nil {
		r.metadata = s.keep(rec.Metadata)
	}
	if s.opts.Vectors {
		r.vector = slices.Clone(s.vector)
	}
	s.rows = append(s.rows, r)
	s.work.Exact++
	return nil
}

// keep copies b into the query's own memory.
func (s *searcher) keep(b []byte) []byte {
	at := len(s.text)
	s.text = append(s.text, b...)
	return s.text[at:len(s.text):len(s.text)]
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
	return float32(d * s.ix.space.scale * s.ix.space.scale)
}
