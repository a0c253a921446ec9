package sprat

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/filterindex"
	"github.com/spratdb/sprat/rescore"
)

// filterEdits is what a change does to the filter rows of an index. They are
// written in the batch of the change, each row once, so that after every commit the
// rows hold exactly the live slots: a slot's terms come in with its birth and go with
// its death, whoever causes them.
//
// To take a slot out, the terms of its document must be known. Of a vector that
// moves they are at hand; those of one that is replaced or deleted are read before
// the change begins (oldTerms), or else during it; and when its document cannot be
// read, the slot is looked for in every row (purge).
type filterEdits struct {
	rows map[string]*filterEdit // by row key
	born map[uint32][]string    // terms of the slots that this change has filled
	lost []uint32               // slots whose terms are not known
	// changed are the slots that came or went. Sets that were made before are not
	// to be believed about them.
	changed []uint32
}

type filterEdit struct{ add, remove []uint32 }

// knownTerms are the terms of the document in a slot.
type knownTerms struct {
	at    catalog.Placement
	terms []string
	ok    bool
}

func (e *filterEdits) edit(term string, slot uint32) *filterEdit {
	if e.rows == nil {
		e.rows = map[string]*filterEdit{}
	}
	key := string(filterindex.RowKey(nil, term, slot))
	x := e.rows[key]
	if x == nil {
		x = &filterEdit{}
		e.rows[key] = x
	}
	return x
}

// filterBirth puts the terms of a slot that was just filled into the rows.
func (t *txn) filterBirth(slot uint32, terms []string) {
	e := &t.filters
	if t.state.Filters == catalog.FiltersNone {
		return // there are no rows yet
	}
	if len(terms) > 0 {
		t.state.Filtered++
		for _, term := range terms {
			x := e.edit(term, slot)
			x.add = append(x.add, slot)
		}
	}
	if e.born == nil {
		e.born = map[uint32][]string{}
	}
	e.born[slot] = terms
	if t.state.Filtered > 0 {
		e.changed = append(e.changed, slot) // a slot without terms matters to $ne
	}
}

// filterDeath takes a slot out of the rows. known, when its placement is that of
// the slot, has its terms.
func (t *txn) filterDeath(at catalog.Placement, known knownTerms) error {
	if t.state.Filtered == 0 {
		return nil
	}
	e := &t.filters
	e.changed = append(e.changed, at.Slot)
	terms, ok := e.born[at.Slot]
	if !ok && known.ok && known.at == at {
		terms, ok = known.terms, true
	}
	if !ok {
		var err error
		if terms, ok, err = t.w.ix.termsAt(context.Background(), t.base, at); err != nil {
			return err
		}
	}
	if !ok {
		t.filterLoss(at.Slot)
		return nil
	}
	for _, term := range terms {
		x := e.edit(term, at.Slot)
		x.remove = append(x.remove, at.Slot)
	}
	return nil
}

// filterLoss takes a slot out of the rows whose document is not to be had.
func (t *txn) filterLoss(slot uint32) {
	if t.state.Filtered > 0 {
		t.filters.changed, t.filters.lost = append(t.filters.changed, slot), append(t.filters.lost, slot)
	}
}

// gatherFilters puts the rows that changed into the batch.
func (t *txn) gatherFilters() error {
	e := &t.filters
	if err := t.purge(e.lost); err != nil {
		return err
	}
	keys := make([]string, 0, len(e.rows))
	for key := range e.rows {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var row filterindex.Row
	var value []byte
	c, id := t.w.ix.store.catalog, t.w.ix.row.ID
	for _, key := range keys {
		was, err := c.FilterRow(id, []byte(key))
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			row = filterindex.Row{}
		case err == nil:
			err = row.Read(was)
			fallthrough
		default:
			if err != nil {
				return t.w.ix.inCatalog(err)
			}
		}
		for _, slot := range e.rows[key].add {
			row.Add(slot)
		}
		for _, slot := range e.rows[key].remove { // no slot is filled again by the change that empties it
			row.Remove(slot)
		}
		if row.Len() == 0 {
			t.batch.DeleteFilterRow(id, []byte(key))
			continue
		}
		value = row.Append(value[:0])
		t.batch.PutFilterRow(id, []byte(key), value)
	}
	return nil
}

// purge looks for slots in every row and takes them out.
func (t *txn) purge(slots []uint32) error {
	if len(slots) == 0 || t.state.Filtered == 0 {
		return nil
	}
	cur, err := t.w.ix.store.catalog.FilterRows(t.w.ix.row.ID)
	if err != nil {
		return err
	}
	slices.Sort(slots)
	var row filterindex.Row
	err = cur.Scan(nil, nil, func(key, value []byte) (bool, error) {
		_, first, err := filterindex.SplitKey(key)
		if err != nil {
			return false, err
		}
		i, _ := slices.BinarySearch(slots, first)
		if i == len(slots) || slots[i]-first >= filterindex.ChunkSlots {
			return true, nil
		}
		if err := row.Read(value); err != nil {
			return false, err
		}
		for ; i < len(slots) && slots[i]-first < filterindex.ChunkSlots; i++ {
			if row.Has(slots[i]) {
				x := t.filters.edit(string(key[:len(key)-4]), slots[i])
				x.remove = append(x.remove, slots[i])
			}
		}
		return true, nil
	})
	return errors.Join(err, cur.Close())
}

