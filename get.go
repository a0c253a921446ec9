package sprat

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/iopath"
	"github.com/spratdb/sprat/rescore"
)

// Fields say which parts of a vector are wanted besides its key.
type Fields struct{ Vectors, Metadata bool }

// Get returns the vectors of the keys, in the order of the keys, without those
// that are not there. All of them are as one moment had them. Errors: ErrInvalid,
// ErrClosed, ErrCorrupt, the context's, and those of the volume.
func (ix *Index) Get(ctx context.Context, keys []string, want Fields) ([]Record, error) {
	for i, key := range keys {
		if err := checkKey(key); err != nil {
			return nil, &RowError{Row: int64(i), Key: key, Err: err}
		}
	}
	leave, err := ix.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var found []item
	v, err := ix.together(func() error {
		for _, key := range keys {
			p, err := ix.store.catalog.Placement(ix.row.ID, []byte(key))
			if errors.Is(err, catalog.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			found = append(found, item{Record: Record{Key: key}, at: p})
		}
		return nil
	})
	if err != nil {
		return nil, publicError(err)
	}
	defer v.release()
	if err := ix.fetch(ctx, v, found, want); err != nil {
		return nil, publicError(err)
	}
	out := make([]Record, len(found))
	for i := range found {
		out[i] = found[i].Record
	}
	return out, nil
}

// enter keeps the index open until leave is called.
func (ix *Index) enter() (leave func(), err error) {
	ix.users.RLock()
	if err := ix.ended(); err != nil {
		ix.users.RUnlock()
		return nil, err
	}
	return ix.users.RUnlock, nil
}

// together runs f, which reads the catalog, at a moment when the catalog and the
// present version are of the same commit, and returns that version, held.
func (ix *Index) together(f func() error) (*version, error) {
	if w := ix.writer; w != nil {
		w.publishing.RLock()
		defer w.publishing.RUnlock()
	}
	if err := f(); err != nil {
		return nil, err
	}
	return ix.acquire(), nil
}

// item is a vector to be fetched.
type item struct {
	Record
	at catalog.Placement
}

// fetch reads the records of the items and fills in what is wanted. Items whose
// key alone is wanted cost no read.
func (ix *Index) fetch(ctx context.Context, v *version, items []item, want Fields) error {
	if !want.Vectors && !want.Metadata {
		return nil
	}
	places := make([]recordPlace, len(items))
	for i := range items {
		var err error
		if places[i], err = ix.recordPlace(v, items[i].at.Slot, items[i].at.Generation); err != nil {
			return fmt.Errorf("key %.64q: %w", items[i].Key, err)
		}
	}
	return ix.readNear(ctx, places, func(i int, rec *rescore.Record) error {
		it := &items[i]
		if !rec.KeyElsewhere && string(rec.Key) != it.Key {
			return &CorruptionError{Path: places[i].file.Path(), Offset: places[i].off,
				Err: fmt.Errorf("the record of key %.64q is of key %.64q", it.Key, rec.Key)}
		}
		if want.Vectors {
			it.Vector = make([]float32, ix.row.Dimension)
			rec.Vector(it.Vector)
		}
		if want.Metadata {
			var err error
			it.Metadata, err = ix.wholeMetadata(rec, it.at.Slot)
			return err
		}
		return nil
	})
}

// wholeMetadata is a copy of a record's metadata, wherever it is.
func (ix *Index) wholeMetadata(rec *rescore.Record, slot uint32) ([]byte, error) {
	if !rec.MetaElsewhere {
		return bytes.Clone(rec.Metadata), nil
	}
	m, err := ix.store.catalog.LongMetadata(ix.row.ID, slot, rec.Generation)
	if err != nil {
		return nil, ix.promised(fmt.Errorf("metadata of slot %d: %w", slot, err))
	}
	return m, nil
}

// wholeKey is a copy of a record's key, wherever it is.
func (ix *Index) wholeKey(rec *rescore.Record, slot uint32) ([]byte, error) {
	if !rec.KeyElsewhere {
		return bytes.Clone(rec.Key), nil
	}
	k, err := ix.store.catalog.LongKey(ix.row.ID, slot, rec.Generation)
	if err != nil {
		return nil, ix.promised(fmt.Errorf("key of slot %d: %w", slot, err))
	}
	return k, nil
}

// recordPlace is where a vector record lies.
type recordPlace struct {
	file *iopath.File
	off  int64
	slot uint32
	gen  uint8
	mem  []byte // the landed item, when it is in memory
}

// recordPlace finds the vector record of a live slot: home, or where it landed.
func (ix *Index) recordPlace(v *version, slot uint32, gen uint8) (recordPlace, error) {
	if !v.alive(slot, gen) {
		return recordPlace{}, ix.inCatalog(fmt.Errorf("slot %d of generation %d is not live", slot, gen))
	}
	p := recordPlace{file: ix.recordsFile, off: ix.records.Offset(slot), slot: slot, gen: gen}
	if at, ok := v.landing(slot); ok {
		s := v.segment(at.Segment)
		if s == nil {
			return p, ix.inCatalog(fmt.Errorf("slot %d is in landing segment %d, which is not there", slot, at.Segment))
		}
		p.file, p.off = s.file, int64(at.Offset)
		p.mem = s.cached(p.off, ix.itemBytes())
	}
	return p, nil
}

// decodeRecord checks the record that was read from a place.
func (ix *Index) decodeRecord(data []byte, p *recordPlace) (rescore.Record, error) {
	rec, err := ix.records.Decode(data, p.slot)
	if err == nil && rec.Generation != p.gen {
		err = &rescore.CorruptError{Slot: p.slot, Reason: fmt.Sprintf("generation %d, the catalog says %d", rec.Generation, p.gen)}
	}
	return rec, rescore.Located(err, p.file.Path(), p.off)
}
