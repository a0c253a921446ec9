package sprat

import (
	"context"
	"errors"
	"slices"

	"github.com/spratdb/sprat/iopath"
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
		return s.readWave(ctx, s.planRecords(notExact))
	}
	s.cands.Cut(max(s.k, s.rules.limit))
	if s.opts.FixedWork || s.rules.eps >= noBound {
		// Refine records decide by bounds, too: where nothing may be missed, not even
		// one of many equal vectors, every candidate is read in full.
		return s.readWave(ctx, s.planRecords(notExact))
	}
	s.cands.Prune(s.rules.eps)
	limit := s.cands.Settle()
	estimated := func(c *rescore.Candidate) bool {
		return c.Tier == rescore.Estimated && c.Lower(s.rules.eps) <= limit
	}
	if err := s.fromCache(estimated); err != nil {
		return err
	}
	s.landed(estimated)
	reads := s.afford(s.planner.PlanWave(s.cands.All(), limit, s.home(estimated)))
	for {
		if err := s.readWave(ctx, reads); err != nil {
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
		if reads = s.planRecords(within); len(reads)+len(s.away) == 0 || s.spent() {
			return nil
		}
	}
}

// planRecords plans a wave of the vector records of the picked candidates, as
// far as the query's read budget goes.
func (s *searcher) planRecords(pick func(*rescore.Candidate) bool) []rescore.Read {
	s.landed(pick)
	return s.afford(s.planner.PlanRecords(s.cands.All(), s.home(pick)))
}

// landed lists the picked candidates whose records are in a landing segment: each
// costs a read of its vector record there.
func (s *searcher) landed(pick func(*rescore.Candidate) bool) {
	s.away = s.away[:0]
	if len(s.v.segments) == 0 {
		return
	}
	cands := s.cands.All()
	for i := range cands {
		if !pick(&cands[i]) {
			continue
		}
		if _, ok := s.v.landing(cands[i].Slot); ok {
			s.away = append(s.away, i)
		}
	}
}

