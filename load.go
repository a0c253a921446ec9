package sprat

import (
	"errors"
	"fmt"
	"math"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/cow"
	"github.com/spratdb/sprat/posting"
)

// load brings the state of an index into memory. It reads what the catalog keeps
// of postings, runs of slots and deltas, and of the volume only the centroids
// file; so its time grows with the directory and the delta, not with the data.
func (ix *Index) load() (err error) {
	v := ix.current.Load()
	if v.state, err = ix.store.catalog.State(ix.row.ID); err != nil {
		return ix.inCatalog(err)
	}
	for _, step := range []func(*version) error{ix.loadDirectory, ix.loadRuns, ix.loadDeltas, ix.openSegments, ix.loadCentroids} {
		if err := step(v); err != nil {
			return err
		}
	}
	return nil
}

// inCatalog makes damage of the catalog of an error in what it holds.
func (ix *Index) inCatalog(err error) error {
	var ce *catalog.CorruptError
	if err == nil || errors.As(err, &ce) || errors.Is(err, ErrCorrupt) {
		return err
	}
	return &CorruptionError{Path: ix.store.catalogPath(), Err: err}
}

// directoryRowBytes is the length of a directory row: the extent, then flags.
const directoryRowBytes = posting.ExtentValueBytes + 1

func appendDirectoryRow(b []byte, e posting.Extent, f postingFlags) []byte {
	return append(e.AppendValue(b), byte(f))
}

func decodeDirectoryRow(v []byte) (posting.Extent, postingFlags, error) {
	if len(v) != directoryRowBytes || v[8] > byte(draining|unchecked|replaceAll) {
		return posting.Extent{}, 0, fmt.Errorf("directory row of %d bytes: %x", len(v), v)
	}
	e, err := posting.DecodeExtent(v[:8])
	return e, postingFlags(v[8]), err
}

func (ix *Index) loadDirectory(v *version) error {
	size, err := ix.postingsFile.Size()
	if err != nil {
		return err
	}
	if uint64(v.state.NextPosting) > math.MaxInt32 {
		return ix.inCatalog(fmt.Errorf("next posting id %d", v.state.NextPosting))
	}
	var none cow.Array[postingRow]
	edit, count := none.Edit(), uint64(0)
	edit.Resize(int(v.state.NextPosting))
	err = ix.store.catalog.Extents(ix.row.ID, func(id uint32, row []byte) error {
		e, flags, err := decodeDirectoryRow(row)
		switch {
		case err != nil:
			return ix.inCatalog(err)
		case id >= v.state.NextPosting:
			return ix.inCatalog(fmt.Errorf("posting %d, of ids up to %d", id, v.state.NextPosting))
		case e.Offset()+int64(e.Bytes) > size:
			return &CorruptionError{Path: ix.path(postingsFile), Offset: e.Offset(),
				Err: fmt.Errorf("posting %d of %d bytes lies beyond the end of the file (%d)", id, e.Bytes, size)}
		}
		*edit.Ref(int(id)) = postingRow{extent: e, flags: flags}
		count++
		return nil
	})
	if err == nil && count != v.state.Postings {
		err = ix.inCatalog(fmt.Errorf("%d postings in the directory of index %q, its state says %d", count, ix.Name(), v.state.Postings))
	}
	v.postings = edit.Done()
	return err
}

func (ix *Index) loadRuns(v *version) error {
	bulk := bulkRuns(v.state.Slots)
	edit := bulk.Edit()
	err := ix.store.catalog.Runs(ix.row.ID, func(r uint32, row catalog.RunRow, damage error) error {
		if damage != nil {
			return ix.inCatalog(damage)
		}
		if int(r) >= edit.Len() {
			return ix.inCatalog(fmt.Errorf("run %d of %d", r, edit.Len()))
		}
		x := run{owner: row.Owner, live: row.Live, landed: row.Landed, gens: row.Generations}
		if row.Landed != 0 {
			x.places = &row.Landings
		}
		*edit.Ref(int(r)) = x
		return nil
	})
	v.runs = edit.Done()
	return err
}

func (ix *Index) loadDeltas(v *version) error {
	edit := v.postings.Edit()
	err := ix.store.catalog.Deltas(ix.row.ID, func(id uint32, seq uint64, row []byte) error {
		entries, err := posting.DecodeEntries(&ix.layout, row)
		if err != nil {
			return ix.inCatalog(err)
		}
		if !exists(v, id) {
			return ix.inCatalog(fmt.Errorf("entries of posting %d, which does not exist", id))
		}
		for i := range entries {
			if uint64(entries[i].Slot) >= v.state.Slots {
				return ix.inCatalog(fmt.Errorf("an entry of posting %d names slot %d of %d", id, entries[i].Slot, v.state.Slots))
			}
		}
		p := edit.Ref(int(id))
		p.delta, p.seqs = p.delta.Append(&ix.layout, entries), append(p.seqs, seq)
		return nil
	})
	v.postings = edit.Done()
	return err
}

// openSegments opens the landing segments that hold records of live slots.
func (ix *Index) openSegments(v *version) error {
	counts := map[uint32]int{}
	for r := range v.runs.Len() {
		x := v.runs.At(r)
		for i := range catalog.RunSlots {
			if x.landed>>i&1 != 0 {
				counts[x.places[i].Segment]++
			}
		}
	}
	for id := range v.state.NextSegment {
		if counts[id] == 0 {
			continue
		}
		s, err := ix.openSegment(id)
		if err != nil {
			return err
		}
		s.landed = counts[id]
		v.segments = append(v.segments, s)
		delete(counts, id)
	}
	for id, n := range counts {
		return ix.inCatalog(fmt.Errorf("%d records in landing segment %d of %d", n, id, v.state.NextSegment))
	}
	return nil
}
