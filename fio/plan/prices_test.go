package plan

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestDefaultPrices(t *testing.T) {
	p := prices(t)
	gp3, io2 := &p.Volumes[0], &p.Volumes[1]
	for _, c := range []struct {
		name      string
		t         *VolumeType
		gib, iops int
		mibps     float64
		want      float64
	}{
		{"gp3 as it comes", gp3, 100, 3000, 125, 8},
		{"gp3 at most", gp3, 160, 80_000, 2000, 12.8 + 77_000*0.005 + 1875*0.04},
		{"io2 first tier", io2, 100, 32_000, 4000, 12.5 + 2080},
		{"io2 second tier", io2, 100, 64_000, 4000, 12.5 + 2080 + 1456},
		{"io2 at most", io2, 256, 256_000, 4000, 32 + 2080 + 1456 + 192_000*0.03185},
	} {
		if got := c.t.month(c.gib, c.iops, c.mibps); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v a month, want %v", c.name, got, c.want)
		}
	}
}

// TestPricesRefused changes one thing of the default list at a time.
func TestPricesRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"schema_version": 1`, `"schema_version": 2`, "schema_version: want 1, got 2"},
		{`"schema_version": 1`, `"schema_version": "1"`, "schema_version: want a int, got string"},
		{`"currency": "USD",`, ``, "currency: want a value, got none"},
		{`"currency": "USD"`, `"currency": ""`, "currency: want some text, got none"},
		{`"currency": "USD"`, `"currency": null`, "currency: want a value, got null"},
		{`"currency": "USD"`, `"currency": "USD", "currency": "EUR"`, "currency: want the field once"},
		{`"currency"`, `"Currency"`, "Currency: want one of the fields"},
		{`"date": "2026-10-07"`, `"date": "October"`, "date: want a day like"},
		{`"name": "gp3"`, `"name": "io2 Block Express"`, "volumes[1].name: want some text, once"},
		{`"latency_ms": 0.5`, `"latency_ms": 0`, "volumes[1].latency_ms: want"},
		{`"min": 1, "max": 65536`, `"min": 0, "max": 65536`, "volumes[0].gib.min: want 1 to"},
		{`"min": 1, "max": 65536`, `"min": 9, "max": 8`, "volumes[0].gib.max: want 9 to"},
		{`"min": 1, "max": 65536, "step": 1`, `"min": 1, "max": 65536, "step": 2`, "volumes[0].gib.step: want 1 or more"},
		{`"price": 0.08`, `"price": -0.08`, "volumes[0].gib.price: want 0 to"},
		{`"price": 0.08`, `"prize": 0.08`, "volumes[0].gib.prize: want one of the fields max, min, price, step"},
		{`"per_gib": 500`, `"per_gib": 1`, "volumes[0].iops.per_gib: want 1.2"},
		{`"above": 3000, "price": 0.005`, `"above": 3000`, "volumes[0].iops.tiers[0].price: want a value, got none"},
		{`{"above": 3000, "price": 0.005}`, ``, "volumes[0].iops.tiers: want 1 to 16 tiers, got 0"},
		{`"above": 32000`, `"above": 0`, "volumes[1].iops.tiers[1].above: want 1 to 256000, ascending, got 0"},
		{`"price": 0.0455`, `"price": 1e9`, "volumes[1].iops.tiers[1].price: want"},
		{`"included": 125`, `"included": 2001`, "volumes[0].mibps.included: want 0 to 2000"},
		{`"per_iops": 0.256`, `"per_iops": 0.001`, "volumes[1].mibps.per_iops: want"},
		{`"step": 0`, `"step": -1`, "volumes[1].mibps.step: want"},
		{`"volumes": [`, `"volumes": [], "more": [`, "more: want one of the fields"},
	} {
		text := strings.Replace(string(defaultPrices), c.old, c.new, 1)
		if text == string(defaultPrices) {
			t.Fatalf("%s is not in the default list", c.old)
		}
		_, err := ParsePrices([]byte(text))
		if !errors.Is(err, ErrPrices) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.new, err, c.want)
		}
	}
}

func TestPricesMalformed(t *testing.T) {
	whole := string(defaultPrices)
	for name, text := range map[string]string{
		"empty": "", "cut": whole[:len(whole)/2], "two": whole + whole, "a list": "[1]", "a number": "1", "open": `{"name`,
		"no JSON": "gp3: 0.08", "long": strings.Repeat(" ", maxPricesBytes+1),
	} {
		if _, err := ParsePrices([]byte(text)); !errors.Is(err, ErrPrices) {
			t.Errorf("%s: got %v, want ErrPrices", name, err)
		}
	}
}

// FuzzPrices: a list that is accepted can be planned with, whatever it says.
func FuzzPrices(f *testing.F) {
	f.Add(string(defaultPrices))
	f.Add(strings.Replace(string(defaultPrices), `"step": 0`, `"step": 1000`, 1))
	f.Add(`{"schema_version": 1, "volumes": [{"gib": {"min": 1e99}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrices([]byte(text))
		if err != nil {
			if !errors.Is(err, ErrPrices) {
				t.Fatalf("%v does not match ErrPrices", err)
			}
			return
		}
		plan, err := Make(Request{Vectors: 1e6, Dimension: 768, Metric: "cosine", Recall: 0.95, QPS: 500}, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range plan.Answer().Volumes {
			if s := v.Setting; s.Volumes < 1 || s.Month < 0 || math.IsNaN(s.Month) || math.IsInf(s.Month, 0) {
				t.Fatalf("%s: %+v", v.Type, s)
			}
		}
	})
}
