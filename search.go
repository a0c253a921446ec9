package sprat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/arena"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
)

// Query returns the k vectors nearest to q, nearest first, ties by key. Errors:
// ErrInvalid, ErrClosed, ErrCorrupt, the context's, and those of the volume.
//
//  1. Map q into the engine's space and rotate it once.
//  2. Order the postings by the distance of their centroids, from memory.
//  3. Read postings in waves and scan their codes, until the stop rule or a cap
//     says that no further posting can pay.
//  4. Read the refine records, or straight the vector records, of the candidates
//     whose lower bound can still beat the k-th best.
//  5. Read the vector records of the few that remain; exact distances decide.
func (ix *Index) Query(ctx context.Context, q []float32, k int, opts QueryOptions) (*Result, error) {
	if err := ix.checkQuery(q, k, &opts); err != nil {
		return nil, err
	}
	filter, err := ix.parseFilter(&opts)
	if err != nil {
		return nil, err
	}
	ix.users.RLock()
	defer ix.users.RUnlock()
	if err := ix.ended(); err != nil {
		return nil, err
	}
	ix.store.compute.query()
	clock := newClock(ctx, opts.Deadline)
	defer clock.end()
	adm := ix.store.admission
	held, err := adm.acquire(clock.soft, adm.queries, ix.queryBytes(k, &opts))
	if errors.Is(err, errLate) {
		return &Result{Partial: true, Work: Work{Stop: stopDeadline}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer adm.queries.Release(held)
	s := ix.searchers.Get().(*searcher)
	defer ix.searchers.Put(s)
	s.filter.filter = filter
	res, err := s.run(clock, q, k, &opts)
	return res, publicError(err)
}

// stopDeadline is Work.Stop of a query that its deadline has ended.
const stopDeadline = "deadline"

func (ix *Index) checkQuery(q []float32, k int, o *QueryOptions) error {
	switch {
	case k < 1 || k > MaxK:
		return invalid("k", "1 to 10,000", "%d", k)
	case o.SearchProbe < 0 || o.SearchProbe > maxSearchProbe:
		return invalid("searchProbe", "1 to 1,048,576", "%d", o.SearchProbe)
	case o.RescoreLimit < 0 || o.RescoreLimit > maxSearchProbe:
		return invalid("rescoreLimit", "1 to 1,048,576", "%d", o.RescoreLimit)
	case o.MaxReads < 0:
		return invalid("maxReads", "at least 1", "%d", o.MaxReads)
	case !(o.RecallTarget >= 0 && o.RecallTarget < 1):
		return invalid("recallTarget", "above 0 and below 1", "%v", o.RecallTarget)
	}
	return checkVector("vector", ix.metric, ix.row.Dimension, q)
}

// searcher is the workspace of one query at a time. Nothing in it is allocated
// per candidate once it is warm.
type searcher struct {
	ix     *Index
	v      *version // held while a query is under way
	cache  *cache   // of the store; nil reads everything from the volume
	rules  rules
	clock  clock        // of the query under way
	class  iopath.Class // of its reads
	forced *rules       // of a calibration; nil in every query of a user
	trial  *calibration // that is being measured; nil likewise
	calib  *calibration // in force
	k      int
	opts   *QueryOptions

	target rescore.Target
	query  rq.Query
	inner  []float32
	rotate []float32

	route    centroids.Workspace
	order    []centroids.Neighbor // postings, nearest centroid first
	next     int                  // first posting of order not read yet
	scan     posting.Scanner
	hits     []posting.Hit
	cands    rescore.Candidates
	planner  rescore.Planner
	refiner  rescore.Refiner
	away     []int          // candidates of the next wave whose records have landed
	places   []recordPlace  // of those of the wave under way
	batch    *iopath.Batch  // of the wave under way
	arrived  [][]byte       // blocks of the wave, by tag
	borrowed []*arena.Block // of the wave under way
	flying   []bool         // tags whose block was not cached
	failed   int            // tag that ended the wave with an error, or -1
	vector   []float32
	rows     []row  // what was read of exact candidates
	text     []byte // backs their keys and metadata

	filter  filtering // of the query, if it has one
	work    Work
	waited  time.Duration // for reads
	reads   int64         // operations so far
	partial bool
	trace   *strings.Builder // nil unless asked for
}

// row is an exact candidate. Its slices are copies: a wave's buffers go back to
// the engine when the wave is done.
type row struct {
	distance      float64
	order         float64 // smaller is nearer
	near          float32 // the candidate's distance
	slot          uint32
	gen           uint8
	key           []byte    // nil while it is only in the catalog
	metadata      []byte    // if asked for
	metaElsewhere bool      // in the catalog
	vector        []float32 // if asked for
}

func newSearcher(ix *Index) *searcher {
	return &searcher{
		ix: ix, cache: ix.store.cache, inner: make([]float32, innerDim(ix.metric, ix.row.Dimension)),
		rotate: make([]float32, ix.layout.D), vector: make([]float32, ix.row.Dimension),
		planner: rescore.Planner{Records: ix.records, Refine: ix.refine, Balance: rescore.DefaultBalance},
	}
}

func (s *searcher) run(c clock, q []float32, k int, opts *QueryOptions) (*Result, error) {
	start := time.Now()
	if err := c.hard.Err(); err != nil {
		return nil, err // even when the cache holds all that is needed
	}
	s.begin(q, k, opts)
	defer s.end()
	if err := s.search(c); err != nil {
		return nil, err
	}
	matches, err := s.answer()
	if err != nil {
		return nil, err
	}
	s.account(start)
	res := &Result{Matches: matches, Partial: s.partial, Work: s.work}
	if s.trace != nil {
		res.Trace = s.trace.String()
	}
	return res, nil
}

// search fills rows with exact candidates. At its deadline it goes on with what it
// has, and a little later ends with that.
func (s *searcher) search(c clock) error {
	s.clock, s.class = c, iopath.Foreground
	if isBackground(c.hard) {
		s.class = iopath.Maintenance
	}
	if s.filter.filter != nil {
		if err := s.searchMatching(); !s.overdue(err) {
			return err
		}
		return nil
	}
	err := s.probe(s.clock.soft)
	if err == nil || s.overdue(err) {
		err = s.rescore(s.clock.hard)
	}
	if s.overdue(err) {
		return nil
	}
	return err
}

// overdue says that an error is that of the query's deadline, and notes it.
func (s *searcher) overdue(err error) bool {
	if !errors.Is(err, errLate) {
		return false
	}
	s.partial, s.work.Stop = true, stopDeadline
	return true
}

// begin sets the searcher up for a query; end lets go of what it held.
func (s *searcher) begin(q []float32, k int, opts *QueryOptions) {
	s.k, s.opts, s.v = k, opts, s.ix.acquire()
	if s.calib = s.v.calib; s.trial != nil {
		s.calib = s.trial
	}
	if s.rules = s.ix.resolve(k, opts); s.forced != nil {
		s.rules = *s.forced
	}
	s.target = rescore.NewTarget(s.ix.metric, q)
	s.v.space.query(s.rotate, q, s.inner)
	s.query.Reset(s.rotate)
	s.cands.Reset(k)
	s.rows, s.text, s.order, s.next, s.reads = s.rows[:0], s.text[:0], s.order[:0], 0, 0
	s.work, s.waited, s.partial, s.trace = Work{}, 0, false, nil
	if opts.Trace {
		s.trace = &strings.Builder{}
		s.say("dials: search probe %d, rescore limit %d, stop at ln odds %.2f, eps %.2f\n",
			s.rules.probe, s.rules.limit, s.rules.odds, s.rules.eps)
	}
}

func (s *searcher) end() {
	clear(s.rows) // vectors belong to the answer
	s.filter.reset()
	s.v.release()
	s.v = nil
}

func (s *searcher) account(start time.Time) {
	s.work.Reads = int(s.reads)
	s.work.Candidates = s.cands.Len()
	s.work.Elapsed = time.Since(start)
	s.work.Busy = s.work.Elapsed - s.waited
	if s.trace == nil {
		return
	}
	s.say("answer: %d reads, %d KiB, %d waves in %v, %v of them computing; stopped probing by %s\n", s.work.Reads,
		s.work.Bytes>>10, s.work.Waves, s.work.Elapsed.Round(time.Microsecond), s.work.Busy.Round(time.Microsecond), s.work.Stop)
}

// say adds to the trace, which the query asked for.
func (s *searcher) say(format string, args ...any) { fmt.Fprintf(s.trace, format, args...) }

// answer sorts the exact candidates and returns the k nearest.
func (s *searcher) answer() ([]Match, error) {
	for i := range s.rows {
		r := &s.rows[i]
		if r.key != nil {
			continue
		}
		key, err := s.ix.store.catalog.LongKey(s.ix.row.ID, r.slot, r.gen)
		if err != nil {
			return nil, s.ix.promised(fmt.Errorf("key of slot %d: %w", r.slot, err))
		}
		r.key = key
	}
	slices.SortFunc(s.rows, func(a, b row) int {
		switch {
		case a.order < b.order:
			return -1
		case a.order > b.order:
			return 1
		}
		return bytes.Compare(a.key, b.key)
	})
	n := min(s.k, len(s.rows))
	matches := make([]Match, n)
	for i := range matches {
		r := &s.rows[i]
		matches[i] = Match{Key: string(r.key), Distance: r.distance, Vector: r.vector}
		if s.opts.Metadata {
			if err := s.metadata(&matches[i], r); err != nil {
				return nil, err
			}
		}
	}
	return matches, nil
}

func (s *searcher) metadata(m *Match, r *row) error {
	if !r.metaElsewhere {
		m.Metadata = slices.Clone(r.metadata)
		return nil
	}
	meta, err := s.ix.store.catalog.LongMetadata(s.ix.row.ID, r.slot, r.gen)
	if err != nil {
		return s.ix.promised(fmt.Errorf("metadata of key %q: %w", m.Key, err))
	}
	m.Metadata = meta
	return nil
}

// promised makes damage of the want of a catalog row that a record names.
func (ix *Index) promised(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return &CorruptionError{Path: ix.store.catalogPath(), Err: err}
	}
	return err
}

var inf = float32(math.Inf(1))
