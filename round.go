package sprat

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/posting/lire"
	"github.com/spratdb/sprat/rescore"
)

// round is one step of maintenance on a few postings: it reads them, decides what
// each needs, prepares all of it aside, and commits it in one batch. What a writer
// or another step has changed meanwhile is left out and decided anew.
type round struct {
	u       *upkeep
	v       *version // what the round has read, held
	pressed bool     // fold any delta
	rewrite bool     // write each posting anew, whatever it needs

	jobs  []*job
	homes []home
	taken []posting.Extent // new extents, given back unless the batch names them
}

// job is what a round does to one posting.
type job struct {
	id     uint32
	row    postingRow // as the round has read it
	action lire.Action
	live   []posting.Entry // its live entries
	codes  []byte          // backs those of the extent
	dead   int

	extents []posting.Extent // new ones: one for a fold, one a child for a cut
	counts  []int            // their entries
	cut     *cutting
	late    int  // entries that came in while a cut was prepared
	done    bool // it is in the batch
}

// home is a record on its way from a landing segment to its slot.
type home struct {
	slot  uint32
	gen   uint8
	from  catalog.Landing
	place recordPlace
	item  []byte
}

// round works on the postings and says what it did.
func (u *upkeep) round(ctx context.Context, ids []uint32, pressed bool) (string, error) {
	return u.runRound(ctx, ids, &round{pressed: pressed})
}

func (u *upkeep) runRound(ctx context.Context, ids []uint32, r *round) (string, error) {
	r.u, r.v = u, u.w.ix.acquire()
	defer r.v.release()
	if err := r.read(ctx, ids); err != nil {
		return "", err
	}
	err := r.prepare(ctx)
	if err == nil {
		err = r.write()
	}
	if err == nil {
		err = r.commit(ctx)
	}
	r.giveBack()
	if err != nil {
		return "", err
	}
	return r.summary(), r.follow(ctx)
}

// read reads the postings and decides about each. One that cannot be read is set
// aside.
func (r *round) read(ctx context.Context, ids []uint32) error {
	ix := r.u.w.ix
	ids = slices.DeleteFunc(slices.Clone(ids), func(id uint32) bool { return !exists(r.v, id) || r.u.leftOut(id) })
	return ix.eachPostingRaw(ctx, r.v, ids, func(id uint32, e posting.Extent, data []byte, err error) error {
		var p posting.View
		if err == nil {
			p, err = ix.layout.Parse(data, id)
			err = posting.Located(err, ix.path(postingsFile), e.Offset())
		}
		if err != nil {
			return r.u.setAside(id, err)
		}
		j := &job{id: id, row: r.v.postings.At(int(id))}
		r.collect(j, &p)
		if j.action = r.decide(j, p.N); j.action != lire.Keep {
			r.jobs = append(r.jobs, j)
		}
		return nil
	})
}

// decide is what a posting needs, given what the whole index can do.
func (r *round) decide(j *job, extent int) lire.Action {
	s := lire.Shape{
		Extent: extent, Delta: j.row.delta.Len(), Dead: j.dead, Draining: j.row.flags&draining != 0,
		Only: r.v.set.Len() <= r.v.drainingCount()+1 && j.row.flags&draining == 0, Pressed: r.pressed,
	}
	action := r.u.w.ix.limits.Decide(s)
	switch {
	case action == lire.Drop && s.Only:
		action = lire.Keep // the posting that the next vector will go to
		if j.dead > 0 {
			action = lire.Fold
		}
	case action == lire.Drain && (s.Draining || !r.u.mayDrain(r.v)):
		action = lire.Keep
		if s.Delta > 0 && r.pressed {
			action = lire.Fold
		}
	}
	if action == lire.Keep && s.Delta > 0 && s.Extent+s.Delta > r.u.w.ix.limits.Split {
		action = lire.Fold // too large for all that is dead in it, which writers are held up for
	}
	if action == lire.Keep && (r.rewrite || j.dead > 0 && r.u.sweep.purging()) {
		action = lire.Fold
	}
	return action
}

