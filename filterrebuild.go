package sprat

import (
	"context"
	"errors"
	"fmt"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/filterindex"
)

// filling makes the filter rows of an index that has none, or whose rows are not to
// be believed, behind its writers:
//
//  1. one batch drops the rows and says that they are begun: from then on births
//     and deaths keep their slots' rows;
//  2. window by window, documents of live slots are read and, in a commit each, put
//     into the rows if the slots still live;
//  3. one batch says that the rows are whole. Until then queries look at documents
//     alone.
//
// A restart begins anew.
type filling struct {
	under bool
	next  int // run to go on from
	end   int // run at which to end: what is born in later ones has its rows
}

// fillWindow is how many documents one step of a filling reads.
const fillWindow = 8192

// stepFilters goes on with the filter rows, if they are not whole.
func (u *upkeep) stepFilters(ctx context.Context) (string, error) {
	ix := u.w.ix
	v := ix.acquire()
	defer v.release()
	f := &u.fill
	switch {
	case v.state.Filters == catalog.FiltersWhole:
		return "", nil
	case !f.under:
		return "begin filters", u.beginFilters()
	case f.next < min(f.end, v.runs.Len()):
		return "fill filters", u.fillFilters(ctx, v)
	}
	return "filters", u.markFilters(catalog.FiltersWhole, nil)
}

func (u *upkeep) beginFilters() error {
	v := u.w.ix.current.Load()
	if v.state.Overflows == 0 && u.w.ix.records.MetaCap == 0 { // no vector has metadata
		return u.markFilters(catalog.FiltersWhole, func(t *txn) { t.state.Filtered = 0 })
	}
	err := u.markFilters(catalog.FiltersBegun, func(t *txn) {
		t.batch.DeleteFilterRows(u.w.ix.row.ID)
		t.state.Filtered = 0
	})
	if err == nil {
		u.fill = filling{under: true, end: u.w.ix.current.Load().runs.Len()}
	}
	return err
}

// markFilters commits how far the rows are, with what else belongs to it.
func (u *upkeep) markFilters(s catalog.FilterRows, also func(t *txn)) error {
	w := u.w
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	if also != nil {
		also(t)
	}
	t.state.Filters = s
	u.fill = filling{}
	w.ix.filterLog.begin() // before anybody can see that rows are missing
	err := t.commit()
	if err == nil && s == catalog.FiltersWhole {
		w.ix.filterLog.end(true, t.state.Seq)
	}
	return err
}

// fillFilters puts the documents of some runs into the rows.
func (u *upkeep) fillFilters(ctx context.Context, v *version) error {
	ix, f := u.w.ix, &u.fill
	var at []catalog.Placement
	next := f.next
	for ; next < min(f.end, v.runs.Len()) && len(at) < fillWindow; next++ {
		x := v.runs.At(next)
		for i := range catalog.RunSlots {
			if x.live>>i&1 != 0 {
				at = append(at, catalog.Placement{Slot: uint32(next*catalog.RunSlots + i), Generation: x.gens[i]})
			}
		}
	}
	docs, err := ix.documents(ctx, v, at)
	if err != nil {
		return err
	}
	terms := make([][]string, len(at))
	for i := range docs {
		if terms[i] = ix.filterTerms(docs[i].text); !docs[i].read {
			terms[i] = []string{filterindex.Irregular} // whoever asks for it meets the damage
		}
	}
	w := u.w
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	for i, p := range at {
		if t.base.alive(p.Slot, p.Generation) {
			t.filterBirth(p.Slot, terms[i])
		}
	}
	if err := t.commit(); err != nil {
		return err
	}
	f.next = next
	return nil
}

// rebuildFilters makes all filter rows anew, at once. The caller holds stepping.
func (u *upkeep) rebuildFilters(ctx context.Context) error {
	if err := u.beginFilters(); err != nil {
		return err
	}
	for u.w.ix.current.Load().state.Filters != catalog.FiltersWhole {
		if _, err := u.stepFilters(ctx); err != nil {
			return err
		}
	}
	return nil
}

