package sprat

import (
	"context"
	"time"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rq"
)

// tidying is a walk over all postings that places anew the vectors of those whose
// records lie scattered. An index that grew by puts has them where their posting
// was before it was cut many times; together again, they share reads, and their
// copies are chosen among the postings of now. It changes no answer, only what
// answers cost, so it waits until nobody has written for a while.
type tidying struct {
	under  bool
	next   int    // posting id to go on from
	untidy uint64 // counted when it began
}

const (
	// tidyDelay is how long after the last write tidying begins.
	tidyDelay = 5 * time.Second
	// tidyShare is the share of vectors put since the last time from which it is
	// worth a walk.
	tidyShare = 0.2
	// tidyPostings is how many neighbouring postings are tidied together, so that
	// the entries which they exchange are folded together.
	tidyPostings = 8
	// scatteredRuns is how many times more runs than they need the records of a
	// posting may lie in.
	scatteredRuns = 1.6
)

// stepTidy begins a walk when one is due, and goes on with it.
func (u *upkeep) stepTidy(ctx context.Context) (string, error) {
	t := &u.tidy
	ix := u.w.ix
	v := ix.acquire()
	defer v.release()
	if !t.under {
		due := float64(v.state.Untidy) > tidyShare*float64(v.state.Vectors) && v.set.Len() >= 2*minFitPostings &&
			u.hurried.Load() == 0 && !u.manual
		if u.order.asked.Load() == 0 && (!due || time.Since(time.Unix(0, u.written.Load())) < tidyDelay) {
			return "", nil
		}
		*t = tidying{under: true, untidy: v.state.Untidy}
	}
	for ; t.next < v.postings.Len(); t.next++ {
		if p := v.postings.At(t.next); !p.exists() || p.flags != 0 || ix.damage.bad(uint32(t.next)) {
			continue
		}
		ids, entries, err := ix.scattered(ctx, v, uint32(t.next))
		if err != nil {
			return "tidy", u.setAside(uint32(t.next), err)
		}
		if len(ids) > 0 {
			return "tidy", u.bringTogether(ctx, v, ids, entries)
		}
	}
	return "tidied", u.endTidy()
}

// scattered returns a posting, if it is scattered, with those around it that are,
// and their primary entries.
func (ix *Index) scattered(ctx context.Context, v *version, id uint32) (ids []uint32, entries []posting.Entry, err error) {
	if primaries, bad, err := ix.primaries(ctx, v, []uint32{id}); err != nil || !bad[id] || len(primaries[id]) == 0 {
		return nil, nil, err
	}
	center := make([]float32, ix.layout.D)
	row, _ := v.set.Row(id)
	v.set.Decode(row, center)
	var q rq.Query
	var ws centroids.Workspace
	q.Reset(center)
	near := []uint32{id}
	for _, n := range v.set.Nearest(nil, &q, min(tidyPostings, v.set.Len()), &ws) {
		if p := v.postings.At(int(n.ID)); n.ID != id && p.flags == 0 && !ix.damage.bad(n.ID) {
			near = append(near, n.ID)
		}
	}
	primaries, bad, err := ix.primaries(ctx, v, near)
	for _, id := range near {
		if bad[id] {
			ids, entries = append(ids, id), append(entries, primaries[id]...)
		}
	}
	return ids, entries, err
}

// primaries reads the live primary entries of postings, and says of which the
// records are scattered.
func (ix *Index) primaries(ctx context.Context, v *version, ids []uint32) (entries map[uint32][]posting.Entry, scattered map[uint32]bool, err error) {
	entries, scattered = map[uint32][]posting.Entry{}, map[uint32]bool{}
	err = ix.eachPosting(ctx, v, ids, func(id uint32, p *posting.View) error {
		runs := map[uint32]bool{}
		add := func(e posting.Entry) {
			if e.Primary && v.alive(e.Slot, e.Generation) {
				e.Code = nil
				entries[id] = append(entries[id], e)
				runs[e.Slot/catalog.RunSlots] = true
			}
		}
		for i := range p.N {
			add(p.Entry(i))
		}
		row := v.postings.At(int(id))
		for i := range row.delta.Len() {
			add(row.delta.Entry(i))
		}
		need := (len(entries[id])+catalog.RunSlots-1)/catalog.RunSlots + 1
		scattered[id] = float64(len(runs)) > scatteredRuns*float64(need)
		return nil
	})
	return entries, scattered, err
}

// bringTogether places the vectors of postings anew, in runs of their own.
func (u *upkeep) bringTogether(ctx context.Context, v *version, ids []uint32, entries []posting.Entry) error {
	members, _, err := u.w.ix.readMembers(ctx, v, entries)
	if err != nil {
		return u.setAside(ids[0], err)
	}
	fresh := map[uint32]bool{}
	for _, id := range ids {
		fresh[id] = true
	}
	return u.replace(ctx, members, request{direct: true, fresh: fresh})
}

// endTidy counts what the walk has seen as tidy.
func (u *upkeep) endTidy() error {
	w := u.w
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	t.state.Untidy -= min(t.state.Untidy, u.tidy.untidy)
	u.tidy = tidying{}
	if err := t.commit(); err != nil {
		return err
	}
	u.order.done.Add(1)
	return nil
}
