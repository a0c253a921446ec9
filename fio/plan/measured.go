package plan

import (
	"bytes"
	_ "embed" // the measured sets
	"encoding/json"
	"fmt"
	"math"
)

// measuredSets is what queries cost on real sets. The tests make it of
// bench/results/ann.json (-rewrite) and hold it to that file.
type measuredSets struct {
	Source  string        `json:"source"`
	Machine string        `json:"machine"`
	K       int           `json:"k"`
	Sets    []measuredSet `json:"sets"` // by rising dimension
}

type measuredSet struct {
	Name      string          `json:"name"`
	Vectors   float64         `json:"vectors"`
	Dimension int             `json:"dimension"`
	Metric    string          `json:"metric"`
	Points    []measuredPoint `json:"points"` // by rising recall; nothing else falls
}

// measuredPoint is the mean cost of a query that finds so much, nothing cached.
type measuredPoint struct {
	Recall       float64 `json:"recall"`
	PostingReads float64 `json:"posting_reads"`
	RecordReads  float64 `json:"record_reads"` // refine and vector records
	RecordKiB    float64 `json:"record_kib"`
	CPUMS        float64 `json:"cpu_ms"`
	Waves        float64 `json:"waves"`
}

//go:embed measured.json
var measuredText []byte

func loadMeasured() (*measuredSets, error) {
	m := &measuredSets{}
	dec := json.NewDecoder(bytes.NewReader(measuredText))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("measured sets: %w", err)
	}
	return m, nil
}

// MostRecall is the most recall that every measured set reaches, up to which a
// plan can be made without own measurements.
const MostRecall = 0.997

// postingKiB is what the read of a posting of the target size moves: its bytes to
// the end of the last 4 KiB.
const postingKiB = (postingBytes + 2<<10) / 1024

const (
	// growth is how the postings that a recall takes grow with the vectors, as a
	// power. Measured from 62,500 to 1,000,000 vectors of sift128 and from 42,560 to
	// 340,479 of glove100, at recall 0.9 to 0.995: 0.15 to 0.44, less for more
	// vectors.
	growth = 0.35
	// The powers of k, measured from k = 10 to 100 on the same sets: postings 0.24
	// to 0.43, records 0.57 to 0.65, their bytes 0.85 to 0.95.
	growthByK      = 0.35
	recordsByK     = 0.65
	recordBytesByK = 0.9
	// Processor time that a read more costs, in ms: scanning a posting was measured
	// at 0.012 to 0.020, rescoring what a read of records brings at 0.008 to 0.009.
	postingCPU = 0.02
	recordCPU  = 0.009
)

// at interpolates over the recall, linearly as bench ann does.
func (s *measuredSet) at(recall float64) measuredPoint {
	for i := range s.Points {
		hi := s.Points[i]
		if hi.Recall < recall {
			continue
		}
		if i == 0 {
			return hi
		}
		lo := s.Points[i-1]
		return mix(lo, hi, (recall-lo.Recall)/(hi.Recall-lo.Recall))
	}
	return s.Points[len(s.Points)-1]
}

func mix(a, b measuredPoint, share float64) measuredPoint {
	m := func(x, y float64) float64 { return x + share*(y-x) }
	return measuredPoint{
		Recall: m(a.Recall, b.Recall), PostingReads: m(a.PostingReads, b.PostingReads), RecordReads: m(a.RecordReads, b.RecordReads),
		RecordKiB: m(a.RecordKiB, b.RecordKiB), CPUMS: m(a.CPUMS, b.CPUMS), Waves: m(a.Waves, b.Waves),
	}
}

// scaled is the cost at a recall for another number of vectors and of results.
// Fewer results than were measured are not taken to cost less.
func (s *measuredSet) scaled(recall, vectors float64, k, measuredK int, perPosting float64) measuredPoint {
	p := s.at(recall)
	times := max(float64(k)/float64(measuredK), 1)
	wider := math.Pow(vectors/s.Vectors, growth) * math.Pow(times, growthByK)
	postings := max(p.PostingReads*wider, 1)
	records := p.RecordReads * math.Pow(times, recordsByK)
	p.CPUMS += postingCPU*max(postings-p.PostingReads, 0) + recordCPU*(records-p.RecordReads)
	p.PostingReads = min(postings, math.Ceil(vectors/perPosting))
	p.RecordReads = records
	p.RecordKiB *= math.Pow(times, recordBytesByK)
	return p
}

// estimate is the cost of a query like those of the measured sets: of one of them,
// or interpolated over the logarithm of the dimension; and the fewest and the most
// reads of any set.
func (m *measuredSets) estimate(r *Request, perPosting float64) (p measuredPoint, low, high float64, err error) {
	low = math.Inf(1)
	scaled := make([]measuredPoint, len(m.Sets))
	like := -1
	for i := range m.Sets {
		s := &m.Sets[i]
		scaled[i] = s.scaled(r.Recall, float64(r.Vectors), r.K, m.K, perPosting)
		reads := scaled[i].PostingReads + scaled[i].RecordReads
		low, high = min(low, reads), max(high, reads)
		if s.Name == r.Like {
			like = i
		}
	}
	if r.Like == "" {
		return m.between(scaled, float64(r.Dimension)), low, high, nil
	}
	if like < 0 {
		return p, 0, 0, badRequest("like", "one of "+m.names(), fmt.Sprintf("%q", r.Like))
	}
	return scaled[like], low, high, nil
}

func (m *measuredSets) between(scaled []measuredPoint, dimension float64) measuredPoint {
	for i := range m.Sets {
		above := float64(m.Sets[i].Dimension)
		if above < dimension {
			continue
		}
		if i == 0 {
			return scaled[0]
		}
		below := float64(m.Sets[i-1].Dimension)
		return mix(scaled[i-1], scaled[i], math.Log(dimension/below)/math.Log(above/below))
	}
	return scaled[len(scaled)-1]
}

func (m *measuredSets) names() string {
	var list string
	for i := range m.Sets {
		if i > 0 {
			list += ", "
		}
		list += m.Sets[i].Name
	}
	return list
}
