package sprat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/spratdb/sprat/iopath"
)

// damage remembers what could not be read, until a repair: maintenance leaves it
// alone, and Stats show it. Queries try it each time, and only those that need it
// fail. It is safe for concurrent use.
type damage struct {
	sync.Mutex
	postings map[uint32]error
	slots    map[uint32]error
}

// maxDamage bounds what is remembered of each kind.
const maxDamage = 10_000

// posting notes that a posting cannot be read and says whether that is news.
func (d *damage) posting(id uint32, err error) bool { return d.note(&d.postings, id, err) }

// slot notes that the records of a slot cannot be read.
func (d *damage) slot(slot uint32, err error) bool { return d.note(&d.slots, slot, err) }

func (d *damage) note(m *map[uint32]error, id uint32, err error) bool {
	if !lasting(err) {
		return false
	}
	d.Lock()
	defer d.Unlock()
	if *m == nil {
		*m = map[uint32]error{}
	}
	if _, known := (*m)[id]; known || len(*m) >= maxDamage {
		return false
	}
	(*m)[id] = err
	return true
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
	return d.postings[id] != nil
}

// list describes what is damaged, postings first.
func (d *damage) list() []string {
	d.Lock()
	defer d.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(d.postings)) {
		out = append(out, fmt.Sprintf("posting %d: %v", id, d.postings[id]))
	}
	for _, slot := range slices.Sorted(maps.Keys(d.slots)) {
		out = append(out, fmt.Sprintf("slot %d: %v", slot, d.slots[slot]))
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
	if u.w.ix.damage.posting(id, err) {
		u.w.ix.store.log.Error("a posting cannot be maintained until it is repaired",
			"index", u.w.ix.Name(), "posting", id, "err", err)
	}
	return nil
}
