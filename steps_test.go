package sprat

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/posting/lire"
)

// TestSteps runs the examples in testdata/steps: an index of points in the plane,
// kept so small that all of it can be seen, and its maintenance one step at a time.
//
//	create    an empty index; arguments: copies, target, split, merge, fold
//	put       points "key x y"
//	delete    keys
//	step      maintenance does one thing; prints which. With cut-off the process
//	          stops once a round has committed, before what follows from it
//	settle    steps until nothing is left
//	purge     has every dead entry taken out, step by step
//	reopen    closes the store and opens it again
//	postings  shows every posting: its centroid and members. A copy stands in
//	          parentheses, what is in the delta behind a plus
//	changes   shows the postings that are new, gone or other than last shown
//	query     the k nearest to "x y"; arguments: k
//
// After every command and every single step all keys are listed and searched for,
// and the answers have to be those of a scan, in the same order; all invariants are
// verified.
func TestSteps(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/steps", func(t *testing.T, path string) {
		p := &plane{t: t, dir: quickDir(t)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p.t = t
			out := p.run(d)
			p.look(d.Pos)
			return out
		})
	})
}

// plane is an index of points and what it should hold.
type plane struct {
	t      *testing.T
	dir    string
	s      *Store
	ix     *Index
	limits lire.Limits
	model  held
	shown  map[uint32]string
}

func (p *plane) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "create":
		p.create(d)
		return ""
	case "put":
		return p.put(d.Input)
	case "delete":
		return p.delete(strings.Fields(d.Input))
	case "step":
		if d.HasArg("cut-off") {
			return p.halfRound()
		}
		return p.step()
	case "settle":
		return p.settle(func() bool { return false })
	case "purge":
		w := &p.ix.writer.upkeep.purge
		w.asked.Add(1)
		defer w.asked.Add(-1)
		want := w.done.Load() + 1
		return p.settle(func() bool { return w.done.Load() == want })
	case "reopen":
		mustClose(p.t, p.s)
		p.open()
		return ""
	case "postings":
		p.shown = nil
		return p.changes()
	case "changes":
		return p.changes()
	case "query":
		return p.query(d)
	}
	p.t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

func (p *plane) create(d *datadriven.TestData) {
	copies := 1
	d.MaybeScanArgs(p.t, "copies", &copies)
	d.ScanArgs(p.t, "target", &p.limits.Target)
	d.ScanArgs(p.t, "split", &p.limits.Split)
	d.ScanArgs(p.t, "merge", &p.limits.Merge)
	d.ScanArgs(p.t, "fold", &p.limits.Fold)
	p.s = mustOpenByHand(p.t, p.dir, powerOptions, hooks{})
	_, err := p.s.CreateIndex(p.t.Context(), "b", "i", IndexConfig{Dimension: 2, Metric: Euclidean, PostingBytes: 4 << 10, Copies: copies})
	mustDo(p.t, err)
	mustClose(p.t, p.s)
	p.model = held{}
	p.open()
}

func (p *plane) open() {
	s, err := openByHand(p.dir, powerOptions, hooks{})
	mustDo(p.t, err)
	p.t.Cleanup(func() { _ = s.Close() }) // closed already when it was opened again
	p.s, p.ix = s, mustIndex(p.t, s, "i")
	p.ix.limits = p.limits
}

func (p *plane) put(input string) string {
	var recs []Record
	for line := range strings.Lines(input) {
		rec := Record{Vector: make([]float32, 2)}
		if n, err := fmt.Sscan(line, &rec.Key, &rec.Vector[0], &rec.Vector[1]); n != 3 {
			p.t.Fatalf("%q: %v", line, err)
		}
		rec.Metadata = fmt.Appendf(nil, `{"was":%q}`, rec.Key)
		recs, p.model[rec.Key] = append(recs, rec), rec
	}
	mustDo(p.t, p.ix.Put(p.t.Context(), recs))
	return fmt.Sprintf("%d vectors\n", p.ix.Len())
}

func (p *plane) delete(keys []string) string {
	n, err := p.ix.Delete(p.t.Context(), keys)
	mustDo(p.t, err)
	for _, key := range keys {
		delete(p.model, key)
	}
	return fmt.Sprintf("%d deleted, %d vectors\n", n, p.ix.Len())
}

func (p *plane) step() string {
	did, err := p.ix.writer.upkeep.step(p.t.Context())
	mustDo(p.t, err)
	return cmp.Or(did, "nothing to do") + "\n"
}

// settle steps until nothing is left or enough is done, and looks after each.
func (p *plane) settle(enough func() bool) string {
	var out strings.Builder
	for range 100 {
		did := p.step()
		out.WriteString(did)
		p.look(did)
		if did == "nothing to do\n" || enough() {
			return out.String()
		}
	}
	p.t.Fatalf("maintenance does not end:\n%s", out.String())
	return ""
}