// filterTerms are the terms of a document of the index.
func (ix *Index) filterTerms(doc []byte) []string {
	if len(doc) == 0 {
		return nil
	}
	return filterindex.Terms(doc, ix.nonFilterable())
}

// termsAt reads the document of a live slot and returns its terms; false when it
// cannot be read, for now or for good.
func (ix *Index) termsAt(ctx context.Context, v *version, at catalog.Placement) (terms []string, ok bool, err error) {
	docs, err := ix.documents(ctx, v, []catalog.Placement{at})
	if err != nil || !docs[0].read {
		return nil, false, err
	}
	return ix.filterTerms(docs[0].text), true, nil
}

// storedDocument is the metadata of a vector; read is false when it cannot be had.
type storedDocument struct {
	text []byte
	read bool
}

// documents reads the metadata of live slots. That a document cannot be read is no
// error.
func (ix *Index) documents(ctx context.Context, v *version, at []catalog.Placement) ([]storedDocument, error) {
	docs := make([]storedDocument, len(at))
	var places []recordPlace
	var which []int
	for i, p := range at {
		if ix.records.MetaCap == 0 { // records hold none
			docs[i] = ix.longDocument(p.Slot, p.Generation)
			continue
		}
		if place, err := ix.recordPlace(v, p.Slot, p.Generation); err == nil {
			places, which = append(places, place), append(which, i)
		}
	}
	err := ix.walkNear(ctx, places, ix.records.Bytes, func(i int, data []byte, err error) error {
		var rec rescore.Record
		if err == nil {
			rec, err = ix.decodeRecord(data, &places[i])
		}
		switch {
		case err != nil:
		case rec.MetaElsewhere:
			docs[which[i]] = ix.longDocument(places[i].slot, rec.Generation)
		default:
			docs[which[i]] = storedDocument{slices.Clone(rec.Metadata), true}
		}
		return ctx.Err()
	})
	return docs, err
}

func (ix *Index) longDocument(slot uint32, gen uint8) storedDocument {
	text, err := ix.store.catalog.LongMetadata(ix.row.ID, slot, gen)
	if errors.Is(err, catalog.ErrNotFound) && ix.records.MetaCap == 0 {
		return storedDocument{read: true}
	}
	return storedDocument{text, err == nil}
}

// oldTerms reads the terms of the vectors that keys lead to, before a change that
// replaces or deletes them holds up others.
func (w *writer) oldTerms(ctx context.Context, keys func(yield func(string) bool)) (map[string]knownTerms, error) {
	ix := w.ix
	v := ix.acquire()
	defer v.release()
	if v.state.Filtered == 0 {
		return nil, nil
	}
	var names []string
	var at []catalog.Placement
	seen := map[string]bool{}
	for key := range keys {
		p, err := ix.store.catalog.Placement(ix.row.ID, []byte(key))
		// What does not belong to this version is read when its turn comes.
		if err != nil || seen[key] || uint64(p.Slot) >= v.state.Slots || !v.alive(p.Slot, p.Generation) {
			continue
		}
		seen[key] = true
		names, at = append(names, key), append(at, p)
	}
	docs, err := ix.documents(ctx, v, at)
	if err != nil {
		return nil, err
	}
	known := make(map[string]knownTerms, len(names))
	for i, key := range names {
		if docs[i].read {
			known[key] = knownTerms{at[i], ix.filterTerms(docs[i].text), true}
		}
	}
	return known, nil
}

// filterLog remembers which slots the latest commits have filled or emptied, so
// that a query can tell about which slots a set of another moment may be wrong. It is
// safe for concurrent use.
type filterLog struct {
	mu    sync.Mutex
	list  []filterChange // ascending by seq
	slots int
	floor uint64 // commits up to it are forgotten
	begun bool   // the rows are dropped and not whole again
	epoch uint64 // of the rows; counts the times that they became whole
}

type filterChange struct {
	seq   uint64
	slots []uint32
}

// filterLogSlots is how many slots are remembered.
const filterLogSlots = 1 << 15

// note takes in what a commit is about to change.
func (l *filterLog) note(seq uint64, slots []uint32) {
	if len(slots) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, filterChange{seq, slots})
	l.slots += len(slots)
	for l.slots > filterLogSlots {
		l.slots -= len(l.list[0].slots)
		l.floor = l.list[0].seq
		l.list = l.list[1:]
	}
}

// since returns the slots that commits after seq have changed, and those that are
// about to; false when that is forgotten.
func (l *filterLog) since(seq uint64) (*roaring.Bitmap, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < l.floor {
		return nil, false
	}
	var slots *roaring.Bitmap
	for i := len(l.list) - 1; i >= 0 && l.list[i].seq > seq; i-- {
		if slots == nil {
			slots = roaring.New()
		}
		slots.AddMany(l.list[i].slots)
	}
	return slots, true
}

// begin says that the rows are about to be dropped.
func (l *filterLog) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

// end says that the rows are whole, by a commit, and makes sets of before
// worthless; or with made false that they were not dropped.
func (l *filterLog) end(made bool, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun = false; made {
		l.epoch++
		l.floor, l.list, l.slots = seq, nil, 0
	}
}

// state tells the rows of now from others, and whether they are whole.
func (l *filterLog) state() (epoch uint64, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch, !l.begun
}
