package catalog

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// TestCheckpoint: the copy holds what was committed before, whatever the catalog
// does later, and opens by itself.
func TestCheckpoint(t *testing.T) {
	c, err := Open(filepath.Join(t.TempDir(), "catalog"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(from, to int) {
		for i := from; i < to; i++ {
			b := c.NewBatch()
			b.PutKey(1, fmt.Appendf(nil, "key %d", i), Placement{Slot: uint32(i)})
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(0, 100)
	if err := c.db.Flush(); err != nil { // some in a table, some in the log
		t.Fatal(err)
	}
	put(100, 150)
	dir := filepath.Join(t.TempDir(), "copy")
	if err := c.Checkpoint(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Checkpoint(dir); err == nil {
		t.Error("a copy over another")
	}
	put(150, 200)
	b := c.NewBatch()
	b.DeleteIndexRows(1)
	err = errors.Join(b.Commit(), c.Erase(t.Context()), c.Close())
	if err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		again, err := Open(dir, Config{ReadOnly: readOnly, MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = again.Placements(1, func(key []byte, p Placement) error {
			if string(key) != fmt.Sprintf("key %d", p.Slot) {
				t.Errorf("key %q is in slot %d", key, p.Slot)
			}
			n++
			return nil
		})
		if err := errors.Join(err, again.Close()); err != nil || n != 150 {
			t.Errorf("the copy holds %d keys, want 150 (%v)", n, err)
		}
	}
}
