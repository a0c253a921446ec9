package sprat

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/iopath"
)

// TestRepairAroundABadSpot: a repair while a byte cannot be read loses the vector
// that it is of and no other, though many are read with it.
func TestRepairAroundABadSpot(t *testing.T) {
	t.Parallel()
	d, spot := fewTexts(300), &badSpot{}
	s := mustOpenByHand(t, quickDir(t), powerOptions, hooks{faults: spot.fate})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	spot.path, spot.off = ix.path(recordsFile), ix.records.Offset(100)+9
	spot.set(false, true)
	for i, lost := range []int{1, 0} { // the second finds nothing more
		r, err := s.Repair(t.Context(), "b", "i")
		if err != nil || r.Lost != lost || len(r.LostKeys) != lost || r.Replaced > 0 {
			t.Fatalf("repair %d: %+v, %v", i, *r, err)
		}
	}
	if n := ix.Len(); n != 299 {
		t.Errorf("%d vectors left", n)
	}
	mustDo(t, whole(ix))
}

// TestReadsComeBack: while nothing of the postings can be read, maintenance goes on
// asking and writers are told where; when the volume is back, Settle is all it
// takes.
func TestReadsComeBack(t *testing.T) {
	t.Parallel()
	d := fewTexts(260)
	var away atomic.Bool
	s, err := openWith(quickDir(t), Options{MemoryLimit: 64 << 20, CacheBytes: -1, Direct: "off"}, hooks{faults: func(op iopath.ReadOp) iopath.Fault {
		if away.Load() && filepath.Base(op.Path) == postingsFile {
			return iopath.Fault{Kind: iopath.FaultEIO}
		}
		return iopath.Fault{}
	}})
	mustDo(t, err)
	t.Cleanup(func() { _ = s.Close() }) // the test closes it
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows[:160])
	away.Store(true)
	model := held{}
	for i, v := range d.rows {
		model[fmt.Sprint(i)] = Record{Key: fmt.Sprint(i), Vector: v}
	}
	for i := 160; i < 260; i += 20 {
		var recs []Record
		for k := i; k < i+20; k++ {
			recs = append(recs, model[fmt.Sprint(k)])
		}
		mustDo(t, ix.Put(t.Context(), recs))
	}
	if err := ix.Settle(t.Context()); err != nil && !lasting(err) {
		t.Fatal(err)
	}
	if st := ix.Stats(); len(st.Damaged) == 0 || !strings.Contains(st.Damaged[0], ix.path(postingsFile)) {
		t.Errorf("stats while reads fail: %q, %+v", st.Damaged, st.Upkeep)
	}
	got, err := ix.Get(t.Context(), []string{"7", "259"}, Fields{Vectors: true})
	if err != nil || len(got) != 2 {
		t.Errorf("get while postings cannot be read: %d records, %v", len(got), err)
	}
	away.Store(false)
	mustDo(t, ix.Settle(t.Context()))
	if st := ix.Stats(); len(st.Damaged) > 0 || st.Upkeep.Fault != "" || st.Upkeep.DeltaEntries+st.Upkeep.Landed > 0 {
		t.Errorf("stats afterwards: %q, %+v", st.Damaged, st.Upkeep)
	}
	mustDo(t, model.same(ix, d.queries[0]))
	mustClose(t, s)
}

// TestDamageIsTriedAgain: a read that failed is tried again after a minute, then
// after two, and so on up to an hour; what is damaged on the volume is not.
func TestDamageIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d damage
		unread := &iopath.ReadError{Path: "p", Err: unix.EIO}
		d.posting(1, unread)
		d.posting(2, &CorruptionError{Path: "p", Err: errors.New("checksum")})
		d.slot(3, unread)
		if d.posting(4, context.Canceled) || d.posting(1, unread) || !d.bad(1) || !d.bad(2) || d.bad(4) {
			t.Errorf("noted %q", d.list())
		}
		for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			<-time.After(wait*time.Minute - 1)
			if p, s := d.due(time.Now()); len(p)+len(s) > 0 {
				t.Errorf("due early, after %v minutes: %v, %v", wait, p, s)
			}
			<-time.After(1)
			if p, s := d.due(time.Now()); !slices.Equal(p, []uint32{1}) || !slices.Equal(s, []uint32{3}) {
				t.Errorf("due after %v minutes: %v, %v", wait, p, s)
			}
			d.tried(1, unread)
			d.triedSlot(3, unread)
		}
		d.hasten()
		if p, s := d.due(time.Now()); len(p) != 1 || len(s) != 1 {
			t.Errorf("due at once: %v, %v", p, s)
		}
		d.tried(1, nil)
		d.triedSlot(3, nil)
		if d.bad(1) || len(d.list()) != 1 || d.anyPosting() == nil {
			t.Errorf("left: %q", d.list())
		}
	})
}
