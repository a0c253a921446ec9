package scaling

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// costing is a finished run that cost reads, KiB and CPU milliseconds a query.
func costing(s Setting, qps, reads, kib, cpu float64) Result {
	r := sampleRun(s, qps)
	r.Load.ReadsPerQuery, r.Load.KiBPerQuery, r.Load.CPUMSPerQuery = reads, kib, cpu
	if s.Volume != (Volume{}) {
		r.Limit = Limit{IOPS: float64(s.Volume.IOPS), MiBps: float64(s.Volume.MiBps)}
	}
	return *r
}

func TestPredict(t *testing.T) {
	small, large := Volume{3000, 125}, Volume{80000, 2000}
	runs := []Result{
		costing(Setting{Volume: small, Engine: "io_uring", Clients: 32, SearchProbe: 64, StopRules: true}, 100, 30, 300, 1),
		costing(Setting{Volume: large, Engine: "io_uring", Clients: 32, SearchProbe: 64, StopRules: true}, 1900, 30, 300, 1),
		costing(Setting{Volume: small, Engine: "mmap", Clients: 32, SearchProbe: 64, StopRules: true}, 50, 30, 300, 1),
		costing(Setting{Volume: small, Engine: "mmap", Clients: 128, SearchProbe: 64, StopRules: true}, 50, 30, 300, 1),
		costing(Setting{Volume: small, Engine: "io_uring", Clients: 32, SearchProbe: 64}, 100, 30, 300, 1),
	}
	predict(runs, 2)
	p := runs[0].Prediction
	if p == nil || p.Ceiling != 100 || p.Binds != "IOPS" || math.Abs(p.QPS-100) > 1 || !p.Near || !p.Judged {
		t.Errorf("by IOPS: %+v", p)
	}
	if !strings.HasPrefix(p.From, "80000/2000 io_uring") {
		t.Errorf("the cost is from %s", p.From)
	}
	p = runs[1].Prediction
	if p == nil || p.Ceiling != 2000 || p.Binds != "CPU" || p.ByIOPS != 2666.667 {
		t.Errorf("by CPU: %+v", p)
	}
	if p := runs[2].Prediction; p == nil || p.Judged || p.Near {
		t.Errorf("mmap: %+v", p)
	}
	if p := runs[4].Prediction; p != nil {
		t.Errorf("a run that no other is like was predicted: %+v", p)
	}
	if s := summarise(runs); s != (Summary{Judged: 2, Near: 2}) {
		t.Errorf("summary %v", s)
	}
}

// TestPredictWithin: what a throttle let through beyond its setting in a short
// measurement is no limit.
func TestPredictWithin(t *testing.T) {
	l := Limit{IOPS: 3100, MiBps: 124}
	if got := l.within(Volume{3000, 125}); got.IOPS != 3000 || got.MiBps != 124 {
		t.Errorf("%+v", got)
	}
	if got := l.within(Volume{}); got.IOPS != 3100 {
		t.Errorf("as it is: %+v", got)
	}
}

// TestSource: a prediction never rests on the run itself, nor on other dials, and
// on the nearest of those that are left.
func TestSource(t *testing.T) {
	setting := rapid.Custom(func(t *rapid.T) Setting {
		return Setting{
			Volume: rapid.SampledFrom(defaultVolumes).Draw(t, "volume"), Engine: rapid.SampledFrom([]string{"io_uring", "pread"}).Draw(t, "engine"),
			Clients: rapid.SampledFrom([]int{8, 32, 128}).Draw(t, "clients"), SearchProbe: rapid.SampledFrom([]int{32, 64}).Draw(t, "probe"),
			StopRules: rapid.Bool().Draw(t, "rules"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var runs []Result
		for _, s := range rapid.SliceOfNDistinct(setting, 1, 20, rapid.ID).Draw(t, "settings") {
			runs = append(runs, costing(s, 100, 30, 300, 1))
		}
		for i := range runs {
			to, from := runs[i].Setting, source(runs, i)
			if from == nil {
				continue
			}
			s := from.Setting
			if s == to || s.Engine != to.Engine || s.SearchProbe != to.SearchProbe || s.StopRules != to.StopRules {
				t.Fatalf("%v is predicted from %v", to, s)
			}
			for _, r := range runs {
				other := r.Setting
				other.Clients = to.Clients
				if other == to && r.Setting != to && s.Volume != to.Volume {
					t.Fatalf("%v is predicted from %v, and %v was on its volume", to, s, r.Setting)
				}
			}
		}
	})
}

func TestFlatAndBelow(t *testing.T) {
	on := Setting{Volume: Volume{3000, 125}, Engine: "io_uring", SearchProbe: 64, RescoreLimit: 100, StopRules: true}
	at := func(clients int, qps float64) Result {
		s := on
		s.Clients = clients
		return costing(s, qps, 30, 300, 1)
	}
	r := assemble(&Config{}, Experiment{Machine: sampleExperiment.Machine}, "", []Result{at(8, 95), at(32, 100), at(128, 97)}, nil)
	if len(r.Flat) != 1 || r.Flat[0].Ratio != 0.97 || r.Flat[0].Few != 32 || r.Flat[0].Many != 128 {
		t.Fatalf("flat: %+v", r.Flat)
	}
	below := strings.Join(r.Below(), "; ")
	if !strings.Contains(below, "QPS at 128 clients is 0.970 of that at 32") || strings.Contains(below, "predict") {
		t.Errorf("below: %s", below)
	}
	r = assemble(&Config{}, Experiment{}, "", []Result{at(32, 100), at(128, 60)}, nil)
	if below := strings.Join(r.Below(), "; "); !strings.Contains(below, "1 of 2 predictions within 10 %, want 9 of 10") {
		t.Errorf("below: %s", below)
	}
	r = assemble(&Config{}, Experiment{}, "", []Result{at(32, 100)}, nil)
	if got := r.Below(); len(got) != 2 {
		t.Errorf("of one run: %q", got)
	}
	if got := assemble(&Config{}, Experiment{}, "", nil, nil).Below(); len(got) != 2 {
		t.Errorf("of no run: %q", got)
	}
}
