package sprat

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/posting"
)

// reopenLeniently opens an index that could not be opened, after taking out of the
// catalog what cannot be true and making the headers of its files again. What that
// loses is for the repair that follows to find.
func (s *Store) reopenLeniently(bucket, name string, report *RepairReport) (*Index, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	row, err := s.catalog.Index(bucket, name)
	if err != nil {
		return nil, publicError(err)
	}
	ix, err := newIndex(s, row)
	if err != nil {
		return nil, publicError(err)
	}
	m := &mend{ix: ix, report: report, runs: map[uint32]catalog.RunRow{}}
	if err := m.run(); err != nil {
		return nil, publicError(err)
	}
	if ix, err = s.openIndex(row); err != nil {
		return nil, publicError(err)
	}
	full := fullName(bucket, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.broken, full)
	s.mu.indexes[full] = ix
	ix.writer.start()
	return ix, nil
}

// mend puts right the rows and file headers of an index that is not open.
type mend struct {
	ix     *Index
	report *RepairReport
	batch  *catalog.Batch
	state  catalog.State
	there  map[uint32]bool // postings
	runs   map[uint32]catalog.RunRow
}

func (m *mend) fixed(format string, args ...any) {
	m.report.Fixed = append(m.report.Fixed, fmt.Sprintf(format, args...))
}

func (m *mend) run() error {
	m.batch = m.ix.store.catalog.NewBatch()
	for _, step := range []func() error{m.headers, m.readState, m.directory, m.readRuns, m.deltas} {
		if err := step(); err != nil {
			return errors.Join(err, m.batch.Discard())
		}
	}
	m.state.Postings = uint64(len(m.there))
	m.batch.PutState(m.ix.row.ID, m.state)
	return m.batch.Commit()
}

// headers makes the headers of files that are missing or have none.
func (m *mend) headers() error {
	ix := m.ix
	align := ix.store.engine.Info().OffsetAlign
	want := map[string]diskfile.Header{
		postingsFile: ix.postingsHeader(align), recordsFile: ix.records.Header(ix.row.ID, align),
	}
	if ix.refine != nil {
		want[refineFile] = ix.refine.Header(ix.row.ID, align)
	}
	for name, h := range want {
		got, err := diskfile.Read(ix.path(name))
		if got.Align = h.Align; err == nil && got == h {
			continue
		}
		m.fixed("%s: header made again (%v)", ix.path(name), err)
		u, err := ix.store.engine.OpenUpdate(ix.path(name))
		if err != nil {
			return err
		}
		if _, err = u.WriteAt(h.Encode(), 0); err == nil {
			err = u.Sync()
		}
		if err = errors.Join(err, u.Close()); err != nil {
			return err
		}
	}
	return ix.store.engine.SyncDir(ix.dir)
}

// readState reads the counters. When they are lost, they are taken from what there
// is; the repair counts again.
func (m *mend) readState() (err error) {
	m.state, err = m.ix.store.catalog.State(m.ix.row.ID)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrCorrupt) {
		m.fixed("counters made again: %v", err)
		return nil
	}
	return err
}

// directory removes the rows of postings that cannot be there.
func (m *mend) directory() error {
	ix, id := m.ix, m.ix.row.ID
	st, err := os.Stat(ix.path(postingsFile))
	if err != nil {
		return err
	}
	m.there = map[uint32]bool{}
	type place struct {
		id uint32
		posting.Extent
	}
	var places []place
	drop := func(p uint32, why any) {
		m.fixed("posting %d taken out of the directory: %v", p, why)
		m.batch.DeletePosting(id, p)
	}
	err = ix.store.catalog.Extents(id, func(p uint32, row []byte) error {
		switch e, _, err := decodeDirectoryRow(row); {
		case err != nil:
			drop(p, err)
		case e.Offset()+int64(e.Bytes) > st.Size():
			drop(p, "it lies beyond the end of the file")
		default:
			places = append(places, place{p, e})
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.Block, b.Block) })
	end := int64(posting.ExtentAlign)
	for _, e := range places {
		if e.Offset() < end {
			drop(e.id, "its extent overlaps another one")
			continue
		}
		end = e.Offset() + int64(e.Bytes)
		m.there[e.id] = true
		m.state.NextPosting = max(m.state.NextPosting, e.id+1)
	}
	return ix.store.catalog.Centroids(id, func(p uint32, row []byte) error {
		if !m.there[p] || len(row) < 8 {
			m.batch.DeletePosting(id, p)
			delete(m.there, p)
		}
		return nil
	})
}

// readRuns makes the rows of damaged runs again from the keys, and forgets landing
// segments that are not there: where a record is lost by that, the repair finds
// out.
func (m *mend) readRuns() error {
	ix, id := m.ix, m.ix.row.ID
	damaged := map[uint32]bool{}
	err := ix.store.catalog.Runs(id, func(r uint32, row catalog.RunRow, damage error) error {
		m.state.Slots = max(m.state.Slots, uint64(r+1)*catalog.RunSlots)
		if damage != nil {
			m.fixed("run %d made again from the keys: %v", r, damage)
			damaged[r], m.runs[r] = true, catalog.RunRow{Owner: catalog.NoPosting}
			return nil
		}
		for i := range catalog.RunSlots {
			if row.Landed>>i&1 == 0 {
				continue
			}
			seg := row.Landings[i].Segment
			m.state.NextSegment = max(m.state.NextSegment, seg+1)
			if s, err := ix.openSegment(seg); err != nil {
				m.fixed("slot %d: %v", r*catalog.RunSlots+uint32(i), err)
				row.Landed &^= 1 << i
				m.runs[r] = row
			} else if err := s.file.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = ix.store.catalog.Placements(id, func(_ []byte, p catalog.Placement) error {
		r, i := runOf(p.Slot)
		if row := m.runs[uint32(r)]; damaged[uint32(r)] {
			row.Live |= 1 << i
			row.Generations[i] = p.Generation
			m.runs[uint32(r)] = row
		}
		return nil
	})
	for r, row := range m.runs {
		m.batch.PutRun(id, r, row)
	}
	return err
}

// deltas removes rows of entries that cannot be read or whose posting is gone.
func (m *mend) deltas() error {
	ix, id := m.ix, m.ix.row.ID
	return ix.store.catalog.Deltas(id, func(p uint32, seq uint64, row []byte) error {
		m.state.Seq = max(m.state.Seq, seq)
		entries, err := posting.DecodeEntries(&ix.layout, row)
		for i := range entries {
			if err == nil && uint64(entries[i].Slot) >= m.state.Slots {
				err = fmt.Errorf("slot %d of %d", entries[i].Slot, m.state.Slots)
			}
		}
		if err == nil && m.there[p] {
			return nil
		}
		m.fixed("entries of posting %d taken out (%v)", p, err)
		m.batch.DeleteDeltas(id, p, []uint64{seq})
		return nil
	})
}
