package rescore

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func anyCandidate(*Candidate) bool { return true }

// checkPlan: every picked candidate is served by exactly one read that covers
// its record, no read is longer than an operation allows.
func checkPlan(t testing.TB, p *Planner, cands []Candidate, reads []Read, pick func(*Candidate) bool) {
	served := make([]int, len(cands))
	for _, r := range reads {
		if r.Len > MaxReadBytes || r.First >= r.Last {
			t.Fatalf("read %+v", r)
		}
		s := p.Records.Stride
		if r.Refine {
			s = p.Refine.Stride
		}
		for i := r.First; i < r.Last; i++ {
			at := p.Order(i)
			served[at]++
			off := s.Offset(cands[at].Slot)
			if off < r.Off || off+int64(s.Bytes) > r.Off+int64(r.Len) {
				t.Fatalf("read %+v does not cover slot %d", r, cands[at].Slot)
			}
		}
	}
	for i := range cands {
		want := 0
		if pick(&cands[i]) {
			want = 1
		}
		if served[i] != want {
			t.Fatalf("candidate %d is served %d times, want %d", i, served[i], want)
		}
	}
}

func TestPlansServeEveryCandidateOnce(t *testing.T) {
	rl := mustRefine(t, 768)
	rapid.Check(t, func(rt *rapid.T) {
		p := &Planner{Records: NewRecordLayout(768, 16, 0), Balance: DefaultBalance}
		if rapid.Bool().Draw(rt, "refine tier") {
			p.Refine = &rl
		}
		slots := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 3000), 1, 200, rapid.ID[uint32]).Draw(rt, "slots")
		cands := make([]Candidate, len(slots))
		for i, s := range slots {
			cands[i] = Candidate{Slot: s, Dist: rapid.Float32Range(0, 2).Draw(rt, "dist"), Sigma: 0.1}
		}
		pick := func(c *Candidate) bool { return c.Dist < 1.5 }
		checkPlan(t, p, cands, p.PlanWave(cands, 1, pick), pick)
		checkPlan(t, p, cands, p.PlanRecords(cands, pick), pick)
	})
}

// TestCoalescing: neighbours share a read exactly while the gap costs less than
// an operation.
func TestCoalescing(t *testing.T) {
	p := &Planner{Records: NewRecordLayout(768, 16, 0), Balance: DefaultBalance}
	gapSlots := uint32(DefaultBalance / p.Records.Bytes)
	for _, c := range []struct {
		slots []uint32
		reads int
	}{
		{[]uint32{5}, 1},
		{[]uint32{5, 6, 7}, 1},
		{[]uint32{7, 5 + gapSlots, 5}, 1},
		{[]uint32{5, 5 + gapSlots + 2}, 2},
		{[]uint32{0, 20, 40, 60, 80, 100, 120}, 7},
	} {
		cands := make([]Candidate, len(c.slots))
		for i, s := range c.slots {
			cands[i].Slot = s
		}
		if got := p.PlanRecords(cands, anyCandidate); len(got) != c.reads {
			t.Errorf("slots %v: %d reads %+v, want %d", c.slots, len(got), got, c.reads)
		}
	}
}

// TestTierChoice: a candidate alone, or sure to be in the answer, is read from
// its vector record at once; many doubtful ones that one refine read serves are
// refined first.
func TestTierChoice(t *testing.T) {
	rl := mustRefine(t, 768)
	p := &Planner{Records: NewRecordLayout(768, 16, 0), Refine: &rl, Balance: DefaultBalance}
	doubtful := func(slot uint32) Candidate { return Candidate{Slot: slot, Dist: 1.2, Sigma: 0.15} }
	sure := func(slot uint32) Candidate { return Candidate{Slot: slot, Dist: 0.5, Sigma: 0.05} }
	for _, c := range []struct {
		name   string
		cands  []Candidate
		refine bool
	}{
		{"one doubtful", []Candidate{doubtful(10)}, false},
		{"one sure", []Candidate{sure(10)}, false},
		{"four doubtful, far apart", []Candidate{doubtful(0), doubtful(20), doubtful(40), doubtful(60)}, true},
		{"four sure, far apart", []Candidate{sure(0), sure(20), sure(40), sure(60)}, false},
		{"four doubtful, together", []Candidate{doubtful(0), doubtful(1), doubtful(2), doubtful(3)}, false},
	} {
		reads := p.PlanWave(c.cands, 1, anyCandidate)
		if got := reads[0].Refine; got != c.refine {
			t.Errorf("%s: refined first %v, want %v (%+v)", c.name, got, c.refine, reads)
		}
	}
}

