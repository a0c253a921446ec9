package catalog

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// KeyCursor goes through the keys of an index, or of a part of it, as they were
// when it was made. It belongs to one goroutine and must be closed.
type KeyCursor struct {
	c      *Catalog
	it     *pebble.Iterator
	prefix int
	begun  bool
	place  Placement
	err    error
}

// Keys returns a cursor over part segment of segments (1 to 256) of the keys of an
// index, after the ordered key after when that is not empty. Every key is in
// exactly one part, whatever happens to other keys.
func (c *Catalog) Keys(id uint32, segment, segments int, after []byte) (*KeyCursor, error) {
	prefix := idPrefix(tableKey, id)
	bound := func(part int) []byte {
		if part == segments {
			return successor(prefix)
		}
		return append(prefix[:len(prefix):len(prefix)], byte(256*part/segments))
	}
	lower, upper := bound(segment), bound(segment+1)
	if from := append(prefix[:len(prefix):len(prefix)], after...); len(after) > 0 {
		lower = append(from, 0) // the first key above it
	}
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, damaged(c.dir, "scan", err)
	}
	return &KeyCursor{c: c, it: it, prefix: len(prefix)}, nil
}

// Next goes to the next key, false at the end and after an error.
func (k *KeyCursor) Next() bool {
	var ok bool
	if k.begun {
		ok = k.it.Next()
	} else {
		k.begun, ok = true, k.it.First()
	}
	if !ok || k.err != nil {
		return false
	}
	v, err := k.it.ValueAndErr()
	if err != nil {
		k.err = damaged(k.c.dir, "scan", err)
		return false
	}
	k.place, k.err = decodePlacement(v)
	return k.err == nil
}

// Ordered is the present key in the order of the table; valid until Next.
func (k *KeyCursor) Ordered() []byte { return k.it.Key()[k.prefix:] }

// Key is the present key; valid until Next.
func (k *KeyCursor) Key() []byte { return k.it.Key()[k.prefix+1:] }

// Placement is where the present key's vector lives.
func (k *KeyCursor) Placement() Placement { return k.place }

// Close ends the cursor and returns the error that ended Next early, if any.
func (k *KeyCursor) Close() error {
	err := k.it.Close()
	if err != nil {
		err = damaged(k.c.dir, "scan", err)
	}
	return errors.Join(k.err, err)
}
