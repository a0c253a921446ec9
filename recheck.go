package sprat

import (
	"context"
	"time"

	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
)

// leftOut says that a posting is left out of a round because it could not be read.
func (u *upkeep) leftOut(id uint32) bool {
	if !u.w.ix.damage.bad(id) {
		return false
	}
	u.blind.Store(true)
	return true
}

// tryAgain has everything that could not be read tried again at the next steps.
func (u *upkeep) tryAgain() {
	u.w.ix.damage.hasten()
	u.noVacate.Store(0)
}

// stepRecheck reads again what could not be read a while ago. What can be read now
// is maintained as before.
func (u *upkeep) stepRecheck(ctx context.Context) (string, error) {
	ix := u.w.ix
	ids, slots := ix.damage.due(time.Now())
	if len(ids)+len(slots) == 0 {
		return "", nil
	}
	v := ix.acquire()
	defer v.release()
	if err := u.recheckPostings(ctx, v, ids); err != nil {
		return "", err
	}
	return "recheck", u.recheckSlots(ctx, v, slots)
}

func (u *upkeep) recheckPostings(ctx context.Context, v *version, due []uint32) error {
	ix := u.w.ix
	var ids []uint32
	for _, id := range due {
		if exists(v, id) {
			ids = append(ids, id)
		} else {
			ix.damage.tried(id, nil)
		}
	}
	return ix.eachPostingRaw(ctx, v, ids, func(id uint32, e posting.Extent, data []byte, err error) error {
		if err == nil {
			_, err = ix.layout.Parse(data, id)
			err = posting.Located(err, ix.path(postingsFile), e.Offset())
		}
		if err != nil && !lasting(err) {
			return err
		}
		if ix.damage.tried(id, err); err == nil {
			p := v.postings.At(int(id))
			u.consider(id, &p)
		}
		return nil
	})
}

func (u *upkeep) recheckSlots(ctx context.Context, v *version, due []uint32) error {
	ix := u.w.ix
	var places []recordPlace
	for _, slot := range due {
		gen, live := uint8(0), false
		if uint64(slot) < v.state.Slots {
			gen, live = v.generation(slot)
		}
		if !live {
			ix.damage.triedSlot(slot, nil)
			continue
		}
		p, err := ix.recordPlace(v, slot, gen)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	failed, err := ix.readAgain(ctx, v, places)
	if err != nil {
		return err
	}
	var stayed []posting.Entry
	for i := range places {
		p := &places[i]
		ix.damage.triedSlot(p.slot, failed[p.slot])
		if _, landed := v.landing(p.slot); landed && failed[p.slot] == nil {
			stayed = append(stayed, posting.Entry{Slot: p.slot, Generation: p.gen})
		}
	}
	// The folds that wanted to move these home are over.
	members, _, err := ix.readMembers(ctx, v, stayed)
	if err != nil {
		return err
	}
	return u.replace(ctx, members, request{direct: true})
}

// readAgain reads the records at the places, of both kinds, and returns what is
// wrong with which slot.
func (ix *Index) readAgain(ctx context.Context, v *version, places []recordPlace) (failed map[uint32]error, err error) {
	failed = map[uint32]error{}
	note := func(slot uint32, err error) error {
		if err != nil && !lasting(err) {
			return err
		}
		if err != nil {
			failed[slot] = err
		}
		return nil
	}
	err = ix.walkNear(ctx, places, ix.records.Bytes, func(i int, data []byte, err error) error {
		if err == nil {
			_, err = ix.decodeRecord(data, &places[i])
		}
		return note(places[i].slot, err)
	})
	if err != nil || ix.refine == nil {
		return failed, err
	}
	refines := append([]recordPlace(nil), places...)
	ix.toRefines(refines)
	var refiner rescore.Refiner
	var q rq.Query
	q.Reset(make([]float32, ix.layout.D))
	err = ix.walkNear(ctx, refines, ix.refine.Bytes, func(i int, data []byte, err error) error {
		if err == nil {
			_, _, err = refiner.Estimate(ix.refine, data, refines[i].slot, &q)
			err = rescore.Located(err, ix.path(refineFile), refines[i].off)
		}
		return note(refines[i].slot, err)
	})
	return failed, err
}