// home is pick without the candidates that landed has listed.
func (s *searcher) home(pick func(*rescore.Candidate) bool) func(*rescore.Candidate) bool {
	if len(s.away) == 0 {
		return pick
	}
	return func(c *rescore.Candidate) bool {
		if !pick(c) {
			return false
		}
		_, away := s.v.landing(c.Slot)
		return !away
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
		gen, _ := s.v.generation(c.Slot)
		if b := s.cache.get(cachedRecord, id, c.Slot, uint32(gen)); b != nil {
			s.work.CacheHits++
			err = s.takeRecord(c, b.Bytes(), recordPlace{file: s.ix.recordsFile, off: s.ix.records.Offset(c.Slot), slot: c.Slot, gen: gen})
			b.Release()
		} else if c.Tier == rescore.Estimated && s.ix.refine != nil {
			if b := s.cache.get(cachedRefine, id, c.Slot, uint32(gen)); b != nil {
				s.work.CacheHits++
				err = s.takeRefine(c, b.Bytes(), s.ix.refine.Offset(c.Slot))
				b.Release()
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

// afford keeps the reads that the query's read budget allows, those of landed
// records first.
func (s *searcher) afford(reads []rescore.Read) []rescore.Read {
	if s.opts.MaxReads == 0 {
		return reads
	}
	left := max(s.opts.MaxReads-s.readCount(), 0)
	if len(reads)+len(s.away) > left {
		s.partial = true
		s.work.Stop = "read budget"
		s.away = s.away[:min(left, len(s.away))]
		reads = s.planner.Best(s.cands.All(), reads, left-len(s.away))
	}
	return reads
}

// readWave submits the planned reads and those of landed records as one wave, or
// as several where they would bring more than waveBytes, and takes in what they
// bring.
func (s *searcher) readWave(ctx context.Context, reads []rescore.Read) error {
	most := s.ix.store.waveBytes()
	for len(reads)+len(s.away) > 0 {
		n, bytes := 0, 0
		for n < len(reads) && bytes < most {
			bytes += reads[n].Len
			n++
		}
		away := min(len(s.away), max(0, most-bytes)/s.ix.records.Bytes)
		if n == 0 {
			away = max(away, min(1, len(s.away)))
		}
		if err := s.readPart(ctx, reads[:n], s.away[:away]); err != nil {
			return err
		}
		reads, s.away = reads[n:], s.away[away:]
	}
	return nil
}

func (s *searcher) readPart(ctx context.Context, reads []rescore.Read, away []int) error {
	refines := 0
	for i, r := range reads {
		f := s.ix.recordsFile
		if r.Refine {
			f = s.ix.refineFile
			refines++
		}
		s.wave().Read(f, r.Off, r.Len, uint64(i))
	}
	places, fly := s.places[:0], len(reads)
	for i, at := range away {
		c := &s.cands.All()[at]
		gen, _ := s.v.generation(c.Slot)
		p, err := s.ix.recordPlace(s.v, c.Slot, gen)
		if err != nil {
			s.endWave()
			return err
		}
		if places = append(places, p); p.mem == nil {
			s.wave().Read(p.file, p.off, s.ix.records.Bytes, uint64(len(reads)+i))
			fly++
		}
	}
	s.places = places
	s.work.RefineReads += refines
	s.work.RecordReads += fly - refines
	s.expect(len(reads) + len(away))
	for i := range places {
		s.arrived[len(reads)+i] = places[i].mem
	}
	err := s.inOrder(ctx, fly, func(i int, data []byte, _ bool) error {
		if i < len(reads) {
			return s.take(reads[i], data)
		}
		return s.takeRecord(&s.cands.All()[away[i-len(reads)]], data, places[i-len(reads)])
	})
	if err != nil && s.failed >= 0 {
		s.noteUnread(err, reads, places)
	}
	if s.trace != nil {
		s.say("rescore wave: %d refine and %d record reads, %d of them landed; %d refined, %d exact so far\n",
			refines, fly-refines, fly-len(reads), s.work.Refined, s.work.Exact)
	}
	return err
}

// noteUnread notes what the read that failed was for; the upkeep finds out which
// of it is damaged.
func (s *searcher) noteUnread(err error, reads []rescore.Read, away []recordPlace) {
	var unread *iopath.ReadError
	switch {
	case !errors.As(err, &unread): // noted where it was decoded
	case s.failed >= len(reads):
		s.ix.damage.slot(away[s.failed-len(reads)].slot, err)
	default:
		for i := reads[s.failed].First; i < reads[s.failed].Last; i++ {
			s.ix.damage.slot(s.cands.All()[s.planner.Order(i)].Slot, err)
		}
	}
}

// take takes in the candidates that one read serves.
func (s *searcher) take(r rescore.Read, data []byte) error {
	cands, id := s.cands.All(), s.ix.row.ID
	for i := r.First; i < r.Last; i++ {
		c := &cands[s.planner.Order(i)]
		stride, kind := s.ix.records.Stride, cachedRecord
		if r.Refine {
			stride, kind = s.ix.refine.Stride, cachedRefine
		}
		off := stride.Offset(c.Slot)
		b := data[off-r.Off:][:stride.Bytes]
		gen, _ := s.v.generation(c.Slot)
		var err error
		if r.Refine {
			err = s.takeRefine(c, b, off)
		} else {
			err = s.takeRecord(c, b, recordPlace{file: s.ix.recordsFile, off: off, slot: c.Slot, gen: gen})
		}
		if err != nil {
			return err
		}
		s.cache.put(kind, id, c.Slot, uint32(gen), b)
	}
	return nil
}

// takeRefine takes in the refine record of a candidate, which lies at off.
func (s *searcher) takeRefine(c *rescore.Candidate, b []byte, off int64) error {
	est, sigma, err := s.refiner.Estimate(s.ix.refine, b, c.Slot, &s.query)
	if err != nil {
		err = rescore.Located(err, s.ix.path(refineFile), off)
		s.ix.damage.slot(c.Slot, err)
		return err
	}
	c.Dist, c.Sigma, c.Tier = est, sigma, rescore.Refined
	s.work.Refined++
	return nil
}

// takeRecord takes in the vector record of a candidate, which lies at p.
func (s *searcher) takeRecord(c *rescore.Candidate, b []byte, p recordPlace) error {
	rec, err := s.ix.decodeRecord(b, &p)
	if err != nil {
		s.ix.damage.slot(c.Slot, err)
		return err
	}
	rec.Vector(s.vector)
	d := s.target.Distance(s.vector)
	c.Dist, c.Sigma, c.Tier = s.engineDistance(d), 0, rescore.Exact
	if s.filter.filter != nil {
		if matches, err := s.filter.check(s.ix, c.Slot, &rec); err != nil || !matches {
			return err
		}
	}
	r := row{distance: d, order: s.target.Metric.Order(d), near: c.Dist, slot: c.Slot, gen: p.gen, metaElsewhere: rec.MetaElsewhere}
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
		return float32(s.v.space.dotDistance(d, s.target.Vector))
	}
	return float32(d * s.v.space.scale * s.v.space.scale)
}