// collect copies the live entries of a posting: what was read is given back.
func (r *round) collect(j *job, p *posting.View) {
	n, size := j.row.delta.Len(), r.u.w.ix.layout.CodeSize()
	j.codes = make([]byte, 0, p.N*size)
	j.live = make([]posting.Entry, 0, p.N+n)
	for i := range p.N {
		e := p.Entry(i)
		if !r.v.alive(e.Slot, e.Generation) {
			j.dead++
			continue
		}
		at := len(j.codes)
		j.codes = append(j.codes, e.Code...)
		e.Code = j.codes[at:]
		j.live = append(j.live, e)
	}
	for i := range n {
		if e := j.row.delta.Entry(i); r.v.alive(e.Slot, e.Generation) {
			j.live = append(j.live, e)
		} else {
			j.dead++
		}
	}
}

// prepare makes the new postings and gathers the records that go home.
func (r *round) prepare(ctx context.Context) error {
	for _, j := range r.jobs {
		if j.action == lire.Split {
			if err := r.prepareCut(ctx, j); err != nil {
				if err = r.u.setAside(j.id, err); err != nil {
					return err
				}
				j.action = lire.Keep
			}
		}
		if j.action != lire.Fold && j.action != lire.Split {
			continue
		}
		for i := range j.live {
			if e := &j.live[i]; e.Primary {
				if err := r.sendHome(e.Slot, e.Generation); err != nil {
					return err
				}
			}
		}
	}
	return r.readHomes(ctx)
}

// sendHome lists a record that has landed.
func (r *round) sendHome(slot uint32, gen uint8) error {
	from, ok := r.v.landing(slot)
	if !ok {
		return nil
	}
	place, err := r.u.w.ix.recordPlace(r.v, slot, gen)
	r.homes = append(r.homes, home{slot: slot, gen: gen, from: from, place: place})
	return err
}

// readHomes reads the items that go home, checking each: damage must not be
// copied.
func (r *round) readHomes(ctx context.Context) error {
	ix := r.u.w.ix
	slices.SortFunc(r.homes, func(a, b home) int { return cmp.Compare(a.slot, b.slot) })
	places := make([]recordPlace, len(r.homes))
	for i := range r.homes {
		places[i] = r.homes[i].place
	}
	err := ix.walkNear(ctx, places, ix.itemBytes(), func(i int, data []byte, err error) error {
		h := &r.homes[i]
		if err == nil {
			_, err = ix.decodeRecord(data, &h.place)
		}
		if err != nil {
			if ix.damage.slot(h.slot, err) {
				ix.store.log.Error("a record cannot be moved home until it is repaired", "index", ix.Name(), "slot", h.slot, "err", err)
			} else if !lasting(err) {
				return err
			}
			return nil // it stays where it has landed
		}
		if h.item = data; h.place.mem == nil {
			h.item = slices.Clone(data)
		}
		return nil
	})
	r.homes = slices.DeleteFunc(r.homes, func(h home) bool { return h.item == nil })
	return err
}

// write writes the new extents and the records that go home, and syncs them. The
// files are written side by side.
func (r *round) write() error {
	g := r.u.w.sideBySide()
	g.Go(r.writeExtents)
	g.Go(func() error { return r.u.w.writeHomes(r.homes) })
	return g.Wait()
}

// sideBySide runs writes of several files at one time; one by one when a test
// wants to see their order.
func (w *writer) sideBySide() *errgroup.Group {
	var g errgroup.Group
	if w.ix.store.hooks.ops != nil {
		g.SetLimit(1)
	}
	return &g
}

func (r *round) writeExtents() error {
	w := r.u.w
	b := posting.NewBuilder(w.ix.layout)
	wrote := false
	for _, j := range r.jobs {
		var err error
		switch j.action {
		case lire.Fold:
			row, _ := r.v.set.Row(j.id)
			err = r.writeExtent(b, j, j.id, centroidOf(r.v.set, row), j.live)
		case lire.Split:
			err = r.writeChildren(b, j)
		default:
			continue
		}
		if err != nil {
			return err
		}
		wrote = true
	}
	if !wrote {
		return nil
	}
	return w.postings.Sync()
}

