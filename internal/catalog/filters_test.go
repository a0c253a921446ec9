package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// TestFilterRows: rows are of one index, a cursor sees those of one moment, and they
// and the attributes go with the index.
func TestFilterRows(t *testing.T) {
	c := open(t, t.TempDir(), Config{})
	b := c.NewBatch()
	b.PutIndex(Index{ID: 1, Bucket: "b", Name: "i"})
	for id := uint32(1); id <= 3; id++ {
		for _, key := range []string{"a1", "a2", "b1", "\xff\xff"} {
			b.PutFilterRow(id, []byte(key), fmt.Appendf(nil, "%d%s", id, key))
		}
	}
	b.PutAttribute("b", "", "x", []byte("bucket"))
	b.PutAttribute("b", "i", "x", []byte("index"))
	b.PutAttribute("b", "i2", "x", []byte("other"))
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	cur, err := c.FilterRows(2)
	if err != nil {
		t.Fatal(err)
	}
	scan := func(from, to []byte, most int) (got []string) {
		if err := cur.Scan(from, to, func(key, value []byte) (bool, error) {
			got = append(got, string(key)+"="+string(value))
			most--
			return most > 0, nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	b = c.NewBatch()
	b.DeleteFilterRows(2)
	b.DeleteFilterRow(3, []byte("a1"))
	b.DeleteIndex(Index{ID: 1, Bucket: "b", Name: "i"})
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		from, to []byte
		most     int
		want     string
	}{
		{nil, nil, 9, "[a1=2a1 a2=2a2 b1=2b1 \xff\xff=2\xff\xff]"},
		{[]byte("a2"), []byte("b1"), 9, "[a2=2a2]"},
		{[]byte("a"), []byte("c"), 2, "[a1=2a1 a2=2a2]"},
		{[]byte("\xff\xff\xff"), nil, 9, "[]"},
	} {
		if got := fmt.Sprint(scan(q.from, q.to, q.most)); got != q.want {
			t.Errorf("%q to %q: %s, want %s", q.from, q.to, got, q.want)
		}
	}
	stop := errors.New("stop")
	if err := cur.Scan(nil, nil, func(_, _ []byte) (bool, error) { return true, stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := cur.Close(); err != nil {
		t.Fatal(err)
	}
	for id, left := range map[uint32]bool{1: false, 2: false, 3: true} {
		if _, err := c.FilterRow(id, []byte("a2")); errors.Is(err, ErrNotFound) == left {
			t.Errorf("index %d: %v", id, err)
		}
	}
	if _, err := c.FilterRow(3, []byte("a1")); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for index, want := range map[string]string{"": "map[x:[98 117 99 107 101 116]]", "i": "map[]", "i2": "map[x:[111 116 104 101 114]]"} {
		if got, err := c.Attributes("b", index); err != nil || fmt.Sprint(got) != want {
			t.Errorf("attributes of %q: %v, %v", index, got, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOlderSchema: a catalog of version 2 is read, and becomes one of this version
// when it is opened for writing; its indexes have no filter rows.
func TestOlderSchema(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, Config{})
	set := func(key, value []byte) {
		if err := c.db.Set(key, value, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	set([]byte{tableVersion}, binary.LittleEndian.AppendUint32(nil, 2))
	s := State{Vectors: 7, NextSegment: 9, Seq: 3}
	old := s.append(nil)[:stateBytes1]
	old[0] = 1
	set(idPrefix(tableState, 1), old)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false, true} {
		c = open(t, dir, Config{ReadOnly: readOnly})
		if got, err := c.State(1); err != nil || got != s || got.Filters != FiltersNone {
			t.Errorf("state %+v, %v", got, err)
		}
		v, err := c.get([]byte{tableVersion})
		if err != nil || !readOnly && binary.LittleEndian.Uint32(v) != Version {
			t.Errorf("version %v, %v", v, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := decodeState(append(old, 0)); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	bad := s.append(nil)
	bad[97] = byte(FiltersWhole) + 1
	if _, err := decodeState(bad); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
