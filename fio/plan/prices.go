package plan

import (
	"bytes"
	_ "embed" // the default price list
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// PricesVersion is the schema_version of the price lists that ParsePrices takes.
const PricesVersion = 1

// Prices is a price list; the package comment says what its fields are.
type Prices struct {
	SchemaVersion int          `json:"schema_version"`
	Name          string       `json:"name"`
	Date          string       `json:"date"`
	Source        string       `json:"source"`
	Currency      string       `json:"currency"`
	Volumes       []VolumeType `json:"volumes"`
}

// VolumeType is what can be ordered of one kind of volume, and for how much.
type VolumeType struct {
	Name      string     `json:"name"`
	LatencyMS float64    `json:"latency_ms"` // of a read of a volume that is not busy
	GiB       SizePrice  `json:"gib"`
	IOPS      IOPSPrice  `json:"iops"`
	MiBps     MiBpsPrice `json:"mibps"`
}

// SizePrice is the size of a volume, in GiB.
type SizePrice struct {
	Min   int     `json:"min"`
	Max   int     `json:"max"`
	Step  int     `json:"step"`
	Price float64 `json:"price"` // of a GiB for a month
}

// IOPSPrice is the operations per second of a volume.
type IOPSPrice struct {
	Min    int        `json:"min"`
	Max    int        `json:"max"`
	Step   int        `json:"step"`
	PerGiB float64    `json:"per_gib"` // more than Min needs so much size
	Tiers  []IOPSTier `json:"tiers"`
}

// IOPSTier is the price of each IOPS for a month above a number of them and up to
// the next tier.
type IOPSTier struct {
	Above int     `json:"above"`
	Price float64 `json:"price"`
}

// MiBpsPrice is the throughput of a volume, in MiB/s.
type MiBpsPrice struct {
	Min      int     `json:"min"`
	Max      int     `json:"max"`
	Step     int     `json:"step"` // 0: not ordered, PerIOPS x IOPS up to Max
	PerIOPS  float64 `json:"per_iops"`
	Included int     `json:"included"`
	Price    float64 `json:"price"` // of a MiB/s for a month above Included
}

//go:embed prices.json
var defaultPrices []byte

// DefaultPrices returns the price list that is built in: EBS gp3 and io2.
func DefaultPrices() (*Prices, error) { return ParsePrices(defaultPrices) }

// maxPricesBytes bounds what is parsed.
const maxPricesBytes = 1 << 20

// ParsePrices reads a price list. Its errors match ErrPrices; those that concern a
// value are *FieldError.
func ParsePrices(text []byte) (*Prices, error) {
	if len(text) > maxPricesBytes {
		return nil, badPrice("file", "at most 1 MiB", fmt.Sprintf("%d bytes", len(text)))
	}
	if err := checkNames(text); err != nil {
		return nil, err
	}
	p := &Prices{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return nil, badPrice(kind.Field, "a "+kind.Type.String(), kind.Value)
		}
		return nil, fmt.Errorf("%w: %w", ErrPrices, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one JSON object", ErrPrices)
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Prices) validate() error {
	if p.SchemaVersion != PricesVersion {
		return badPrice("schema_version", fmt.Sprint(PricesVersion), p.SchemaVersion)
	}
	for _, f := range []struct{ name, value string }{
		{"name", p.Name}, {"source", p.Source}, {"currency", p.Currency},
	} {
		if f.value == "" {
			return badPrice(f.name, "some text", "none")
		}
	}
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
		return badPrice("date", "a day like 2026-10-07", fmt.Sprintf("%q", p.Date))
	}
	if len(p.Volumes) < 1 || len(p.Volumes) > 16 {
		return badPrice("volumes", "1 to 16", len(p.Volumes))
	}
	names := map[string]bool{}
	for i := range p.Volumes {
		at := fmt.Sprintf("volumes[%d].", i)
		if name := p.Volumes[i].Name; name == "" || names[name] {
			return badPrice(at+"name", "some text, once", fmt.Sprintf("%q", name))
		}
		names[p.Volumes[i].Name] = true
		if err := p.Volumes[i].validate(at); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxAmount = 1_000_000_000 // of GiB, IOPS and MiB/s
	maxPrice  = 1_000_000     // of one of them
)

func (t *VolumeType) validate(at string) error {
	var list []error
	span := func(field string, low, high, step, least int) {
		switch {
		case low < least || low > maxAmount:
			list = append(list, badPrice(at+field+".min", fmt.Sprintf("%d to %d", least, maxAmount), low))
		case high < max(low, 1) || high > maxAmount:
			list = append(list, badPrice(at+field+".max", fmt.Sprintf("%d to %d", max(low, 1), maxAmount), high))
		case step < 1 || low%step != 0 || high%step != 0:
			list = append(list, badPrice(at+field+".step", "1 or more, and min and max multiples of it", step))
		}
	}
	number := func(field string, v, low, high float64) {
		if !(v >= low && v <= high) {
			list = append(list, badPrice(at+field, fmt.Sprintf("%v to %v", low, high), v))
		}
	}
	number("latency_ms", t.LatencyMS, 0.001, 1e6)
	span("gib", t.GiB.Min, t.GiB.Max, t.GiB.Step, 1)
	number("gib.price", t.GiB.Price, 0, maxPrice)
	span("iops", t.IOPS.Min, t.IOPS.Max, t.IOPS.Step, 1)
	number("iops.per_gib", t.IOPS.PerGiB, float64(t.IOPS.Max)/float64(max(t.GiB.Max, 1)), maxAmount)
	span("mibps", t.MiBps.Min, t.MiBps.Max, max(t.MiBps.Step, 1), 0)
	number("mibps.step", float64(t.MiBps.Step), 0, maxAmount)
	number("mibps.per_iops", t.MiBps.PerIOPS, float64(t.MiBps.Max)/float64(max(t.IOPS.Max, 1)), maxAmount)
	number("mibps.included", float64(t.MiBps.Included), 0, float64(t.MiBps.Max))
	number("mibps.price", t.MiBps.Price, 0, maxPrice)
	list = append(list, t.IOPS.checkTiers(at+"iops.tiers"))
	for _, err := range list {
		if err != nil {
			return err // the first is enough
		}
	}
	return nil
}

func (p *IOPSPrice) checkTiers(at string) error {
	if len(p.Tiers) < 1 || len(p.Tiers) > 16 {
		return badPrice(at, "1 to 16 tiers", len(p.Tiers))
	}
	last := -1
	for i, t := range p.Tiers {
		switch {
		case t.Above <= last || t.Above > p.Max:
			return badPrice(fmt.Sprintf("%s[%d].above", at, i), fmt.Sprintf("%d to %d, ascending", last+1, p.Max), t.Above)
		case !(t.Price >= 0 && t.Price <= maxPrice):
			return badPrice(fmt.Sprintf("%s[%d].price", at, i), fmt.Sprintf("0 to %d", maxPrice), t.Price)
		}
		last = t.Above
	}
	return nil
}

// month is the price of a number of IOPS for a month.
func (p *IOPSPrice) month(iops int) (total float64) {
	for i, t := range p.Tiers {
		end := math.MaxInt
		if i+1 < len(p.Tiers) {
			end = p.Tiers[i+1].Above
		}
		total += t.Price * float64(max(0, min(iops, end)-t.Above))
	}
	return total
}
