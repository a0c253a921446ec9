package plan

import (
	"fmt"
)

// Cost is the mean cost of a query.
type Cost struct {
	Reads        float64 `json:"reads"` // operations of the volume, each of up to 256 KiB
	PostingReads float64 `json:"posting_reads"`
	RecordReads  float64 `json:"record_reads"`
	KiB          float64 `json:"kib"`
	CPUMS        float64 `json:"cpu_ms"`
	Waves        float64 `json:"waves"`
	// CachedPostings is the share of the posting reads that the cache saves.
	CachedPostings float64 `json:"cached_postings"`
	// FewestReads and MostReads are those of any measured set with nothing cached.
	FewestReads float64 `json:"fewest_reads"`
	MostReads   float64 `json:"most_reads"`
	Source      string  `json:"source"`
}

// cost models a query, then puts own measurements in place of the model.
func (p *Plan) cost() (Cost, error) {
	r := &p.Request
	m, err := loadMeasured()
	if err != nil {
		return Cost{}, err
	}
	q, low, high, err := m.estimate(r, p.PerVector.VectorsPerPosting)
	if err != nil {
		return Cost{}, err
	}
	// The cache holds so much of the postings. Where queries are alike, the postings
	// that it holds are asked for more often than that.
	c := Cost{FewestReads: low, MostReads: high, CPUMS: q.CPUMS, Waves: q.Waves}
	if all := p.PerVector.Postings * float64(r.Vectors); p.CacheBytes > 0 {
		c.CachedPostings = min(float64(p.CacheBytes)/all, 1)
	}
	c.PostingReads = q.PostingReads * (1 - c.CachedPostings)
	c.RecordReads = q.RecordReads
	c.Reads = c.PostingReads + c.RecordReads
	c.KiB = postingKiB*c.PostingReads + q.RecordKiB
	c.Source = m.say(r)
	c.replace(r.Own)
	return c, nil
}

func (m *measuredSets) say(r *Request) string {
	if r.Like != "" {
		return fmt.Sprintf("measured on %s (%s; %s), scaled to %d vectors", r.Like, m.Source, m.Machine, r.Vectors)
	}
	return fmt.Sprintf("interpolated over the dimension between %s (%s; %s), scaled to %d vectors",
		m.names(), m.Source, m.Machine, r.Vectors)
}

// replace puts own measurements in. Own reads without own KiB scale the model's.
func (c *Cost) replace(own Own) {
	if own.Reads == 0 && own.KiB == 0 && own.CPUMS == 0 {
		return
	}
	c.Source = "own measurements"
	if own.From != "" {
		c.Source = own.From
	}
	if own.Reads == 0 || own.KiB == 0 || own.CPUMS == 0 {
		c.Source += ", the rest as on the measured sets"
	}
	if own.Reads > 0 {
		times := own.Reads / c.Reads
		c.Reads = own.Reads
		c.KiB *= times
		c.PostingReads, c.RecordReads = c.PostingReads*times, c.RecordReads*times
	}
	if own.KiB > 0 {
		c.KiB = own.KiB
	}
	if own.CPUMS > 0 {
		c.CPUMS = own.CPUMS
	}
}