// writeExtent lays entries out as a posting and writes it to a new extent.
func (r *round) writeExtent(b *posting.Builder, j *job, id uint32, c posting.Centroid, entries []posting.Entry) error {
	w := r.u.w
	b.Reset()
	slices.SortFunc(entries, func(x, y posting.Entry) int { return cmp.Compare(x.Slot, y.Slot) })
	for i := range entries {
		b.Add(entries[i])
	}
	data, used := b.Encode(id, c)
	e, err := w.newExtent(used)
	if err != nil {
		return err
	}
	r.taken = append(r.taken, e)
	j.extents, j.counts = append(j.extents, e), append(j.counts, len(entries))
	_, err = w.postings.WriteAt(data, e.Offset())
	return err
}

// writeHomes writes records to their slots and syncs them.
func (w *writer) writeHomes(homes []home) error {
	if len(homes) == 0 {
		return nil
	}
	slices.SortFunc(homes, func(a, b home) int { return cmp.Compare(a.slot, b.slot) })
	g := w.sideBySide()
	g.Go(func() error { return w.writeRecords(w.records, homes, w.ix.records.Stride, 0) })
	if ref := w.ix.refine; ref != nil {
		g.Go(func() error { return w.writeRecords(w.refine, homes, ref.Stride, w.ix.records.Bytes) })
	}
	return g.Wait()
}

// writeRecords writes one kind of records, which begins at byte from of an item
// and lies in its file as the stride says; those of neighbouring slots go together.
func (w *writer) writeRecords(u *iopath.Updater, homes []home, s rescore.Stride, from int) error {
	var patches []iopath.Patch
	for i := range homes {
		off, data := s.Offset(homes[i].slot), homes[i].item[from:from+s.Bytes]
		if n := len(patches); n > 0 {
			if p := &patches[n-1]; p.Off+int64(len(p.Data)) == off {
				p.Data = append(p.Data, data...)
				continue
			}
		}
		patches = append(patches, iopath.Patch{Off: off, Data: slices.Clone(data)})
	}
	writers := 8
	if !w.ix.store.compute.quiet() {
		writers = 1 // the volume is the queries' first
	}
	if err := u.WriteMany(patches, writers); err != nil {
		return err
	}
	return u.Sync()
}

// commit makes the round's changes, as far as what they were made from still
// stands.
func (r *round) commit(ctx context.Context) error {
	w := r.u.w
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	adds, removes := newCentroids(w.ix), []uint32{}
	var err error
	for _, j := range r.jobs {
		now := t.postings.At(int(j.id))
		if !now.exists() || now.extent != j.row.extent || now.flags != j.row.flags {
			continue
		}
		switch j.action {
		case lire.Fold:
			t.fold(r, j, &now)
		case lire.Split:
			err = t.split(inForeground(ctx), r, j, &now, adds)
			removes = append(removes, j.id)
		case lire.Drop:
			if now.delta.Len() != j.row.delta.Len() {
				continue
			}
			t.drop(j.id, &now)
			removes = append(removes, j.id)
		case lire.Drain:
			t.mark(j.id, now.flags|draining)
		}
		if err != nil {
			return t.undo(err)
		}
		j.done = true
	}
	t.homed(r.homes)
	if adds.Len()+len(removes) > 0 {
		if t.set, err = t.set.With(adds, removes...); err != nil {
			return t.undo(err)
		}
	}
	if err := t.commit(); err != nil {
		for _, j := range r.jobs {
			j.done = false
		}
		return err
	}
	r.u.committed(r, t)
	return nil
}

