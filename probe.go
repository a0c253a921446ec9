package sprat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spratdb/sprat/internal/arena"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
)

// probe reads postings in waves, nearest centroid first, and fills the
// candidate set.
//
// The first wave reads a few postings to learn how near the k-th neighbour is;
// the second reads the others that the stop rule still thinks worth it. Past the
// caps, further waves run only while fewer than k candidates are known, so that k
// results come back whenever k vectors exist.
func (s *searcher) probe(ctx context.Context) error {
	total := s.v.set.Len()
	s.order = s.v.set.Nearest(s.order, &s.query, min(s.rules.probe, total), &s.route)
	budget := s.postingBudget()
	end := min(s.rules.firstWave, len(s.order), budget)
	for s.next < end {
		if err := s.probeWave(ctx, end); err != nil {
			return err
		}
		end = s.nextWave(budget)
	}
	return s.probeForK(ctx, total, budget)
}

// nextWave is the end of the postings that the next wave should read; s.next
// when there is none, with the reason in work.Stop.
func (s *searcher) nextWave(budget int) int {
	end, why := len(s.order), "search probe"
	if limit := s.cands.Limit(); !s.opts.FixedWork && limit < inf {
		if n := s.worthwhile(limit, end); n < end {
			end, why = n, "stop rule"
		}
	}
	if end > budget {
		end, why = max(s.next, budget), "read budget"
		s.partial = true
	}
	if end == s.v.set.Len() {
		why = "all postings"
	}
	if s.late() {
		end, why = s.next, stopDeadline
	}
	s.work.Stop = why
	return end
}

// worthwhile is the end of the postings that the stop rule would read, given
// the k-th best distance so far.
func (s *searcher) worthwhile(kthSq float32, end int) int {
	rule := &s.calib.Rule
	prior, nearest := rule.prior(kthSq), math.Sqrt(float64(s.order[0].DistSq))
	n := s.next
	for n < end && rule.odds(prior, n, math.Sqrt(float64(s.order[n].DistSq))-nearest) >= s.rules.odds {
		n++
	}
	return n
}

// probeForK goes on past the cap while fewer than k candidates are known.
func (s *searcher) probeForK(ctx context.Context, total, budget int) error {
	for s.cands.Len() < s.k && s.next < total && s.next < budget && !s.late() {
		want := min(total, budget, max(2*s.next, s.next+s.k/64+1))
		if want > len(s.order) {
			s.extendOrder(want)
		}
		s.work.Stop = "k candidates"
		if err := s.probeWave(ctx, min(want, len(s.order))); err != nil {
			return err
		}
	}
	return nil
}

// extendOrder finds the n nearest postings and puts those already read first: a
// longer search of grouped centroids may order them differently.
func (s *searcher) extendOrder(n int) {
	read := make(map[uint32]bool, s.next)
	for _, p := range s.order[:s.next] {
		read[p.ID] = true
	}
	longer := s.v.set.Nearest(nil, &s.query, n, &s.route)
	s.order = s.order[:s.next]
	for _, p := range longer {
		if !read[p.ID] {
			s.order = append(s.order, p)
		}
	}
}

// late says that the query's deadline has passed.
func (s *searcher) late() bool {
	if s.opts.Deadline.IsZero() || time.Now().Before(s.opts.Deadline) {
		return false
	}
	s.partial = true
	return true
}

// postingBudget is how many postings a read budget allows: what is left when
// the k records have been paid for, but at least one.
func (s *searcher) postingBudget() int {
	if s.opts.MaxReads == 0 {
		return len(s.order) + s.v.set.Len()
	}
	return max(1, s.opts.MaxReads-min(s.k, s.opts.MaxReads/2))
}

// waveBytes bounds what a wave of one query brings into memory; a query that
// wants more takes several waves.
func (s *Store) waveBytes() int { return int(min(max(s.opts.MemoryLimit/64, 1<<20), 16<<20)) }

// probeWave reads the postings order[next:end] together and scans them in that
// order, each as soon as it and those before it are there: the order of arrival
// must not decide which candidates are kept. Cached ones are not read.
func (s *searcher) probeWave(ctx context.Context, end int) error {
	for s.next < end {
		if err := s.probePart(ctx, end); err != nil {
			return err
		}
	}
	return nil
}

// probePart is as much of a probe wave as waveBytes allows.
func (s *searcher) probePart(ctx context.Context, end int) error {
	first, before, reads, bytes := s.next, s.reads, 0, 0
	s.expect(end - first)
	i, most := first, s.ix.store.waveBytes()
	for ; i < end && bytes < most; i++ {
		p := s.v.postings.At(int(s.order[i].ID))
		if b := s.cache.get(cachedPosting, s.ix.row.ID, s.order[i].ID, p.tag); b != nil {
			s.arrived[i-first] = s.borrow(b)
			s.work.CacheHits++
			continue
		}
		s.wave().Read(s.ix.postingsFile, p.extent.Offset(), int(p.extent.Bytes), uint64(i-first))
		reads++
		bytes += int(p.extent.Bytes)
	}
	end = i
	s.arrived = s.arrived[:end-first]
	err := s.inOrder(ctx, reads, func(i int, data []byte, fresh bool) error {
		return s.scanPosting(first+i, data, fresh)
	})
	if err != nil && s.failed >= 0 {
		s.ix.damage.posting(s.order[first+s.failed].ID, err)
	}
	s.next = end
	s.work.PostingReads += int(s.reads - before)
	if s.trace != nil { // the arguments would be allocated for nothing
		s.say("probe wave: postings %d-%d, %d of them from the cache, %d candidates, k-th distance² %.4g\n",
			first, end-1, end-first-reads, s.cands.Len(), s.cands.Limit())
	}
	return err
}

