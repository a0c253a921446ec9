package centroids

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// change is one random change of a set whose ids are those of have.
type change struct {
	add    *Builder
	remove []uint32
}

func drawChange(t *rapid.T, have map[uint32]entry, next *uint32, dim int) change {
	b, err := NewBuilder(dim, 8)
	if err != nil {
		t.Fatal(err)
	}
	c := change{add: b}
	ids := slices.Sorted(maps.Keys(have))
	if len(ids) > 0 {
		c.remove = rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2*len(ids)/3).Draw(t, "remove")
	}
	vectors := gaussians(rapid.IntRange(0, 300).Draw(t, "add"), dim, rapid.Uint64().Draw(t, "seed"))
	for i := range len(vectors) / dim {
		id := *next
		if len(c.remove) > i && i%2 == 0 && !slices.Contains(c.remove[:i], c.remove[i]) {
			id = c.remove[i] // remove and add again
		} else {
			*next++
		}
		if err := b.Add(id, vectors[i*dim:][:dim]); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// apply applies c to the model.
func (c change) apply(model map[uint32]entry) map[uint32]entry {
	model = maps.Clone(model)
	for _, id := range c.remove {
		delete(model, id)
	}
	size := c.add.coder.CodeSize()
	for _, b := range c.add.blocks {
		for i, id := range b.ids {
			model[id] = entry{string(b.codes[i*size:][:size]), b.scale[i], b.normSq[i]}
		}
	}
	return model
}

// edit is With for grouped sets of any size.
func edit(s *Set, c change) (*Set, error) {
	if s.supers == nil {
		return s.With(c.add, c.remove...)
	}
	holes, err := s.locate(c.add, c.remove)
	if err != nil {
		return nil, err
	}
	return s.editGroups(c.add, holes)
}

// checkSet compares s with a fresh set of the model.
func checkSet(t *rapid.T, s *Set, model map[uint32]entry, dim int) {
	if got := contents(s); s.Len() != len(model) || !maps.Equal(got, model) {
		t.Fatalf("%d centroids, want %d, or wrong ones", s.Len(), len(model))
	}
	b, err := NewBuilder(dim, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.Sorted(maps.Keys(model)) {
		e := model[id]
		if err := b.AddCode(id, []byte(e.code), e.scale, e.normSq); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	q, ws := query(gaussians(1, dim, 99)), new(Workspace)
	want, got := fresh.Nearest(nil, q, s.Len(), ws), s.Nearest(nil, q, s.Len(), ws)
	for i := range want {
		if got[i].ID != want[i].ID || got[i].DistSq != want[i].DistSq || s.ID(got[i].Row) != got[i].ID {
			t.Fatalf("place %d: %v, a fresh set has %v", i, got[i], want[i])
		}
	}
	for at, b := range s.blocks {
		if n := len(b.ids); n == 0 || n != int(s.start[at+1]-s.start[at]) || n != cap(b.ids) {
			t.Fatalf("block %d has %d rows of %d, starts %v", at, n, cap(b.ids), s.start)
		}
		if s.supers == nil && at < len(s.blocks)-1 && len(b.ids) != blockRows {
			t.Fatalf("block %d of %d has %d rows", at, len(s.blocks), len(b.ids))
		}
	}
	if s.supers != nil && s.supers.Len() != len(s.blocks) {
		t.Fatalf("%d centres of %d groups", s.supers.Len(), len(s.blocks))
	}
}

func TestWithEqualsFreshBuild(t *testing.T) {
	const dim = 8
	rapid.Check(t, func(t *rapid.T) {
		start := gaussians(rapid.SampledFrom([]int{0, 1, 200, blockRows, 2*blockRows + 50}).Draw(t, "start"), dim, 3)
		b, err := NewBuilder(dim, 8)
		if err != nil {
			t.Fatal(err)
		}
		next := uint32(0)
		for ; int(next) < len(start)/dim; next++ {
			if err := b.Add(next, start[int(next)*dim:][:dim]); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Set()
		if err == nil && s.Len() > 0 && rapid.Bool().Draw(t, "grouped") {
			s, err = group(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		model := contents(s)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			c := drawChange(t, model, &next, dim)
			before := s
			if s, err = edit(s, c); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(contents(before), model) {
				t.Fatal("the receiver changed")
			}
			model = c.apply(model)
			checkSet(t, s, model, dim)
		}
	})
}

func TestWithSharesBlocks(t *testing.T) {
	s := build(t, gaussians(3*blockRows, 8, 1), 8, 8, 0)
	split, err := s.With(builder(t, gaussians(2, 8, 2), 8, 8, 9000), 1500)
	if err != nil {
		t.Fatal(err)
	}
	if split.blocks[0] != s.blocks[0] || split.blocks[2] != s.blocks[2] || split.blocks[1] == s.blocks[1] {
		t.Error("a change of one row copied other blocks, or not its own")
	}
	if split.ID(1500) != 9000 || split.ID(3*blockRows) != 9001 {
		t.Errorf("the halves are in rows with ids %d and %d", split.ID(1500), split.ID(3*blockRows))
	}
	g := grouped(t, s)
	moved, err := edit(g, change{builder(t, gaussians(1, 8, 2), 8, 8, 9000), []uint32{1500}})
	if err != nil {
		t.Fatal(err)
	}
	copied := 0
	for at, b := range moved.blocks {
		if b != g.blocks[at] {
			copied++
		}
	}
	if copied < 1 || copied > 2 || moved.supers != g.supers {
		t.Errorf("%d groups copied", copied)
	}
}

func TestWithCutsALargeGroup(t *testing.T) {
	const dim = 8
	s := build(t, gaussians(2000, dim, 1), dim, 8, 0)
	g := grouped(t, s)
	var crowd []float32 // around one point
	for i, x := range gaussians(300, dim, 2) {
		crowd = append(crowd, 20+x/10+float32(i%dim))
	}
	full, err := edit(g, change{builder(t, crowd, dim, 8, 5000), nil})
	if err != nil {
		t.Fatal(err)
	}
	for at, b := range full.blocks {
		if len(b.ids) > groupLimit {
			t.Errorf("group %d has %d rows", at, len(b.ids))
		}
	}
	if len(full.blocks) < len(g.blocks)+5 {
		t.Errorf("%d groups, %d before", len(full.blocks), len(g.blocks))
	}
	equal, err := edit(g, change{builder(t, slices.Repeat(crowd[:dim], 300), dim, 8, 5000), nil})
	if err != nil || equal.Len() != 2300 {
		t.Errorf("300 equal centroids: %v, %v", equal, err)
	}
}

func TestWithDropsAnEmptyGroup(t *testing.T) {
	g := grouped(t, build(t, gaussians(2000, 8, 1), 8, 8, 0))
	gone := g.blocks[7]
	less, err := edit(g, change{newBuilder(g.coder), gone.ids})
	if err != nil {
		t.Fatal(err)
	}
	if len(less.blocks) != len(g.blocks)-1 || slices.Contains(less.blocks, gone) || less.supers.Len() != len(less.blocks) {
		t.Errorf("%v after dropping a group of %v", less, g)
	}
	for at, b := range less.blocks {
		was := slices.Index(g.blocks, b)
		have, _, _ := less.supers.Code(int32(at))
		want, _, _ := g.supers.Code(int32(was))
		if !slices.Equal(have, want) {
			t.Errorf("group %d, before %d, has another centre", at, was)
		}
	}
}

func TestWithGroupsAboveTheLimitOnly(t *testing.T) {
	const dim = 8
	s := build(t, gaussians(exactRows, dim, 1), dim, 8, 0)
	if s.supers != nil {
		t.Fatal("20,000 rows are grouped")
	}
	above, err := s.With(builder(t, gaussians(1, dim, 2), dim, 8, 50_000))
	if err != nil || above.supers == nil || above.Len() != exactRows+1 {
		t.Fatalf("20,001 rows: %v, %v", above, err)
	}
	remove := make([]uint32, 0, exactRows)
	for id := range uint32(flatBelow) {
		remove = append(remove, id)
	}
	still, err := above.With(nil, remove...)
	if err != nil || still.supers == nil || still.Len() != flatBelow+1 {
		t.Fatalf("10,001 rows: %v, %v", still, err)
	}
	below, err := still.With(nil, 50_000, flatBelow)
	if err != nil || below.supers != nil || below.Len() != flatBelow-1 {
		t.Fatalf("9,999 rows: %v, %v", below, err)
	}
	for id := uint32(flatBelow + 1); id < exactRows; id += 997 {
		if _, ok := below.Row(id); !ok {
			t.Errorf("id %d is gone", id)
		}
	}
}

func TestWithErrors(t *testing.T) {
	s := build(t, gaussians(10, 8, 1), 8, 8, 0)
	two := builder(t, gaussians(2, 8, 1), 8, 8, 9)
	twice := builder(t, gaussians(1, 8, 1), 8, 8, 77)
	if err := twice.Add(77, make([]float32, 8)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		add    *Builder
		remove []uint32
		want   error
	}{
		{"unknown id", nil, []uint32{10}, ErrUnknownID},
		{"id is there", two, nil, ErrDuplicateID},
		{"id is there and another removed", two, []uint32{3}, ErrDuplicateID},
		{"id twice", twice, nil, ErrDuplicateID},
		{"other bits", builder(t, gaussians(1, 8, 1), 8, 4, 50), nil, ErrShape},
		{"other dimension", builder(t, gaussians(1, 16, 1), 16, 8, 50), nil, ErrShape},
		{"id removed and added", two, []uint32{9, 9}, nil},
		{"nothing", nil, nil, nil},
	} {
		got, err := s.With(c.add, c.remove...)
		if !errors.Is(err, c.want) || (err == nil) != (got != nil) {
			t.Errorf("%s: %v, error %v, want %v", c.name, got, err, c.want)
		}
	}
	if s.Len() != 10 || two.Len() != 2 {
		t.Errorf("%d rows, %d in the builder", s.Len(), two.Len())
	}
}

// TestReadersDuringWith is for the race detector: sets are searched while others
// are made of them.
func TestReadersDuringWith(t *testing.T) {
	const dim, readers, changes = 16, 4, 60
	flat := build(t, gaussians(2000, dim, 1), dim, 8, 0)
	for _, s := range []*Set{flat, grouped(t, flat)} {
		published := make(chan *Set, changes)
		var wg sync.WaitGroup
		for r := range readers {
			wg.Go(func() {
				ws, q := new(Workspace), query(gaussians(1, dim, uint64(r)))
				var near, chosen []Neighbor
				for set := range published {
					for _, set := range []*Set{s, set} {
						near = set.Nearest(near, q, 40, ws)
						chosen = set.Route(chosen, q.Vector(), near, 4, RouteLambda, ws)
						if len(near) != 40 || len(chosen) != 4 || set.ID(near[0].Row) != near[0].ID {
							t.Errorf("search of %v gave %d, %d", set, len(near), len(chosen))
						}
					}
				}
			})
		}
		last := s
		for i := range uint32(changes) {
			b := builder(t, gaussians(2, dim, uint64(i)), dim, 8, 10_000+2*i)
			next, err := edit(last, change{b, []uint32{i}})
			if err != nil {
				t.Fatal(err)
			}
			published <- next
			last = next
		}
		close(published)
		wg.Wait()
		if last.Len() != 2000+changes {
			t.Errorf("%v after %d splits", last, changes)
		}
	}
}
