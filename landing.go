package sprat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/iopath"
)

// A landing segment is a file of records in the order of their arrival: a file
// header, then groups, each of one commit and from a block of its own, of items
// that lie back to back. An item is a vector record and, with a refine tier, a
// refine record; both carry their checksums, and the catalog's run rows say where
// each begins. What a crash leaves behind the last group that a row names is
// never looked at, because a segment is only appended to by the process that made
// it.
const (
	segmentPrefix = "landing-"
	segmentBytes  = 64 << 20 // size at which the next one is begun
	maxSegment    = 1 << 30  // no group makes a segment longer
)

// segment is an open landing segment. landed and size belong to writer.mu.
type segment struct {
	id   uint32
	path string
	file *iopath.File

	landed int             // live slots whose records are here
	size   int64           // bytes used
	update *iopath.Updater // nil when nothing may be added

	groups struct { // of the newest commits, in memory as well
		sync.RWMutex
		list []landedGroup // ascending
	}
}

// landedGroup is what one commit wrote to a segment from off on.
type landedGroup struct {
	off  int64
	data []byte
}

// cached returns the n bytes at off when they are still in memory, else nil. They
// must not be changed.
func (s *segment) cached(off int64, n int) []byte {
	s.groups.RLock()
	defer s.groups.RUnlock()
	list := s.groups.list
	i := sort.Search(len(list), func(i int) bool { return list[i].off > off }) - 1
	if i < 0 || off+int64(n) > list[i].off+int64(len(list[i].data)) {
		return nil
	}
	return list[i].data[off-list[i].off:][:n]
}

// keepLanded keeps what was just written to a segment in memory, in place of the
// oldest such groups: most of it is moved home soon, and need not be read for
// that.
func (w *writer) keepLanded(s *segment, g landedGroup) {
	s.groups.Lock()
	s.groups.list = append(s.groups.list, g)
	s.groups.Unlock()
	w.kept = append(w.kept, keptGroup{s, g.off, int64(len(g.data))})
	w.keptBytes += int64(len(g.data))
	for w.keptBytes > w.ix.landedBudget() && len(w.kept) > 0 {
		w.dropLanded()
	}
}

// dropLanded lets the oldest group go.
func (w *writer) dropLanded() {
	k := w.kept[0]
	w.kept = slices.Delete(w.kept, 0, 1)
	w.keptBytes -= k.bytes
	k.segment.groups.Lock()
	defer k.segment.groups.Unlock()
	k.segment.groups.list = slices.DeleteFunc(k.segment.groups.list, func(g landedGroup) bool { return g.off == k.off })
}

// keptGroup is a group in memory.
type keptGroup struct {
	segment *segment
	off     int64
	bytes   int64
}

// landedBudget is the memory, in bytes, for records that have landed.
func (ix *Index) landedBudget() int64 { return ix.store.writeShare(8, 64<<20) }

func segmentName(id uint32) string { return fmt.Sprintf("%s%08x", segmentPrefix, id) }

func (ix *Index) segmentHeader() diskfile.Header {
	h := diskfile.Header{Kind: diskfile.Landing, IndexID: ix.row.ID, Stride: uint32(ix.itemBytes()), Dim: uint32(ix.row.Dimension),
		KeyCap: uint32(ix.records.KeyCap), MetaCap: uint32(ix.records.MetaCap)}
	return h
}

// itemBytes is the length of a landed item.
func (ix *Index) itemBytes() int {
	if ix.refine == nil {
		return ix.records.Bytes
	}
	return ix.records.Bytes + ix.refine.Bytes
}

func (ix *Index) openSegment(id uint32) (*segment, error) {
	s := &segment{id: id, path: ix.path(segmentName(id))}
	h, err := diskfile.Read(s.path)
	if errors.Is(err, diskfile.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptionError{Path: s.path, Err: err}
	}
	if err != nil {
		return nil, err
	}
	if want := ix.segmentHeader(); h != want {
		return nil, &CorruptionError{Path: s.path, Err: fmt.Errorf("header %+v, the catalog says %+v", h, want)}
	}
	if s.file, err = ix.store.engine.OpenFile(s.path); err != nil {
		return nil, err
	}
	s.size, err = s.file.Size()
	return s, err
}

