package sprat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spratdb/sprat/internal/catalog"
)

// moment is the state of a store at one moment, held: a copy of the catalog, and
// the version of each index that belongs to it.
type moment struct {
	store      *Store
	ctx        context.Context // of the snapshot
	dir        string          // temporary, holds the copy of the catalog
	indexes    []*heldIndex
	unfinished []uint32 // ids of builds and drops under way; the catalog may have rows of them
}

// heldIndex is an index of a moment. Its files are open, because a drop may take
// their names away.
type heldIndex struct {
	row   catalog.Index
	ix    *Index   // nil for one that could not be opened, which nobody changes
	v     *version // held; nil without ix
	files []heldFile
}

// capture takes the moment. writeMu keeps indexes from coming and going, and the
// publishing locks keep commits from coming between the catalog and the versions.
func (m *moment) capture() error {
	s := m.store
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if err := m.list(); err != nil {
		return err
	}
	if err := s.room(checkpointReserve); err != nil {
		return err
	}
	if err := m.freeze(); err != nil {
		return err
	}
	for _, h := range m.indexes {
		if err := h.open(s); err != nil {
			return err
		}
	}
	return nil
}

// checkpointReserve is the free space that a copy of the catalog asks for: the
// log of two memtables, of 16 MiB at most, and the manifest are copied.
const checkpointReserve = 32<<20 + catalogReserve

// list finds what there is, in order of index ids, and makes the temporary
// directory.
func (m *moment) list() error {
	s := m.store
	rows, err := s.catalog.Indexes("")
	if err != nil {
		return err
	}
	known := map[uint32]bool{}
	s.mu.RLock()
	for _, row := range rows {
		known[row.ID] = true
		m.indexes = append(m.indexes, &heldIndex{row: row, ix: s.mu.indexes[fullName(row.Bucket, row.Name)]})
	}
	s.mu.RUnlock()
	slices.SortFunc(m.indexes, func(a, b *heldIndex) int { return cmp.Compare(a.row.ID, b.row.ID) })
	entries, err := os.ReadDir(filepath.Join(s.dir, temporaryDir))
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, e := range entries {
		var id uint32
		taken[e.Name()] = true
		if _, err := fmt.Sscanf(e.Name(), "build-%08x", &id); err == nil && !known[id] {
			m.unfinished = append(m.unfinished, id)
		}
	}
	name := ""
	for n := 0; name == "" || taken[name]; n++ {
		name = fmt.Sprintf("snapshot-%d", n)
	}
	m.dir = filepath.Join(s.dir, temporaryDir, name)
	return s.engine.MkdirAll(m.dir)
}

// freeze copies the catalog and holds the versions while no index commits.
func (m *moment) freeze() error {
	for _, h := range m.indexes {
		if h.ix == nil {
			continue
		}
		h.ix.writer.publishing.RLock()
		defer h.ix.writer.publishing.RUnlock()
		// After a commit that failed, catalog and version may not be of one moment.
		if err := h.ix.writer.usable(); err != nil {
			return fmt.Errorf("index %q: %w", h.ix.Name(), err)
		}
	}
	if err := m.store.catalog.Checkpoint(m.catalogPath()); err != nil {
		return err
	}
	for _, h := range m.indexes {
		if h.ix != nil {
			h.v = h.ix.acquire()
		}
	}
	return nil
}

func (m *moment) catalogPath() string { return filepath.Join(m.dir, catalogDir) }

// open opens the files of the index.
func (h *heldIndex) open(s *Store) error {
	dir := indexDir(s.dir, h.row.ID)
	names := []string{postingsFile, recordsFile}
	switch {
	case h.ix == nil:
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		names = nil
		for _, e := range entries {
			if e.Type().IsRegular() {
				names = append(names, e.Name())
			}
		}
	case h.ix.refine != nil:
		names = append(names, refineFile)
	}
	if h.ix != nil {
		if _, err := os.Stat(filepath.Join(dir, centroidsFile)); err == nil { // it may be lost
			names = append(names, centroidsFile)
		}
		for _, seg := range h.v.segments {
			names = append(names, segmentName(seg.id))
		}
	}
	for _, name := range names {
		f, err := s.openHeld(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		h.files = append(h.files, f)
	}
	return nil
}

func (m *moment) stats() SnapshotStats {
	st := SnapshotStats{Indexes: len(m.indexes)}
	for _, h := range m.indexes {
		if h.ix == nil {
			st.Broken = append(st.Broken, fullName(h.row.Bucket, h.row.Name))
			continue
		}
		st.Vectors += h.v.state.Vectors
	}
	return st
}

// release lets the moment go.
func (m *moment) release() error {
	var errs []error
	for _, h := range m.indexes {
		for _, f := range h.files {
			errs = append(errs, f.close())
		}
		if h.v != nil {
			h.v.release()
		}
	}
	if m.dir != "" {
		errs = append(errs, m.store.engine.RemoveAll(m.dir))
	}
	return errors.Join(errs...)
}
