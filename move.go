package sprat

import (
	"context"
	"fmt"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/posting/lire"
	"github.com/spratdb/sprat/rq"
)

// follow does what a round leaves to do: the members of the postings that it cut
// are compared with the postings around, and those that are nearer to another one
// are placed anew. It is a step of its own. When it is cut off, the children's
// flags say so, and stepChecks does it later.
func (r *round) follow(ctx context.Context) error {
	for _, j := range r.jobs {
		if j.action != lire.Split || !j.done {
			continue
		}
		part, decoded := lire.Children(j.cut.parts, len(j.cut.members))
		if err := r.u.check(ctx, j.cut.ids, j.cut.members, j.cut.lire, part, decoded); err != nil {
			return err
		}
	}
	return nil
}

// check re-places the members of fresh postings that belong elsewhere, and clears
// the mark that says that it is to be done. part is the child of each member,
// decoded the children's centroids.
func (u *upkeep) check(ctx context.Context, ids []uint32, members []member, m lire.Members, part []int, decoded []float32) error {
	v := u.w.ix.acquire()
	defer v.release()
	var wrong []int
	if p := v.postings.At(int(ids[0])); p.flags&replaceAll != 0 {
		for i := range members {
			wrong = append(wrong, i)
		}
	} else {
		wrong = lire.Check(m, part, decoded, u.w.ix.neighbours(v, ids, decoded))
	}
	moving := make([]member, len(wrong))
	for i, at := range wrong {
		moving[i] = members[at]
	}
	if err := u.replace(ctx, moving, request{}); err != nil {
		return err
	}
	return u.clear(ids)
}

// checkNeighbours is how many postings around a fresh one are compared with it.
const checkNeighbours = 48

// neighbours returns the decoded centroids of the postings around the given ones,
// themselves left out.
func (ix *Index) neighbours(v *version, ids []uint32, decoded []float32) []float32 {
	d := ix.layout.D
	mean := make([]float32, d)
	for i, x := range decoded {
		mean[i%d] += x / float32(len(ids))
	}
	var q rq.Query
	var ws centroids.Workspace
	q.Reset(mean)
	own := map[uint32]bool{}
	for _, id := range ids {
		own[id] = true
	}
	var out []float32
	for _, n := range v.set.Nearest(nil, &q, min(checkNeighbours+len(ids), v.set.Len()), &ws) {
		if p := v.postings.At(int(n.ID)); own[n.ID] || p.flags&draining != 0 {
			continue
		}
		out = append(out, make([]float32, d)...)
		v.set.Decode(n.Row, out[len(out)-d:])
	}
	return out
}

// moveBatch is how many vectors are placed anew by one commit.
const moveBatch = 256

// directBatch is the same for vectors of whole postings, which are written beside
// each other.
const directBatch = 1024

// replace places vectors anew: a fresh slot at their nearest posting and new
// copies, as a put of the same key would, if they still are what they were. The
// old slot dies in the same batch. how says how the records are written.
func (u *upkeep) replace(ctx context.Context, members []member, how request) error {
	most := moveBatch
	if how.direct {
		most = directBatch
	}
	for len(members) > 0 {
		n := min(most, len(members))
		r := &request{puts: make([]arrival, n), direct: how.direct, fresh: how.fresh}
		for i := range n {
			var err error
			if r.puts[i], err = u.w.ix.arrivalOf(&members[i]); err != nil {
				return err
			}
		}
		if err := u.w.deliver(ctx, r); err != nil {
			return err
		}
		members = members[n:]
	}
	return nil
}

