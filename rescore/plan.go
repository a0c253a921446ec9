package rescore

import (
	"cmp"
	"math"
	"slices"
)

const (
	// MaxReadBytes is the largest read that a block volume counts as one
	// operation (EBS: 256 KiB).
	MaxReadBytes = 256 << 10
	// DefaultBalance is the read size, in bytes, at which an operation and its
	// bytes weigh the same: throughput / IOPS of a default gp3 volume
	// (125 MiB/s / 3,000). Reading a gap of that size costs as much as a read.
	DefaultBalance = 42 << 10
)

// Read is one planned read: the records of a run of slots.
type Read struct {
	Refine      bool // from the refine file, else from the record file
	Off         int64
	Len         int
	First, Last int // half-open range of candidates served, in the planner's order
}

// Planner turns candidates into few reads. It belongs to one query.
type Planner struct {
	Records RecordLayout
	// Refine is nil when the index has no refine tier.
	Refine *RefineLayout
	// Balance is the bytes whose transfer costs as much as an operation.
	Balance int

	order []int32 // candidate indices by slot
	reads []Read
	sub   []Read
}

// PlanRecords plans the reads of the vector records of the candidates picked,
// in one wave. Order(i) names the candidate behind position i of a Read.
func (p *Planner) PlanRecords(cands []Candidate, pick func(*Candidate) bool) []Read {
	p.sortPicked(cands, pick)
	p.reads = coalesce(p.reads[:0], p.Records.Stride, cands, p.order, 0, p.Balance)
	return p.reads
}

// PlanRefines plans the reads of the refine records of the candidates picked, in
// one wave. The index has a refine tier.
func (p *Planner) PlanRefines(cands []Candidate, pick func(*Candidate) bool) []Read {
	p.sortPicked(cands, pick)
	p.reads = coalesce(p.reads[:0], p.Refine.Stride, cands, p.order, 0, p.Balance)
	for i := range p.reads {
		p.reads[i].Refine = true
	}
	return p.reads
}

// Cost is what reading the records of slots, ascending, would cost as PlanRecords
// plans it, and with a refine tier as PlanRefines does, else +Inf: in operations, of
// which Balance bytes are worth one.
func (p *Planner) Cost(slots []uint32) (records, refines float64) {
	records, refines = p.costOf(p.Records.Stride, slots), math.Inf(1)
	if p.Refine != nil {
		refines = p.costOf(p.Refine.Stride, slots)
	}
	return records, refines
}

func (p *Planner) costOf(s Stride, slots []uint32) (total float64) {
	first, end := int64(0), int64(0)
	for _, slot := range slots {
		off := s.Offset(slot)
		if end > 0 && off-end <= int64(p.Balance) && off+int64(s.Bytes)-first <= MaxReadBytes-2*block {
			end = off + int64(s.Bytes)
			continue
		}
		if end > 0 {
			total += p.cost(int(end - first))
		}
		first, end = off, off+int64(s.Bytes)
	}
	if end > 0 {
		total += p.cost(int(end - first))
	}
	return total
}

// PlanWave plans the wave after the postings. Every picked candidate is read
// either from its refine record or, where that is no dearer, straight from its
// vector record: a refine read saves only those record reads whose candidates
// it rules out, so a candidate that stands alone, or is almost sure to be in
// the answer, skips it. limit is the k-th best distance.
//
// The cost of a read of b bytes is 1 + b/Balance operations. A group of
// candidates that one refine read would serve costs
//
//	refine:  1 + b_refine/Balance + Σ over its record reads of P(needed)·cost
//	records: Σ over its record reads of cost
//
// where a record read is needed if one of its candidates ends below the limit,
// each with probability Φ((limit-dist)/sigma).
func (p *Planner) PlanWave(cands []Candidate, limit float32, pick func(*Candidate) bool) []Read {
	if p.Refine == nil {
		return p.PlanRecords(cands, pick)
	}
	p.sortPicked(cands, pick)
	p.reads = coalesce(p.reads[:0], p.Refine.Stride, cands, p.order, 0, p.Balance)
	groups := len(p.reads)
	for g := range groups {
		r := p.reads[g]
		p.sub = coalesce(p.sub[:0], p.Records.Stride, cands, p.order[r.First:r.Last], r.First, p.Balance)
		direct, after := 0.0, p.cost(r.Len)
		for _, s := range p.sub {
			c := p.cost(s.Len)
			direct += c
			after += c * p.needed(cands, s, limit)
		}
		if direct <= after {
			p.reads[g].Len = 0
			p.reads = append(p.reads, p.sub...)
		} else {
			p.reads[g].Refine = true
		}
	}
	return slices.DeleteFunc(p.reads, func(r Read) bool { return r.Len == 0 })
}

// Best keeps the n reads that serve the nearest candidates, in the order of the
// plan.
func (p *Planner) Best(cands []Candidate, reads []Read, n int) []Read {
	nearest := func(r Read) float32 {
		d := float32(math.Inf(1))
		for i := r.First; i < r.Last; i++ {
			d = min(d, cands[p.order[i]].Dist)
		}
		return d
	}
	slices.SortStableFunc(reads, func(a, b Read) int { return cmp.Compare(nearest(a), nearest(b)) })
	return reads[:min(n, len(reads))]
}

// Order returns the candidate index at position i of the last plan.
func (p *Planner) Order(i int) int { return int(p.order[i]) }

func (p *Planner) cost(bytes int) float64 { return 1 + float64(bytes)/float64(p.Balance) }

// needed is the probability that some candidate of the read ends within limit.
func (p *Planner) needed(cands []Candidate, r Read, limit float32) float64 {
	none := 1.0
	for i := r.First; i < r.Last; i++ {
		c := &cands[p.order[i]]
		none *= 1 - normalCDF(float64(limit-c.Dist), float64(c.Sigma))
	}
	return 1 - none
}

func (p *Planner) sortPicked(cands []Candidate, pick func(*Candidate) bool) {
	p.order = p.order[:0]
	for i := range cands {
		if pick(&cands[i]) {
			p.order = append(p.order, int32(i))
		}
	}
	slices.SortFunc(p.order, func(a, b int32) int {
		return int(int64(cands[a].Slot) - int64(cands[b].Slot))
	})
}

// coalesce appends the reads of the records of order's candidates, ascending by
// slot: neighbours join while the bytes between them cost less than another
// operation and the read stays within MaxReadBytes. base is added to positions.
func coalesce(dst []Read, s Stride, cands []Candidate, order []int32, base, balance int) []Read {
	start := len(dst)
	for i, at := range order {
		off := s.Offset(cands[at].Slot)
		if n := len(dst); n > start {
			last := &dst[n-1]
			end := last.Off + int64(last.Len)
			if off-end <= int64(balance) && off+int64(s.Bytes)-last.Off <= MaxReadBytes-2*block {
				last.Len = int(off + int64(s.Bytes) - last.Off)
				last.Last = base + i + 1
				continue
			}
		}
		dst = append(dst, Read{Off: off, Len: s.Bytes, First: base + i, Last: base + i + 1})
	}
	return dst
}

func normalCDF(x, sigma float64) float64 {
	if sigma <= 0 {
		if x >= 0 {
			return 1
		}
		return 0
	}
	return 0.5 * math.Erfc(-x/sigma/math.Sqrt2)
}
