package fio

import (
	"math"
)

// block is the unit of offsets, in bytes: what every file system and device
// aligns to.
const block = 4096

// Latency is of single operations, in microseconds.
type Latency struct {
	Mean float64 `json:"mean_us"`
	P50  float64 `json:"p50_us"`
	P90  float64 `json:"p90_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
}

// Point is what one kind of load reached.
type Point struct {
	Depth   int     `json:"depth"` // reads in flight
	Bytes   int     `json:"bytes"` // of a read
	IOPS    float64 `json:"iops"`  // mean of the last two rounds
	MiBps   float64 `json:"mib_per_second"`
	Latency Latency `json:"latency"`         // of the last round
	CPU     float64 `json:"cpu_us_per_read"` // of the process, user and system; of the last round
	Threads int     `json:"threads"`         // of the process; 0 when unknown
	Rounds  int     `json:"rounds"`          // how often it was measured
	Agree   bool    `json:"agree"`           // the last two rounds are within 5 % of each other
}

const mib = 1 << 20

// agreement is how far two rounds of a point may be apart.
const agreement = 0.05

// point makes a round of measurement a Point.
func (m measured) point(depth, bytes int) Point {
	p := Point{Depth: depth, Bytes: bytes, IOPS: rate(m.bins, binWidth), Latency: m.latency, Threads: m.threads, Rounds: 1}
	if m.ops > 0 {
		p.CPU = round(float64(m.cpu.Microseconds())/float64(m.ops), 2)
	}
	return p.rounded()
}

func (p Point) rounded() Point {
	p.IOPS = round(max(p.IOPS, 0), 1)
	p.MiBps = round(p.IOPS*float64(p.Bytes)/mib, 2)
	return p
}

// next adds a round: the rate becomes the mean of the last two, last being the
// rate of the one before.
func (p Point) next(last float64, round Point) Point {
	n := round
	n.Rounds = p.Rounds + 1
	n.Agree = math.Abs(last-round.IOPS) <= agreement*max(last, round.IOPS)
	n.IOPS = (last + round.IOPS) / 2
	return n.rounded()
}

// micros rounds microseconds to a tenth.
func micros(v float64) float64 { return round(v, 1) }

// round rounds to a number of digits after the point.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}
