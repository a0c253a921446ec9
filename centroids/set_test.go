package centroids

import (
	"errors"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

func TestSetHoldsWhatWasAdded(t *testing.T) {
	sample, dim := words(t)
	for _, bits := range []int{4, 8} {
		s := build(t, sample, dim, bits, 100)
		if s.Len() != 2000 || s.Dim() != dim || s.Bits() != bits {
			t.Fatalf("set %v", s)
		}
		coder, err := rq.NewCentroidCoder(dim, bits)
		if err != nil {
			t.Fatal(err)
		}
		code, want, got := make([]byte, coder.CodeSize()), make([]float32, dim), make([]float32, dim)
		for row := range int32(s.Len()) {
			scale, normSq := coder.EncodeParts(code, sample[int(row)*dim:][:dim])
			coder.DecodeParts(want, code, scale)
			haveCode, haveScale, haveNorm := s.Code(row)
			if s.ID(row) != 100+uint32(row) || !slices.Equal(haveCode, code) || haveScale != scale || haveNorm != normSq {
				t.Fatalf("row %d holds other parts than the coder made", row)
			}
			if s.Decode(row, got); !slices.Equal(got, want) {
				t.Fatalf("row %d decodes to %v, want %v", row, got, want)
			}
		}
		if row, ok := s.Row(1500); !ok || row != 1400 {
			t.Errorf("id 1500 is in row %d, %v", row, ok)
		}
		if _, ok := s.Row(99); ok {
			t.Error("id 99 is found")
		}
	}
}

func TestSetFromItsOwnParts(t *testing.T) {
	sample, dim := words(t)
	s := build(t, sample, dim, 4, 0)
	for _, from := range []*Set{s, grouped(t, s)} {
		b, err := NewBuilder(dim, 4)
		if err != nil {
			t.Fatal(err)
		}
		for row := range int32(from.Len()) {
			code, scale, normSq := from.Code(row)
			if err := b.AddCode(from.ID(row), code, scale, normSq); err != nil {
				t.Fatal(err)
			}
		}
		again, err := b.Set()
		if err != nil {
			t.Fatal(err)
		}
		if !equalContents(again, s) {
			t.Errorf("set from the parts of %v differs", from)
		}
	}
}

func TestGroupedSetHasAllRowsNearTheirCentres(t *testing.T) {
	sample, dim := words(t)
	s := build(t, sample, dim, 8, 0)
	g := grouped(t, s)
	if !equalContents(g, s) {
		t.Fatal("grouping changed the contents")
	}
	if len(g.blocks) < 2000/groupRows/2 || len(g.blocks) != g.supers.Len() {
		t.Fatalf("%v with %d centres", g, g.supers.Len())
	}
	v, near, centre := make([]float32, dim), float32(0), make([]float32, dim)
	wrong := 0
	for at := range g.blocks {
		g.supers.Decode(int32(at), centre)
		for row := g.start[at]; row < g.start[at+1]; row++ {
			g.Decode(row, v)
			near = simd.L2F32(v, centre)
			if best := g.supers.Nearest(nil, query(v), 1, new(Workspace))[0]; best.DistSq < near*0.999 {
				wrong++
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d rows are not in the group of their nearest centre", wrong)
	}
}

func TestGroupingOfVectorsTooLongToSquare(t *testing.T) {
	vectors := gaussians(100, 8, 1)
	for i := range vectors {
		vectors[i] *= 1e30
	}
	s := build(t, vectors, 8, 8, 0)
	if g := grouped(t, s); !equalContents(g, s) || len(g.blocks) != 1 {
		t.Errorf("grouped as %v", g)
	}
}

func equalContents(a, b *Set) bool {
	ca, cb := contents(a), contents(b)
	if len(ca) != len(cb) || len(ca) != a.Len() {
		return false
	}
	for id, e := range ca {
		if cb[id] != e {
			return false
		}
	}
	return true
}

func TestBuilderErrors(t *testing.T) {
	if _, err := NewBuilder(12, 8); !errors.Is(err, rq.ErrDimension) {
		t.Errorf("12 dimensions: %v", err)
	}
	if _, err := NewBuilder(16, 5); !errors.Is(err, rq.ErrBits) {
		t.Errorf("5 bits: %v", err)
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	b := builder(t, make([]float32, 16), 16, 8, 1)
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"short vector", b.Add(2, make([]float32, 8)), ErrShape},
		{"NaN", b.Add(2, append(make([]float32, 15), nan)), ErrNotFinite},
		{"Inf", b.Add(2, append(make([]float32, 15), inf)), ErrNotFinite},
		{"short code", b.AddCode(2, make([]byte, 15), 1, 1), ErrShape},
		{"negative scale", b.AddCode(2, make([]byte, 16), -1, 1), ErrCorrupt},
		{"NaN scale", b.AddCode(2, make([]byte, 16), nan, 1), ErrCorrupt},
		{"scale that decodes to Inf", b.AddCode(2, make([]byte, 16), 1e37, 1), ErrCorrupt},
		{"NaN norm", b.AddCode(2, make([]byte, 16), 1, nan), ErrCorrupt},
		{"Inf norm", b.AddCode(2, make([]byte, 16), 1, inf), ErrCorrupt},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, c.err, c.want)
		}
	}
	if b.Len() != 1 {
		t.Errorf("%d centroids after errors, want 1", b.Len())
	}
	if err := b.Add(1, make([]float32, 16)); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Set(); !errors.Is(err, ErrDuplicateID) || s != nil || b.Len() != 2 {
		t.Errorf("id 1 twice: %v, %v, %d left", s, err, b.Len())
	}
}

func TestBuilderIsEmptyAfterSet(t *testing.T) {
	b := builder(t, gaussians(1500, 8, 1), 8, 8, 0)
	first, err := b.Set()
	if err != nil || b.Len() != 0 {
		t.Fatalf("%v, %d left", err, b.Len())
	}
	if err := b.Add(9, make([]float32, 8)); err != nil {
		t.Fatal(err)
	}
	second, err := b.Set()
	if err != nil || second.Len() != 1 || first.Len() != 1500 {
		t.Errorf("%v, sets %v and %v", err, first, second)
	}
}

func TestMemoryBytes(t *testing.T) {
	header := int64(unsafe.Sizeof(Set{}))
	for _, c := range []struct{ rows, dim, bits int }{{0, 8, 8}, {1, 64, 8}, {1024, 64, 8}, {1025, 64, 4}, {5000, 16, 4}} {
		s := build(t, gaussians(c.rows, c.dim, 1), c.dim, c.bits, 0)
		blocks := int64(c.rows+blockRows-1) / blockRows
		want := header + 4 + blocks*108 + int64(c.rows*(12+c.dim*c.bits/8))
		if got := s.MemoryBytes(); got != want {
			t.Errorf("%v: %d bytes, want %d", s, got, want)
		}
	}
	s := build(t, gaussians(5000, 64, 1), 64, 8, 0)
	g := grouped(t, s)
	if more := float64(g.MemoryBytes()-s.MemoryBytes()) / 5000; more > 1.5*(64/32+4) {
		t.Errorf("groups take %.1f bytes a row", more)
	}
}