func TestBestKeepsTheNearest(t *testing.T) {
	p := &Planner{Records: NewRecordLayout(768, 16, 0), Balance: DefaultBalance}
	cands := []Candidate{{Slot: 0, Dist: 3}, {Slot: 100, Dist: 1}, {Slot: 200, Dist: 2}}
	reads := p.Best(cands, p.PlanRecords(cands, anyCandidate), 2)
	if len(reads) != 2 || cands[p.Order(reads[0].First)].Slot != 100 || cands[p.Order(reads[1].First)].Slot != 200 {
		t.Errorf("reads %+v", reads)
	}
}

// TestCandidatesAgainstAMap: the set holds every slot once, and its limit is
// the k-th smallest distance.
func TestCandidatesAgainstAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var c Candidates
		for range rapid.IntRange(1, 3).Draw(rt, "queries") {
			k := rapid.IntRange(1, 30).Draw(rt, "k")
			c.Reset(k)
			seen := map[uint32]bool{}
			for range rapid.IntRange(0, 3000).Draw(rt, "adds") {
				slot := rapid.Uint32Range(0, 2000).Draw(rt, "slot")
				c.Add(slot, rapid.Float32Range(0, 10).Draw(rt, "est"), 0.1)
				seen[slot] = true
			}
			if c.Len() != len(seen) {
				rt.Fatalf("%d candidates, want %d", c.Len(), len(seen))
			}
			var all []float32
			for _, e := range c.All() {
				if !seen[e.Slot] {
					rt.Fatalf("slot %d twice or never added", e.Slot)
				}
				delete(seen, e.Slot)
				all = append(all, e.Dist)
			}
			slices.Sort(all)
			limit := c.Settle()
			if len(all) < k && !math.IsInf(float64(limit), 1) || len(all) >= k && limit != all[k-1] {
				rt.Fatalf("limit %v of %d candidates, k %d", limit, len(all), k)
			}
			c.Prune(1)
			for _, e := range c.All() {
				if e.Lower(1) > limit {
					rt.Fatalf("%+v survives limit %v", e, limit)
				}
			}
			c.Cut(k)
			if len(all) >= k && (c.Len() != k || c.Settle() != limit) {
				rt.Fatalf("cut to %d leaves %d, limit %v", k, c.Len(), c.Settle())
			}
		}
	})
}

// TestRepeatedEstimatesCombine: estimates of one slot from several postings
// become one that is surer than each.
func TestRepeatedEstimatesCombine(t *testing.T) {
	var c Candidates
	c.Reset(1)
	c.Add(4, 1, 0.2)
	c.Add(4, 2, 0.2)
	e := c.All()[0]
	if e.Dist != 1.5 || e.Sigma >= 0.2 || e.Sigma < 0.2/math.Sqrt2 {
		t.Errorf("combined %+v", e)
	}
	c.Add(4, 3, 0) // exact
	if e := c.All()[0]; e.Dist != 3 || e.Sigma != 0 {
		t.Errorf("an exact estimate does not win: %+v", e)
	}
}

func TestSelectKth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n < 200; n++ {
		a := make([]float32, n)
		for i := range a {
			a[i] = float32(rng.IntN(n)) // with ties
		}
		sorted := slices.Sorted(slices.Values(a))
		for _, k := range []int{1, (n + 1) / 2, n} {
			if got := selectKth(slices.Clone(a), k); got != sorted[k-1] {
				t.Fatalf("n %d, k %d: %v, want %v", n, k, got, sorted[k-1])
			}
		}
	}
}

func BenchmarkPlanWave(b *testing.B) {
	rl := mustRefine(b, 768)
	p := &Planner{Records: NewRecordLayout(768, 16, 0), Refine: &rl, Balance: DefaultBalance}
	rng := rand.New(rand.NewPCG(1, 2))
	cands := make([]Candidate, 100)
	for i := range cands {
		cands[i] = Candidate{Slot: rng.Uint32N(100_000), Dist: rng.Float32(), Sigma: 0.1}
	}
	b.ReportAllocs()
	for b.Loop() {
		p.PlanWave(cands, 0.3, anyCandidate)
	}
}

func BenchmarkCandidates(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	slots := make([]uint32, 3000)
	dists := make([]float32, len(slots))
	for i := range slots {
		slots[i], dists[i] = rng.Uint32N(100_000), rng.Float32()
	}
	var c Candidates
	b.ReportAllocs()
	for b.Loop() {
		c.Reset(10)
		limit := c.Limit()
		for i, s := range slots {
			if i%300 == 0 { // as after a posting
				limit = c.Limit()
			}
			if dists[i]-0.1 <= limit {
				c.Add(s, dists[i], 0.1)
			}
		}
	}
}
