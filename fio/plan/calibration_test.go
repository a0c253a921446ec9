package plan

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/spratdb/sprat/fio"
)

// calibrated is a calibration as package fio writes it.
func calibrated(change func(*fio.Report)) []byte {
	spent := func(reads float64) *fio.Spent {
		return &fio.Spent{Cost: fio.Cost{Reads: reads, Bytes: reads * 8192, Waves: 2, CPUTime: 0.0005}}
	}
	r := &fio.Report{SchemaVersion: fio.SchemaVersion, Index: &fio.IndexReport{
		Name: "b/i", Dimension: 768, Vectors: 300_000, K: 10,
		Grid: []fio.Cell{{SearchProbe: 32, Cold: spent(99)}, {Own: true, Cold: spent(20), Cached: spent(5)}},
	}}
	change(r)
	text, _ := json.Marshal(r)
	return text
}

func TestOwnOf(t *testing.T) {
	own, err := OwnOf(calibrated(func(*fio.Report) {}), 768, 10)
	if err != nil || own.Reads != 5 || own.KiB != 40 || math.Abs(own.CPUMS-0.5) > 1e-12 || own.From != "sprat calibrate on b/i, 300000 vectors" {
		t.Errorf("got %+v, %v", own, err)
	}
	own, err = OwnOf(calibrated(func(r *fio.Report) { r.Index.Grid[1].Cached = nil }), 768, 10)
	if err != nil || own.Reads != 20 {
		t.Errorf("without a cache: %+v, %v", own, err)
	}
	r := request()
	r.Own = own
	p, err := Make(r, prices(t))
	if err != nil || p.PerQuery.Reads != 20 || p.PerQuery.Source != "sprat calibrate on b/i, 300000 vectors" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestOwnOfRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*fio.Report)
		want   string
	}{
		{func(r *fio.Report) { r.SchemaVersion = 2 }, "schema_version: want 1, got 2"},
		{func(r *fio.Report) { r.Index = nil }, "it measured no index"},
		{func(r *fio.Report) { r.Index.Dimension = 384 }, "the dimension of b/i is 384, planned is 768"},
		{func(r *fio.Report) { r.Index.K = 100 }, "it asked for 100 results, planned are 10"},
		{func(r *fio.Report) { r.Index.Grid = r.Index.Grid[:1] }, "own dials"},
		{func(r *fio.Report) { r.Index.Grid[1].Cached.Reads = 0 }, "read nothing"},
	} {
		if _, err := OwnOf(calibrated(c.change), 768, 10); !errors.Is(err, ErrCalibration) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// FuzzOwnOf: what is taken from a calibration can be planned with or is refused.
func FuzzOwnOf(f *testing.F) {
	f.Add(string(calibrated(func(*fio.Report) {})))
	f.Add(`{"schema_version":1,"index":{"k":10,"dimension":768,"grid":[{"own":true,"cold":{"reads":1e300,"bytes":1,"cpu_seconds":1}}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		own, err := OwnOf([]byte(text), 768, 10)
		if err != nil {
			if !errors.Is(err, ErrCalibration) {
				t.Fatalf("%v does not match ErrCalibration", err)
			}
			return
		}
		r := request()
		r.Own = own
		if _, err := Make(r, prices(t)); err != nil && !errors.Is(err, ErrRequest) {
			t.Fatal(err)
		}
	})
}
