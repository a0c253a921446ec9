package posting

import (
	"encoding/binary"
	"math"

	"github.com/spratdb/sprat/rq"
)

// Hit is an entry whose estimated distance may still matter.
type Hit struct {
	Slot       uint32
	Est        float32 // estimate of ||q-v||²
	Err        float32 // one standard deviation of Est
	Generation uint8   // placement generation of the entry
}

// Scanner estimates the distances of whole postings. It holds the scratch
// memory of one query and belongs to one goroutine.
type Scanner struct {
	ws           rq.Workspace
	est          []float32
	add, rescale []float32
}

// Scan appends to dst the entries of v whose lower bound est - eps·err is at
// most limit, in the order of the posting. qc2 is ||q-c||², the squared
// distance of the query to the posting's centroid (RaBitQ, SIGMOD 2024,
// section 3.2; the estimator is spelled out in rq.Coder.Estimate).
func (s *Scanner) Scan(dst []Hit, l *Layout, v *View, q *rq.Query, qc2, eps, limit float32) []Hit {
	n := v.N
	if n == 0 {
		return dst
	}
	s.grow(n)
	est, add, rescale := s.est[:n], s.add[:n], s.rescale[:n]
	loadFloats(add, v.add)
	loadFloats(rescale, v.rescale)
	l.coder.Estimate(est, q, qc2, v.codes, add, rescale, &s.ws)

	qc := float32(math.Sqrt(float64(qc2)))
	for i, e := range est {
		sigma := rq.BF16(binary.LittleEndian.Uint16(v.errs[2*i:])) * qc
		if e-eps*sigma > limit {
			continue
		}
		dst = append(dst, Hit{Slot: v.Slot(i), Est: max(e, 0), Err: sigma, Generation: v.gens[i]})
	}
	return dst
}

func (s *Scanner) grow(n int) {
	if cap(s.est) < n {
		n += n / 2
		s.est, s.add, s.rescale = make([]float32, n), make([]float32, n), make([]float32, n)
	}
}

func loadFloats(dst []float32, src []byte) {
	src = src[:4*len(dst)]
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}
