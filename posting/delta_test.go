package posting

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/rq"
)

// stored returns the entry as a posting or a delta keeps it.
func stored(e Entry) Entry {
	e.Factors.Error = rq.BF16(rq.PutBF16Up(e.Factors.Error))
	e.Code = slices.Clone(e.Code)
	return e
}

// checkDelta compares a delta with the entries that it should hold.
func checkDelta(t interface{ Fatalf(string, ...any) }, d Delta, want []Entry) {
	if d.Len() != len(want) {
		t.Fatalf("%d entries, want %d", d.Len(), len(want))
	}
	for i, e := range want {
		e = stored(e)
		if got := d.Entry(i); !reflect.DeepEqual(got, e) {
			t.Fatalf("entry %d is %+v, want %+v", i, got, e)
		}
		if d.Slot(i) != e.Slot || d.Generation(i) != e.Generation || d.Primary(i) != e.Primary {
			t.Fatalf("entry %d: slot %d, generation %d, primary %v", i, d.Slot(i), d.Generation(i), d.Primary(i))
		}
	}
}

// TestDeltaModel: every value ever made keeps the entries it was made with, also
// when an older one is appended to.
func TestDeltaModel(t *testing.T) {
	f := makeFixture(t, 64, 2, 40, 1)
	rapid.Check(t, func(rt *rapid.T) {
		type version struct {
			d    Delta
			want []Entry
		}
		versions := []version{{}}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			v := versions[len(versions)-1]
			if rapid.IntRange(0, 5).Draw(rt, "old") == 0 {
				v = versions[rapid.IntRange(0, len(versions)-1).Draw(rt, "version")]
			}
			if rapid.IntRange(0, 4).Draw(rt, "fold") == 0 {
				n := rapid.IntRange(0, v.d.Len()).Draw(rt, "from")
				v = version{v.d.From(n), v.want[n:]}
			} else {
				lo := rapid.IntRange(0, 40).Draw(rt, "lo")
				add := f.entries[lo:rapid.IntRange(lo, min(40, lo+12)).Draw(rt, "hi")]
				v = version{v.d.Append(&f.layout, add), append(slices.Clone(v.want), add...)}
			}
			versions = append(versions, v)
		}
		for _, v := range versions {
			checkDelta(rt, v.d, v.want)
		}
	})
}

// TestDeltaScansAsItsFold: an entry has one estimate, in the delta and after it
// was folded into an extent.
func TestDeltaScansAsItsFold(t *testing.T) {
	for _, bits := range []int{1, 3, 8} {
		f := makeFixture(t, 128, bits, 90, 1)
		v, err := f.layout.Parse(f.extent, 1)
		if err != nil {
			t.Fatal(err)
		}
		d := Delta{}.Append(&f.layout, f.entries[:50]).Append(&f.layout, f.entries[50:])
		var q rq.Query
		q.Reset(gaussian(rand.New(rand.NewPCG(1, 1)), 128))
		qc2 := distSq(q.Vector(), f.centroid)
		var s Scanner
		all := s.Scan(nil, &f.layout, &v, &q, qc2, 1, float32(math.Inf(1)))
		limit := all[3].Est
		for _, limit := range []float32{limit, float32(math.Inf(1))} {
			want := s.Scan(nil, &f.layout, &v, &q, qc2, 1, limit)
			got := s.ScanDelta(nil, &f.layout, d, &q, qc2, 1, limit)
			bySlot := func(a, b Hit) int { return int(a.Slot) - int(b.Slot) }
			slices.SortFunc(want, bySlot)
			slices.SortFunc(got, bySlot)
			if !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("%d bits: %d hits in the delta, %d in the extent, or others", bits, len(got), len(want))
			}
			for _, h := range got {
				if h.Generation != f.entries[(h.Slot-1)/3].Generation {
					t.Errorf("slot %d has generation %d", h.Slot, h.Generation)
				}
			}
		}
		if n := testing.AllocsPerRun(20, func() { all = s.ScanDelta(all[:0], &f.layout, d, &q, qc2, 1, limit) }); n != 0 {
			t.Errorf("a warm scan allocates %v times", n)
		}
	}
}

