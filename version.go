package sprat

import (
	"sync/atomic"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/cow"
	"github.com/spratdb/sprat/posting"
)

// version is one state of an index: all that a query needs to see it as one
// commit left it. It never changes. Each commit publishes a new one, which shares
// what stays the same; what only older versions name (extents, slots, landing
// segments) is reused when none of them is held any more.
type version struct {
	space    *space
	calib    *calibration
	set      *centroids.Set
	postings cow.Array[postingRow] // by posting id
	runs     cow.Array[run]        // by slot / catalog.RunSlots
	segments []*segment            // landing segments, by id
	state    catalog.State

	holders atomic.Int64 // queries and steps that use it
}

// postingRow is where a posting is. One that does not exist has no extent.
type postingRow struct {
	extent posting.Extent
	delta  posting.Delta
	seqs   []uint64 // of the delta's rows in the catalog, ascending; appended to like the delta
	flags  postingFlags
	tag    uint32 // tells extents of the same posting apart, for the cache
}

func (p *postingRow) exists() bool { return p.extent.Bytes != 0 }

// postingFlags is the state of a posting in the maintenance protocol, kept in
// its directory row.
type postingFlags uint8

const (
	// draining: its members are being re-placed, and none is added.
	draining postingFlags = 1 << iota
	// unchecked: it comes from a split, and its members were not yet compared
	// with the postings around it.
	unchecked
	// replaceAll: as unchecked, but all members shall be placed anew, because
	// there were too few postings to choose from when they were placed.
	replaceAll
)

// run is the state of RunSlots neighbouring slots; see catalog.RunRow.
type run struct {
	owner        uint32
	live, landed uint16
	gens         [catalog.RunSlots]uint8
	places       *[catalog.RunSlots]catalog.Landing // nil when nothing is landed
}

func runOf(slot uint32) (r int, bit uint32) {
	return int(slot / catalog.RunSlots), slot % catalog.RunSlots
}

// alive says that an entry of slot and generation is a live vector's.
func (v *version) alive(slot uint32, gen uint8) bool {
	r, i := runOf(slot)
	x := v.runs.At(r)
	return x.live>>i&1 != 0 && x.gens[i] == gen
}

// generation returns the generation of a slot and whether it is live.
func (v *version) generation(slot uint32) (gen uint8, live bool) {
	r, i := runOf(slot)
	x := v.runs.At(r)
	return x.gens[i], x.live>>i&1 != 0
}

// landing returns where a slot's records lie while they are not home.
func (v *version) landing(slot uint32) (catalog.Landing, bool) {
	r, i := runOf(slot)
	x := v.runs.At(r)
	if x.landed>>i&1 == 0 {
		return catalog.Landing{}, false
	}
	return x.places[i], true
}

// segment returns an open landing segment, nil when there is none of that id.
func (v *version) segment(id uint32) *segment {
	for _, s := range v.segments {
		if s.id == id {
			return s
		}
	}
	return nil
}

// memoryBytes is what the version keeps in memory.
func (v *version) memoryBytes() map[string]int64 {
	return map[string]int64{
		"centroids": v.set.MemoryBytes(),
		"directory": v.postings.MemoryBytes(),
		"slots":     v.runs.MemoryBytes(),
		"deltas":    v.deltaBytes(),
	}
}

// deltaBytes is the memory of entries that are not in an extent yet.
func (v *version) deltaBytes() int64 {
	var total int64
	for id := range v.postings.Len() {
		p := v.postings.At(id)
		total += p.delta.MemoryBytes()
	}
	return total
}

func (v *version) release() { v.holders.Add(-1) }

// acquire returns the present version; release gives it back. What it names
// stays where it is until then.
func (ix *Index) acquire() *version {
	for {
		v := ix.current.Load()
		v.holders.Add(1)
		// A version that was replaced in between may have been found unused.
		if ix.current.Load() == v {
			return v
		}
		v.release()
	}
}

// bulkRuns is the state of the slots that a bulk build gave out.
func bulkRuns(slots uint64) cow.Array[run] {
	n := int((slots + catalog.RunSlots - 1) / catalog.RunSlots)
	return cow.Default(n, func(i int) run {
		live := uint16(1<<16 - 1)
		if i == n-1 && slots%catalog.RunSlots != 0 {
			live = 1<<(slots%catalog.RunSlots) - 1
		}
		return run{owner: catalog.NoPosting, live: live}
	})
}