// arrivalOf is a move of a member. Whether it is still there shows when the move
// commits.
func (ix *Index) arrivalOf(m *member) (arrival, error) {
	a := arrival{key: string(m.key), vector: m.vector, metadata: m.metadata, move: true,
		old: deadSlot{m.entry.Slot, m.entry.Generation}}
	var err error
	if m.key == nil {
		var key []byte
		if key, err = ix.store.catalog.LongKey(ix.row.ID, a.old.slot, a.old.gen); err != nil {
			return a, ix.promised(fmt.Errorf("key of slot %d: %w", a.old.slot, err))
		}
		a.key = string(key)
	}
	if m.metaFar {
		if a.metadata, err = ix.store.catalog.LongMetadata(ix.row.ID, a.old.slot, a.old.gen); err != nil {
			return a, ix.promised(fmt.Errorf("metadata of slot %d: %w", a.old.slot, err))
		}
	}
	return a, nil
}

// clear takes the marks of unfinished checks from postings.
func (u *upkeep) clear(ids []uint32) error {
	w := u.w
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.begin()
	for _, id := range ids {
		if p := t.postings.At(int(id)); p.exists() {
			t.mark(id, p.flags&^(unchecked|replaceAll))
		}
	}
	return t.commit()
}

// stepChecks does the checks that an earlier process left undone.
func (u *upkeep) stepChecks(ctx context.Context) (string, error) {
	ix := u.w.ix
	v := ix.acquire()
	defer v.release()
	for id := range v.postings.Len() {
		p := v.postings.At(id)
		if !p.exists() || p.flags&unchecked == 0 || p.flags&draining != 0 || ix.damage.bad(uint32(id)) {
			continue
		}
		members, m, err := ix.membersOf(ctx, v, uint32(id))
		if err != nil {
			return "check", u.setAside(uint32(id), err)
		}
		decoded := make([]float32, ix.layout.D)
		row, _ := v.set.Row(uint32(id))
		v.set.Decode(row, decoded)
		return "check", u.check(ctx, []uint32{uint32(id)}, members, m, make([]int, len(members)), decoded)
	}
	return "", nil
}

// membersOf reads the live members of a posting.
func (ix *Index) membersOf(ctx context.Context, v *version, id uint32) ([]member, lire.Members, error) {
	var live []posting.Entry
	p := v.postings.At(int(id))
	err := ix.eachPosting(ctx, v, []uint32{id}, func(_ uint32, view *posting.View) error {
		for i := range view.N {
			if e := view.Entry(i); v.alive(e.Slot, e.Generation) {
				e.Code = nil
				live = append(live, e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, lire.Members{}, err
	}
	for i := range p.delta.Len() {
		if e := p.delta.Entry(i); v.alive(e.Slot, e.Generation) {
			live = append(live, e)
		}
	}
	return ix.readMembers(ctx, v, live)
}

// mayDrain says that there are more postings than the live vectors need, so that
// one may be given up. It keeps a fifth more than that.
func (u *upkeep) mayDrain(v *version) bool {
	ix := u.w.ix
	left := v.set.Len() - v.drainingCount()
	need := float64(v.state.Vectors) * float64(ix.row.Copies) / float64(ix.limits.Target)
	return float64(left) > max(1, 1.2*need)
}

// stepDrains places the members of draining postings anew, a few postings at a
// time. When nothing live is left in them a round drops them.
func (u *upkeep) stepDrains(ctx context.Context) (string, error) {
	ix := u.w.ix
	v := ix.acquire()
	defer v.release()
	var ids []uint32
	var moving []member
	seen := map[uint32]bool{}
	for id := range v.postings.Len() {
		p := v.postings.At(id)
		if !p.exists() || p.flags&draining == 0 || ix.damage.bad(uint32(id)) {
			continue
		}
		members, _, err := ix.membersOf(ctx, v, uint32(id))
		if err != nil {
			if err = u.setAside(uint32(id), err); err != nil {
				return "", err
			}
			continue
		}
		ids = append(ids, uint32(id))
		for i := range members {
			if s := members[i].entry.Slot; !seen[s] {
				seen[s] = true
				moving = append(moving, members[i])
			}
		}
		if len(ids) == roundPostings {
			break
		}
	}
	if len(ids) == 0 {
		return "", nil
	}
	if err := u.replace(ctx, moving, request{direct: true}); err != nil {
		return "", err
	}
	_, err := u.round(ctx, ids, false)
	return "drain", err
}