// TestDeltaFold: the entries of an extent and its delta, built anew, are the same
// entries.
func TestDeltaFold(t *testing.T) {
	f := makeFixture(t, 64, 2, 20, 1)
	d := Delta{}.Append(&f.layout, f.entries)
	b := NewBuilder(f.layout)
	for i := range d.Len() {
		b.Add(d.Entry(i))
	}
	again, used := b.Encode(1, Centroid{Code: make([]byte, 64)})
	v, err := f.layout.Parse(again[:used], 1)
	if err != nil {
		t.Fatal(err)
	}
	old, err := f.layout.Parse(f.extent, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.N {
		if got, want := v.Entry(i), old.Entry(i); !reflect.DeepEqual(got, want) {
			t.Errorf("entry %d is %+v, want %+v", i, got, want)
		}
	}
}

func TestDeltaMemory(t *testing.T) {
	f := makeFixture(t, 64, 2, 40, 1)
	if n := unsafe.Sizeof(Delta{}); n > 16 {
		t.Errorf("a delta takes %d bytes of a table", n)
	}
	entry := int64(deltaEntryBytes + f.layout.CodeSize())
	var d Delta
	if d.MemoryBytes() != 0 {
		t.Error("an empty delta holds memory")
	}
	var rooms []int64
	for i := range 40 {
		d = d.Append(&f.layout, f.entries[i:i+1])
		room := (d.MemoryBytes() - int64(unsafe.Sizeof(deltaBlock{}))) / entry
		if len(rooms) == 0 || rooms[len(rooms)-1] != room {
			rooms = append(rooms, room)
		}
	}
	if !slices.Equal(rooms, []int64{8, 16, 32, 64}) {
		t.Errorf("grows to %v entries", rooms)
	}
	if got := d.From(37).MemoryBytes() - int64(unsafe.Sizeof(deltaBlock{})); got != 3*entry {
		t.Errorf("3 entries take %d bytes, want %d", got, 3*entry)
	}
	if got := d.From(40); got != (Delta{}) {
		t.Errorf("what is left of a whole fold is %v", got)
	}
}

// TestDeltaReaders: readers of published values need no lock while the writer
// appends. The race detector is what can fail here.
func TestDeltaReaders(t *testing.T) {
	f := makeFixture(t, 64, 2, 40, 1)
	var published atomic.Pointer[Delta]
	published.Store(&Delta{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var q rq.Query
			q.Reset(f.vectors[0])
			var s Scanner
			var hits []Hit
			for {
				select {
				case <-stop:
					return
				default:
				}
				d := *published.Load()
				hits = s.ScanDelta(hits[:0], &f.layout, d, &q, 1, 1, float32(math.Inf(1)))
				if len(hits) != d.Len() {
					t.Errorf("%d hits of %d entries", len(hits), d.Len())
					return
				}
				for i := range d.Len() {
					if e := d.Entry(i); e.Slot != d.Slot(i) || int(e.Generation) != int(d.Generation(i)) {
						t.Errorf("entry %d is torn", i)
						return
					}
				}
			}
		})
	}
	var d Delta
	for i := range 2000 {
		if i%200 == 199 {
			d = d.From(d.Len() - 3)
		} else {
			at := i % 39
			d = d.Append(&f.layout, f.entries[at:at+2])
		}
		v := d
		published.Store(&v)
	}
	close(stop)
	wg.Wait()
}

func BenchmarkScanDelta(b *testing.B) {
	f := makeFixture(b, 768, 1, 64, 1)
	d := Delta{}.Append(&f.layout, f.entries)
	var q rq.Query
	q.Reset(f.vectors[0])
	qc2 := distSq(f.vectors[0], f.centroid)
	var s Scanner
	var hits []Hit
	b.ReportAllocs()
	for b.Loop() {
		hits = s.ScanDelta(hits[:0], &f.layout, d, &q, qc2, 1.5, qc2/8)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*d.Len()), "ns/entry")
}