// wave returns the batch of the wave being put together.
func (s *searcher) wave() *iopath.Batch {
	if s.batch == nil {
		s.batch = s.ix.store.engine.NewBatch()
		s.batch.SetClass(s.class)
	}
	return s.batch
}

// borrow keeps a cached block until the end of the wave.
func (s *searcher) borrow(b *arena.Block) []byte {
	s.borrowed = append(s.borrowed, b)
	return b.Bytes()
}

// endWave counts the wave's work and gives its buffers and cached blocks back.
func (s *searcher) endWave() {
	for i, b := range s.borrowed {
		b.Release()
		s.borrowed[i] = nil
	}
	s.borrowed = s.borrowed[:0]
	if s.batch == nil {
		return
	}
	reads, bytes, waves := s.batch.Counters()
	s.reads += reads
	s.work.Bytes += bytes
	s.work.Waves += int(waves)
	s.batch.Release()
	s.batch = nil
}

// scanPosting takes in the live entries of a posting: those of its extent, whose
// bytes are given, and those that are not in it yet.
func (s *searcher) scanPosting(rank int, data []byte, fresh bool) error {
	n := s.order[rank]
	p := s.v.postings.At(int(n.ID))
	v, err := s.ix.layout.Parse(data, n.ID)
	if err != nil {
		return posting.Located(err, s.ix.path(postingsFile), p.extent.Offset())
	}
	// The estimates need the centroid that the codes were made for.
	if code, scale, normSq := s.v.set.Code(n.Row); scale != v.Centroid.Scale || normSq != v.Centroid.NormSq ||
		!bytes.Equal(code, v.Centroid.Code) {
		return &CorruptionError{Path: s.ix.path(centroidsFile),
			Err: fmt.Errorf("the centroid of posting %d is not the one that the posting holds", n.ID)}
	}
	limit := inf
	if s.rules.eps < noBound { // what keeps everything need not know the bound
		limit = s.cands.Limit()
	}
	s.hits = s.scan.Scan(s.hits[:0], &s.ix.layout, &v, &s.query, n.DistSq, s.rules.eps, limit)
	s.hits = s.scan.ScanDelta(s.hits, &s.ix.layout, p.delta, &s.query, n.DistSq, s.rules.eps, limit)
	if s.filter.restricts {
		s.takeMatching(n, v.N+p.delta.Len(), limit)
	} else {
		for i := range s.hits {
			if h := &s.hits[i]; s.v.alive(h.Slot, h.Generation) {
				s.cands.Add(h.Slot, h.Est, h.Err)
			}
		}
	}
	s.work.Postings++
	s.work.Codes += v.N + p.delta.Len()
	if fresh {
		s.cache.put(cachedPosting, s.ix.row.ID, n.ID, p.tag, data)
	}
	return nil
}

// expect makes room for the blocks of a wave of n tags.
func (s *searcher) expect(n int) {
	if cap(s.arrived) < n {
		s.arrived = make([][]byte, n, n+n/2)
	}
	s.arrived = s.arrived[:n]
	clear(s.arrived)
}

// inOrder submits the batch, which holds the given number of reads, as one wave
// and calls f for each tag in order, while later reads are still in flight. Tags
// that already have their block need no read; fresh is false for them. Tags with
// neither are skipped. The blocks are valid until it returns.
func (s *searcher) inOrder(ctx context.Context, reads int, f func(tag int, data []byte, fresh bool) error) error {
	defer s.endWave()
	s.flying, s.failed = s.flying[:0], -1
	for _, b := range s.arrived {
		s.flying = append(s.flying, b == nil)
	}
	if reads > 0 {
		held, err := s.submit(ctx)
		if err != nil {
			return err
		}
		defer s.ix.store.admission.buffers.Release(held)
	}
	for done := 0; ; reads-- {
		for done < len(s.arrived) && (s.arrived[done] != nil || reads == 0) {
			if b := s.arrived[done]; b != nil {
				if err := f(done, b, s.flying[done]); err != nil {
					s.failed = done
					return err
				}
			}
			done++
		}
		if reads == 0 {
			return nil
		}
		c, err := s.receive(ctx)
		if err != nil {
			return err
		}
		if c.Err != nil {
			if cause := context.Cause(ctx); cause != nil && errors.Is(c.Err, cause) {
				return cause // nothing is wrong with what it was to read
			}
			s.failed = int(c.Tag)
			return c.Err
		}
		s.arrived[c.Tag] = c.Data
	}
}

// submit waits for room for the wave's buffers and submits the wave.
func (s *searcher) submit(ctx context.Context) (held int64, err error) {
	adm, asked := s.ix.store.admission, time.Now()
	held, err = adm.acquire(ctx, adm.buffers, s.batch.Staged())
	if err == nil {
		if err = s.batch.Submit(ctx); err != nil {
			adm.buffers.Release(held)
		} else if s.partial && s.late() {
			s.batch.Hurry()
		}
	}
	s.waited += time.Since(asked)
	return held, err
}

// receive waits for a read of the wave. A last wave, for which ctx allows more than
// the deadline, hurries from then on.
func (s *searcher) receive(ctx context.Context) (iopath.Completion, error) {
	asked := time.Now()
	defer func() { s.waited += time.Since(asked) }()
	if ctx == s.clock.hard && ctx != s.clock.soft && s.clock.soft.Err() == nil {
		c, err := s.batch.Next(s.clock.soft)
		if !errors.Is(err, errLate) {
			return c, err
		}
		s.overdue(err)
		s.batch.Hurry()
	}
	return s.batch.Next(ctx)
}

func (s *searcher) readCount() int { return int(s.reads) }