// fold switches a posting to its new extent; the entries that came in meanwhile
// stay in its delta.
func (t *txn) fold(r *round, j *job, now *postingRow) {
	id, n := t.w.ix.row.ID, j.row.delta.Len()
	row := postingRow{extent: j.extents[0], flags: now.flags, tag: t.w.nextTag()}
	if now.delta.Len() > n {
		row.delta, row.seqs = now.delta.From(n), slices.Clone(now.seqs[len(j.row.seqs):])
	}
	*t.postings.Ref(int(j.id)) = row
	t.batch.PutExtent(id, j.id, appendDirectoryRow(nil, row.extent, row.flags))
	t.batch.DeleteDeltas(id, j.id, j.row.seqs)
	t.state.Entries += uint64(j.counts[0]) - uint64(t.w.ix.extentEntries(j.row.extent)+n)
	t.extents = append(t.extents, j.row.extent)
	t.adopt(j)
}

// committed takes in what a round has changed.
func (u *upkeep) committed(r *round, t *txn) {
	for _, j := range r.jobs {
		if j.done && (j.action == lire.Fold || j.action == lire.Split) {
			u.entries.Add(-int64(j.row.delta.Len()))
		}
		if j.done && j.action == lire.Split {
			u.entries.Add(-int64(j.late))
		}
	}
	u.noticedEntries(t)
	v := u.w.ix.current.Load()
	for _, j := range r.jobs {
		ids := []uint32{j.id}
		if j.cut != nil {
			ids = j.cut.ids
		}
		for _, id := range ids {
			if p := v.postings.At(int(id)); p.exists() {
				u.consider(id, &p)
			}
		}
	}
}

// adopt gives the runs of a posting's primaries to it, when nobody owns them and
// they have room: what comes next will lie beside what is there.
func (t *txn) adopt(j *job) {
	for i := range j.live {
		if e := &j.live[i]; e.Primary {
			r := e.Slot / catalog.RunSlots
			x := t.runs.At(int(r))
			owned := x.owner < uint32(t.postings.Len()) && x.owner != j.id && existsIn(t, x.owner)
			if !owned && x.owner != j.id && t.w.slots.free(r, &x) != 0 {
				t.own(r, j.id)
			}
		}
	}
}

func existsIn(t *txn, id uint32) bool {
	p := t.postings.At(int(id))
	return p.exists()
}

// drop removes a posting without live entries.
func (t *txn) drop(id uint32, now *postingRow) {
	t.batch.DeletePosting(t.w.ix.row.ID, id)
	t.batch.DeleteDeltas(t.w.ix.row.ID, id, now.seqs)
	t.state.Entries -= uint64(t.w.ix.extentEntries(now.extent) + now.delta.Len())
	t.state.Postings--
	t.extents = append(t.extents, now.extent)
	*t.postings.Ref(int(id)) = postingRow{}
}

// mark changes the flags of a posting.
func (t *txn) mark(id uint32, f postingFlags) {
	p := t.postings.Ref(int(id))
	p.flags = f
	t.batch.PutExtent(t.w.ix.row.ID, id, appendDirectoryRow(nil, p.extent, f))
}

// homed notes that records are in their slots now.
func (t *txn) homed(homes []home) {
	for i := range homes {
		h := &homes[i]
		r, bit := runOf(h.slot)
		x := t.runs.At(r)
		if x.landed>>bit&1 != 0 && x.gens[bit] == h.gen && x.places[bit] == h.from {
			t.unland(t.runs.Ref(r), int(bit))
			t.dirty[uint32(r)] = true
		}
	}
}

// giveBack frees the extents of jobs that are not in the batch.
func (r *round) giveBack() {
	used := map[posting.Extent]bool{}
	for _, j := range r.jobs {
		for _, e := range j.extents {
			used[e] = j.done
		}
	}
	r.u.w.giveBack(slices.DeleteFunc(r.taken, func(e posting.Extent) bool { return used[e] }))
}

// summary says in a word or a few what the round did.
func (r *round) summary() string {
	var words []string
	for _, j := range r.jobs {
		if j.done {
			words = append(words, j.action.String())
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}