// filterCheck compares the filter rows of an index with its documents: for each
// live slot, the sum of the hashes of its document's terms must be that of its rows.
type filterCheck struct {
	ix   *Index
	rows *catalog.FilterCursor // of the moment of the version
	sums []uint64              // by slot
	skip []bool                // slots whose documents could not be read

	Rows int64 // read
}

// newFilterCheck opens the rows; the caller makes sure that they are of the moment
// of the version. It is nil when the rows are not whole.
func (ix *Index) newFilterCheck(v *version, rows *catalog.FilterCursor) *filterCheck {
	if v.state.Filters != catalog.FiltersWhole {
		return nil
	}
	slots := v.state.Slots
	return &filterCheck{ix: ix, rows: rows, sums: make([]uint64, slots), skip: make([]bool, slots)}
}

// document takes in the document of a slot.
func (c *filterCheck) document(slot uint32, doc []byte) {
	if c != nil {
		for _, term := range c.ix.filterTerms(doc) {
			c.sums[slot] += termHash([]byte(term))
		}
	}
}

// unread notes that the document of a slot could not be read.
func (c *filterCheck) unread(slot uint32) {
	if c != nil {
		c.skip[slot] = true
	}
}

// compare calls fault with what is wrong, after all documents were taken in.
func (c *filterCheck) compare(ctx context.Context, v *version, fault func(format string, args ...any)) error {
	if c == nil {
		return nil
	}
	var row filterindex.Row
	err := c.rows.Scan(nil, nil, func(key, value []byte) (bool, error) {
		c.Rows++
		term, first, err := filterindex.SplitKey(key)
		if err == nil {
			err = row.Read(value)
		}
		if err != nil {
			fault("%v", err)
			return true, nil
		}
		h := termHash(term)
		row.Each(first, func(slot uint32) {
			if uint64(slot) >= v.state.Slots {
				fault("a filter row names slot %d of %d", slot, v.state.Slots)
				return
			}
			if _, live := v.generation(slot); !live {
				fault("a filter row names slot %d, which is not live", slot)
			}
			c.sums[slot] -= h
		})
		return true, ctx.Err()
	})
	for slot, sum := range c.sums {
		if _, live := v.generation(uint32(slot)); sum != 0 && live && !c.skip[slot] {
			fault("the filter rows of slot %d are not those of its document", slot)
		}
	}
	return err
}

// termHash is FNV-1a.
func termHash(term []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range term {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// repairFilters makes the filter rows anew when they are not those of the
// documents.
func (r *repair) repairFilters() error {
	var c *filterCheck
	v, cur, err := r.ix.filterMoment()
	if err != nil {
		return err
	}
	defer v.release()
	if c = r.ix.newFilterCheck(v, cur); c == nil { // maintenance is about to make them
		return cur.Close()
	}
	var at []catalog.Placement
	check := func() error {
		docs, err := r.ix.documents(r.ctx, v, at)
		for i := range docs {
			if c.document(at[i].Slot, docs[i].text); !docs[i].read {
				c.unread(at[i].Slot)
			}
		}
		at = at[:0]
		return err
	}
	err = v.eachLive(func(slot uint32, gen uint8) error {
		if at = append(at, catalog.Placement{Slot: slot, Generation: gen}); len(at) < fillWindow {
			return nil
		}
		return check()
	})
	if err == nil {
		err = check()
	}
	faults, first := 0, ""
	if err == nil {
		err = c.compare(r.ctx, v, func(format string, args ...any) {
			if faults++; faults == 1 {
				first = fmt.Sprintf(format, args...)
			}
		})
	}
	if err = errors.Join(err, cur.Close()); err != nil || faults == 0 {
		return err
	}
	r.fixed("the filter rows were made again: %s", first)
	return r.ix.writer.upkeep.rebuildFilters(r.ctx)
}

// filterMoment returns the present version, held, and a cursor over the filter rows
// of the same moment.
func (ix *Index) filterMoment() (v *version, cur *catalog.FilterCursor, err error) {
	v, err = ix.together(func() error {
		cur, err = ix.store.catalog.FilterRows(ix.row.ID)
		return err
	})
	return v, cur, err
}