// close closes the files of a segment that no one reads any more.
func (s *segment) close() error {
	var err error
	if s.update != nil {
		err = s.update.Close()
	}
	return errors.Join(err, s.file.Close())
}

// newSegment makes an empty segment, durably but for its name.
func (w *writer) newSegment(id uint32) (*segment, error) {
	ix := w.ix
	s := &segment{id: id, path: ix.path(segmentName(id)), size: diskfile.HeaderBytes}
	var err error
	if s.update, err = ix.store.engine.OpenUpdate(s.path); err != nil {
		return nil, err
	}
	if err = s.update.Truncate(0); err == nil { // what an undone commit may have left
		_, err = s.update.WriteAt(ix.segmentHeader().Encode(), 0)
	}
	if err == nil {
		err = ix.store.engine.SyncDir(ix.dir)
	}
	if err == nil {
		s.file, err = ix.store.engine.OpenFile(s.path)
	}
	if err != nil {
		return nil, errors.Join(err, s.update.Close(), ix.store.engine.Remove(s.path))
	}
	return s, nil
}

// land writes the items of a commit to the active segment, each where its place
// says, and syncs them. It must hold writer.mu.
func (w *writer) land(t *txn) error {
	for len(t.landings) > 0 {
		seg := t.landings[0].segment
		n := 0
		for n < len(t.landings) && t.landings[n].segment == seg {
			n++
		}
		first := int64(t.landings[0].place.Offset)
		buf := make([]byte, n*w.ix.itemBytes())
		for i, l := range t.landings[:n] {
			copy(buf[i*w.ix.itemBytes():], l.item)
		}
		if _, err := seg.update.WriteAt(buf, first); err != nil {
			return err
		}
		if err := seg.update.Sync(); err != nil {
			return err
		}
		t.groups = append(t.groups, keptGroup{seg, first, int64(len(buf))})
		t.bufs = append(t.bufs, buf)
		t.landings = t.landings[n:]
	}
	return nil
}

// landing is an item on its way to a segment.
type landing struct {
	segment *segment
	place   catalog.Landing
	item    []byte
}

// placeItem reserves room for an item in the active segment of the transaction.
func (t *txn) placeItem(item []byte) (catalog.Landing, error) {
	w := t.w
	if seg := t.active; seg == nil || seg.size >= segmentBytes || t.landEnd+int64(len(item)) > maxSegment {
		fresh, err := w.newSegment(t.state.NextSegment)
		if err != nil {
			return catalog.Landing{}, err
		}
		t.state.NextSegment++
		t.active, t.landEnd = fresh, fresh.size
		t.segments, t.created = append(t.segments[:len(t.segments):len(t.segments)], fresh), append(t.created, fresh)
	}
	p := catalog.Landing{Segment: t.active.id, Offset: uint32(t.landEnd)}
	t.landings = append(t.landings, landing{segment: t.active, place: p, item: item})
	t.landEnd += int64(len(item))
	t.landed[t.active]++
	return p, nil
}

// clearSegments removes the landing files that hold nothing live.
func (w *writer) clearSegments() error {
	entries, err := os.ReadDir(w.ix.dir)
	if err != nil {
		return err
	}
	v := w.ix.current.Load()
	for _, e := range entries {
		var id uint32
		if !strings.HasPrefix(e.Name(), segmentPrefix) {
			continue
		}
		if _, err := fmt.Sscanf(e.Name(), segmentPrefix+"%08x", &id); err != nil || v.segment(id) != nil {
			continue
		}
		if err := w.ix.store.engine.Remove(filepath.Join(w.ix.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
