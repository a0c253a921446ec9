package sprat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spratdb/sprat/iopath"
)

// damage remembers what could not be read, until a repair or until it can be read
// again: maintenance leaves it alone, and Stats show it. Queries try it each time,
// and only those that need it fail. It is safe for concurrent use.
type damage struct {
	sync.Mutex
	postings map[uint32]mark
	slots    map[uint32]mark
}

// mark is the damage of one thing. What is wrong on the volume stays so; a read
// that failed is tried again, because a volume that was away may have come back.
type mark struct {
	err   error
	again time.Time     // when to try to read it again
	delay time.Duration // what to wait if that fails
}

const (
	// maxDamage bounds what is remembered of each kind.
	maxDamage = 10_000
	// damageDelay is how long after a failed read it is tried again, at first; the
	// delay doubles up to maxDamageDelay.
	damageDelay    = time.Minute
	maxDamageDelay = time.Hour
)

// posting notes that a posting cannot be read and says whether that is news.
func (d *damage) posting(id uint32, err error) bool { return d.note(&d.postings, id, err) }

// slot notes that the records of a slot cannot be read.
func (d *damage) slot(slot uint32, err error) bool { return d.note(&d.slots, slot, err) }

func (d *damage) note(m *map[uint32]mark, id uint32, err error) bool {
	if !lasting(err) {
		return false
	}
	d.Lock()
	defer d.Unlock()
	if *m == nil {
		*m = map[uint32]mark{}
	}
	if _, known := (*m)[id]; known || len(*m) >= maxDamage {
		return false
	}
	(*m)[id] = mark{err: err, again: time.Now().Add(damageDelay), delay: 2 * damageDelay}
	return true
}

// due lists what is to be read again now.
func (d *damage) due(now time.Time) (postings, slots []uint32) {
	d.Lock()
	defer d.Unlock()
	take := func(all map[uint32]mark) (ids []uint32) {
		for id, m := range all {
			if !m.again.After(now) && !errors.Is(publicError(m.err), ErrCorrupt) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		return ids[:min(len(ids), sweepPostings)]
	}
	return take(d.postings), take(d.slots)
}

// tried takes in how it went to read a posting again.
func (d *damage) tried(id uint32, err error) { d.try(d.postings, id, err) }

// triedSlot is tried for the records of a slot.
func (d *damage) triedSlot(slot uint32, err error) { d.try(d.slots, slot, err) }

func (d *damage) try(all map[uint32]mark, id uint32, err error) {
	d.Lock()
	defer d.Unlock()
	m, known := all[id]
	switch {
	case err == nil:
		delete(all, id)
	case known:
		all[id] = mark{err: err, again: time.Now().Add(m.delay), delay: min(2*m.delay, maxDamageDelay)}
	}
}

// hasten has everything tried again at once.
func (d *damage) hasten() {
	d.Lock()
	defer d.Unlock()
	for _, all := range []map[uint32]mark{d.postings, d.slots} {
		for id, m := range all {
			m.again = time.Time{}
			all[id] = m
		}
	}
}

// lasting says that an error is of the volume and not of the call.
func lasting(err error) bool {
	var rd *iopath.ReadError
	return errors.Is(publicError(err), ErrCorrupt) || errors.As(err, &rd) && !errors.Is(err, iopath.ErrClosed)
}

// bad says that a posting could not be read.
func (d *damage) bad(id uint32) bool {
	d.Lock()
	defer d.Unlock()
	_, known := d.postings[id]
	return known
}

// anyPosting returns the damage of some posting, nil when there is none.
func (d *damage) anyPosting() error {
	d.Lock()
	defer d.Unlock()
	for _, m := range d.postings {
		return m.err
	}
	return nil
}

// list describes what is damaged, postings first.
func (d *damage) list() []string {
	d.Lock()
	defer d.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(d.postings)) {
		out = append(out, fmt.Sprintf("posting %d: %v", id, d.postings[id].err))
	}
	for _, slot := range slices.Sorted(maps.Keys(d.slots)) {
		out = append(out, fmt.Sprintf("slot %d: %v", slot, d.slots[slot].err))
	}
	return out
}

// reset forgets everything: what is still damaged will be found again.
func (d *damage) reset() {
	d.Lock()
	defer d.Unlock()
	d.postings, d.slots = nil, nil
}

// setAside notes that a posting could not be worked on and goes on with the
// others, when the error is of the volume; else it returns the error.
func (u *upkeep) setAside(id uint32, err error) error {
	if !lasting(err) {
		return err
	}
	u.blind.Store(true)
	if u.w.ix.damage.posting(id, err) {
		u.w.ix.store.log.Error("a posting cannot be maintained until it is repaired or can be read again",
			"index", u.w.ix.Name(), "posting", id, "err", err)
	}
	return nil
}
