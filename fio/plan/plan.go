package plan

import (
	"fmt"
	"math"
	"slices"
)

// Version is the schema_version of a Plan.
const Version = 1

// Plan is what a Request takes.
type Plan struct {
	SchemaVersion int       `json:"schema_version"`
	Request       Request   `json:"request"`
	PerVector     Footprint `json:"bytes_per_vector"`
	PerQuery      Cost      `json:"per_query"`

	MemoryBytes int64 `json:"memory_bytes"` // the least memory limit
	DiskBytes   int64 `json:"disk_bytes"`   // of the index
	CacheBytes  int64 `json:"cache_bytes"`  // what the memory limit leaves for the cache

	// Rows holds the rate asked for and round rates around it, ascending.
	Rows []Row `json:"rows"`

	Prices PricesInfo `json:"prices"`
	Notes  []string   `json:"notes"`
}

// PricesInfo says where the prices are from.
type PricesInfo struct {
	Name     string `json:"name"`
	Date     string `json:"date"`
	Source   string `json:"source"`
	Currency string `json:"currency"`
}

// Row is what one rate takes.
type Row struct {
	QPS     float64   `json:"qps"`
	Asked   bool      `json:"asked"` // it is the rate of the request
	IOPS    float64   `json:"iops"`  // that queries use, without reserve
	MiBps   float64   `json:"mibps"`
	Busy    float64   `json:"busy_cores"` // processor time, in cores
	Cores   int       `json:"cores"`      // to have, with room for bursts
	Volumes []Reached `json:"volumes"`    // one for each volume type
}

// Reached is how a volume type serves a rate, or that it does not.
type Reached struct {
	Type     string  `json:"type"`
	Reached  bool    `json:"reached"`
	Setting  Setting `json:"setting"` // the cheapest; of the fewest volumes when it is not reached
	Per100   float64 `json:"month_per_100_qps"`
	Ceilings Limits  `json:"ceilings_qps"`
	Binds    string  `json:"binds"` // the lowest ceiling
	// Clients is how many must wait at once for the rate to come about.
	Clients int `json:"clients"`
}

// Limits are the rates that each part would allow alone, in queries per second.
type Limits struct {
	IOPS    float64 `json:"iops"`
	MiBps   float64 `json:"mibps"`
	CPU     float64 `json:"cpu"`
	Clients float64 `json:"clients,omitempty"` // 0: not limited
}

// Answer is the row of the rate asked for.
func (p *Plan) Answer() *Row {
	i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Asked })
	return &p.Rows[i]
}

// Reached says whether any volume type serves the rate asked for.
func (p *Plan) Reached() bool {
	return slices.ContainsFunc(p.Answer().Volumes, func(v Reached) bool { return v.Reached })
}

// Make plans a request with a price list. What is wrong with the request is a
// *FieldError that matches ErrRequest.
func Make(request Request, prices *Prices) (*Plan, error) {
	r := request.withDefaults()
	if err := r.validate(); err != nil {
		return nil, err
	}
	p := &Plan{SchemaVersion: Version, Request: r,
		Prices: PricesInfo{prices.Name, prices.Date, prices.Source, prices.Currency}}
	var err error
	if p.PerVector, err = FootprintOf(r.Dimension, r.KeyBytes, r.MetadataBytes); err != nil {
		return nil, err
	}
	if err := p.fitMemory(); err != nil {
		return nil, err
	}
	if p.PerQuery, err = p.cost(); err != nil {
		return nil, err
	}
	for _, qps := range rates(r.QPS) {
		p.Rows = append(p.Rows, p.row(qps, prices))
	}
	p.Notes = p.notes()
	return p, nil
}

// rates are the asked rate and the powers of ten from 10 to 10,000, ascending.
func rates(asked float64) []float64 {
	list := []float64{10, 100, 1000, 10_000, asked}
	slices.Sort(list)
	return slices.Compact(list)
}

// fitMemory fills in the bytes, and refuses a memory limit below the least.
func (p *Plan) fitMemory() error {
	n := float64(p.Request.Vectors)
	p.DiskBytes = int64(math.Ceil(n * p.PerVector.Disk))
	held := baseMemory + int64(math.Ceil(n*p.PerVector.Memory))
	p.MemoryBytes = max(held, leastMemory)
	if p.Request.MemoryLimit == 0 {
		return nil
	}
	if p.Request.MemoryLimit < p.MemoryBytes {
		return badRequest("memory", fmt.Sprintf("at least %d bytes for so many vectors", p.MemoryBytes), p.Request.MemoryLimit)
	}
	p.CacheBytes = int64(cacheShare * float64(p.Request.MemoryLimit-held))
	return nil
}

// row plans one rate.
func (p *Plan) row(qps float64, prices *Prices) Row {
	c := &p.PerQuery
	row := Row{QPS: qps, Asked: qps == p.Request.QPS, IOPS: qps * c.Reads, MiBps: qps * c.KiB / 1024, Busy: qps * c.CPUMS / 1000}
	row.Cores = int(max(math.Ceil(row.Busy/busyShare-slack), 1))
	need := Need{
		GiB:   float64(p.DiskBytes) / (1 - freeSpace) / (1 << 30),
		IOPS:  row.IOPS / (1 - reserve),
		MiBps: row.MiBps / (1 - reserve),
	}
	for i := range prices.Volumes {
		row.Volumes = append(row.Volumes, p.serve(&row, &prices.Volumes[i], need))
	}
	return row
}

// serve chooses the setting of a volume type for a row, and finds what limits it.
func (p *Plan) serve(row *Row, t *VolumeType, need Need) Reached {
	s, fits := t.Cheapest(need, p.Request.MaxVolumes)
	if !fits {
		s = t.Fewest(need)
	}
	v := Reached{Type: t.Name, Setting: s, Per100: s.Month / row.QPS * 100}
	latency := p.PerQuery.Waves*t.LatencyMS + p.PerQuery.CPUMS
	v.Clients = int(max(math.Ceil(row.QPS*latency/1000-slack), 1))
	v.Ceilings = p.ceilings(row, s, latency)
	lowest := math.Inf(1)
	for _, c := range []struct {
		name string
		qps  float64
	}{
		{"IOPS", v.Ceilings.IOPS}, {"throughput", v.Ceilings.MiBps}, {"CPU", v.Ceilings.CPU}, {"clients", v.Ceilings.Clients},
	} {
		if c.qps > 0 && c.qps < lowest {
			lowest, v.Binds = c.qps, c.name
		}
	}
	v.Reached = fits && lowest >= row.QPS*(1-slack)
	return v
}

// ceilings are the rates that the parts allow, with the reserve kept back.
func (p *Plan) ceilings(row *Row, s Setting, latencyMS float64) Limits {
	c, has := &p.PerQuery, s.total()
	cores := row.Cores
	if p.Request.Cores > 0 {
		cores = p.Request.Cores
	}
	return Limits{
		IOPS:    has.IOPS * (1 - reserve) / c.Reads,
		MiBps:   has.MiBps * (1 - reserve) / (c.KiB / 1024),
		CPU:     float64(cores) * busyShare / (c.CPUMS / 1000),
		Clients: float64(p.Request.Clients) / latencyMS * 1000,
	}
}