// halfRound is the round of a step, up to its commit.
func (p *plane) halfRound() string {
	u := p.ix.writer.upkeep
	id, _, _ := u.queue.Pop()
	r := &round{u: u, v: p.ix.acquire()}
	defer r.v.release()
	ctx := context.Background()
	for _, do := range []func() error{
		func() error { return r.read(ctx, []uint32{id}) }, func() error { return r.prepare(ctx) }, r.write, func() error { return r.commit(ctx) },
	} {
		mustDo(p.t, do())
	}
	r.giveBack()
	return r.summary() + ", and no more\n"
}

// look compares the index with what it should hold.
func (p *plane) look(when string) {
	p.t.Helper()
	probes := [][]float32{{0, 0}, {3, 4}, {20, 5}, {-7, 9}}
	for _, key := range p.model.sortedKeys() {
		probes = append(probes, p.model[key].Vector)
	}
	if err := p.model.same(p.ix, probes[:min(len(probes), 6)]...); err != nil {
		p.t.Fatalf("%s: %v", when, err)
	}
}

func (p *plane) query(d *datadriven.TestData) string {
	k, q := 1, make([]float32, 2)
	d.MaybeScanArgs(p.t, "k", &k)
	if _, err := fmt.Sscan(d.Input, &q[0], &q[1]); err != nil {
		p.t.Fatalf("%s: %v", d.Pos, err)
	}
	res, err := p.ix.Query(p.t.Context(), q, k, everything)
	mustDo(p.t, err)
	var out strings.Builder
	for _, m := range res.Matches {
		fmt.Fprintf(&out, "%s %.3g\n", m.Key, m.Distance)
	}
	fmt.Fprintf(&out, "%d postings read\n", res.Work.PostingReads)
	return out.String()
}

// changes shows the postings that differ from what was last shown.
func (p *plane) changes() string {
	now := p.postings()
	var out strings.Builder
	ids := map[uint32]bool{}
	for id := range p.shown {
		ids[id] = true
	}
	for id := range now {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		switch was, is := p.shown[id], now[id]; {
		case is == "":
			fmt.Fprintf(&out, "%d gone\n", id)
		case was != is:
			fmt.Fprintf(&out, "%d %s\n", id, is)
		}
	}
	if p.shown = now; out.Len() == 0 {
		return "none\n"
	}
	return out.String()
}

// postings describes every posting.
func (p *plane) postings() map[uint32]string {
	v := p.ix.acquire()
	defer v.release()
	names := p.names()
	out := map[uint32]string{}
	mustDo(p.t, p.ix.eachPosting(p.t.Context(), v, v.postingIDs(), func(id uint32, view *posting.View) error {
		row := v.postings.At(int(id))
		var members []string
		dead := 0
		add := func(e posting.Entry, plus string) {
			name, format := names[e.Slot], "%s%s"
			if !e.Primary {
				format = "%s(%s)"
			}
			if !v.alive(e.Slot, e.Generation) {
				dead++
				return
			}
			members = append(members, fmt.Sprintf(format, plus, name))
		}
		for i := range view.N {
			add(view.Entry(i), "")
		}
		slices.Sort(members)
		for i := range row.delta.Len() {
			add(row.delta.Entry(i), "+")
		}
		out[id] = fmt.Sprintf("at %s: %s", p.where(v, id), cmp.Or(strings.Join(members, " "), "nothing"))
		if dead > 0 {
			out[id] += fmt.Sprintf("; %d dead", dead)
		}
		for flag, word := range map[postingFlags]string{draining: "draining", unchecked: "unchecked"} {
			if row.flags&flag != 0 {
				out[id] += "; " + word
			}
		}
		return nil
	}))
	return out
}

// names are the keys by slot.
func (p *plane) names() map[uint32]string {
	names := map[uint32]string{}
	for key := range p.model {
		at, err := p.s.catalog.Placement(p.ix.row.ID, []byte(key))
		mustDo(p.t, err)
		names[at.Slot] = key
	}
	return names
}

// where is a centroid in the plane: the index has it moved and rotated.
func (p *plane) where(v *version, id uint32) string {
	d := p.ix.layout.D
	in := func(x, y float32) []float32 {
		out := make([]float32, d)
		v.space.data(out, []float32{x, y}, v.space.inner())
		return out
	}
	origin, c := in(0, 0), make([]float32, d)
	row, _ := v.set.Row(id)
	v.set.Decode(row, c)
	along := func(axis []float32) float64 {
		var dot, norm float64
		for i := range axis {
			a := float64(axis[i] - origin[i])
			dot, norm = dot+a*float64(c[i]-origin[i]), norm+a*a
		}
		return dot/norm + 0.001 // no -0.0
	}
	return fmt.Sprintf("(%.1f, %.1f)", along(in(1, 0)), along(in(0, 1)))
}
