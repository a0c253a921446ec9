package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func request() Request {
	return Request{Vectors: 10_000_000, Dimension: 768, Metric: "cosine", Recall: 0.95, QPS: 1000}
}

func TestRequestRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Request)
		want   string
	}{
		{func(r *Request) { r.Vectors = 0 }, "vectors: want 1 to 4000000000, got 0"},
		{func(r *Request) { r.Dimension = 4097 }, "dimension: want 1 to 4096, got 4097"},
		{func(r *Request) { r.Metric = "l2" }, `metric: want cosine, euclidean or dot, got "l2"`},
		{func(r *Request) { r.K = -1 }, "k: want 1 to 10000, got -1"},
		{func(r *Request) { r.Recall = 0 }, "recall: want above 0, at most 0.997, got 0"},
		{func(r *Request) { r.Recall = 0.999 }, "recall: want above 0, at most 0.997, got 0.999"},
		{func(r *Request) { r.QPS = 0 }, "qps: want 0.001 to 10000000, got 0"},
		{func(r *Request) { r.Clients = -1 }, "clients: want 0 to"},
		{func(r *Request) { r.Cores = -1 }, "cores: want 0 to"},
		{func(r *Request) { r.MemoryLimit = 64 << 20 }, "memory: want at least 1"},
		{func(r *Request) { r.MetadataBytes = 41 << 10 }, "metadata-bytes: want 0 to 40960"},
		{func(r *Request) { r.KeyBytes = 1025 }, "key-bytes: want 1 to 1024"},
		{func(r *Request) { r.MaxVolumes = 65 }, "max-volumes: want 1 to 64"},
		{func(r *Request) { r.Own.Reads = -1 }, "reads: want 0 to"},
		{func(r *Request) { r.Like = "imagenet" }, `like: want one of glove100, sift128, text-lsa384, fashion784, gist960, got "imagenet"`},
	} {
		r := request()
		c.change(&r)
		_, err := Make(r, prices(t))
		var field *FieldError
		if !errors.As(err, &field) || !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	r := request()
	r.Recall, r.Own = 1, Own{Reads: 40, KiB: 900, CPUMS: 1}
	if _, err := Make(r, prices(t)); err != nil {
		t.Errorf("own measurements of recall 1 are refused: %v", err)
	}
}

// TestPlanGolden pins a whole plan. Its figures can be checked by hand.
func TestPlanGolden(t *testing.T) {
	p, err := Make(request(), prices(t))
	if err != nil {
		t.Fatal(err)
	}
	got := inSixDigits(t, p)
	const file = "testdata/plan.json"
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the plan differs from %s; go test ./fio/plan -rewrite, and read the difference\n%s", file, got)
	}
}

// inSixDigits writes a plan as JSON with its numbers in six digits, as the last ones
// depend on the processor.
func inSixDigits(t *testing.T, p *Plan) []byte {
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`[0-9]+\.[0-9]+`).ReplaceAllFunc(text, func(number []byte) []byte {
		v, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.AppendFloat(nil, v, 'g', 6, 64)
	})
	return append(text, '\n')
}

func TestBinds(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Request)
		binds   string
		reached bool
		note    string
	}{
		{"small reads", func(r *Request) { r.Own = Own{Reads: 20, KiB: 80, CPUMS: 0.1} }, "IOPS", true, ""},
		{"large reads", func(r *Request) { r.Own = Own{Reads: 3, KiB: 1200, CPUMS: 0.1} }, "throughput", true, ""},
		{"few cores", func(r *Request) { r.Own = Own{Reads: 3, KiB: 12, CPUMS: 4}; r.Cores = 2 }, "CPU", false, "2 cores allow 400 QPS; it takes 5"},
		{"few clients", func(r *Request) { r.Own = Own{Reads: 3, KiB: 12, CPUMS: 1}; r.Clients = 2 }, "clients", false, "2 clients that wait"},
		{"more than the volume", func(r *Request) { r.QPS = 10_000; r.Own = Own{Reads: 30, KiB: 120, CPUMS: 1} }, "IOPS", false,
			"no setting of 1 reaches it; 5 striped volumes would"},
	} {
		r := request()
		c.change(&r)
		p, err := Make(r, prices(t))
		if err != nil {
			t.Fatal(err)
		}
		gp3 := p.Answer().Volumes[0]
		if gp3.Reached != c.reached || c.reached != (gp3.Ceilings.IOPS > 0 && p.Reached()) {
			t.Errorf("%s: reached %v, want %v", c.name, gp3.Reached, c.reached)
		}
		if gp3.Binds != c.binds && gp3.Setting.Volumes == 1 {
			t.Errorf("%s: %s binds, want %s (%+v)", c.name, gp3.Binds, c.binds, gp3.Ceilings)
		}
		if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.note) {
			t.Errorf("%s: no note %q in\n%s", c.name, c.note, notes)
		}
	}
}

// TestMonotone: more of what is asked for never needs or costs less.
func TestMonotone(t *testing.T) {
	list := prices(t)
	rapid.Check(t, func(rt *rapid.T) {
		small := Request{
			Vectors:   rapid.Int64Range(1, 2_000_000_000).Draw(rt, "vectors"),
			Dimension: rapid.IntRange(1, 4096).Draw(rt, "dimension"), Metric: "euclidean",
			K:      rapid.IntRange(1, 1000).Draw(rt, "k"),
			Recall: rapid.Float64Range(0.5, MostRecall).Draw(rt, "recall"), QPS: rapid.Float64Range(1, 20_000).Draw(rt, "qps"),
			MaxVolumes: rapid.IntRange(1, 8).Draw(rt, "volumes"),
			Like:       rapid.SampledFrom([]string{"", "sift128", "gist960"}).Draw(rt, "like"),
		}
		large := small
		switch rapid.IntRange(0, 3).Draw(rt, "grow") {
		case 0:
			large.QPS += rapid.Float64Range(0, 20_000).Draw(rt, "more")
		case 1:
			large.Recall = rapid.Float64Range(small.Recall, MostRecall).Draw(rt, "more")
		case 2:
			large.Vectors += rapid.Int64Range(0, 2_000_000_000).Draw(rt, "more")
		case 3:
			large.K += rapid.IntRange(0, 1000).Draw(rt, "more")
		}
		a, errA := Make(small, list)
		b, errB := Make(large, list)
		if errA != nil || errB != nil {
			rt.Fatal(errA, errB)
		}
		const most = 1 + 1e-9
		x, y := a.Answer(), b.Answer()
		if x.IOPS > y.IOPS*most || x.MiBps > y.MiBps*most || x.Cores > y.Cores || a.DiskBytes > b.DiskBytes || a.MemoryBytes > b.MemoryBytes {
			rt.Fatalf("needs less:\n%+v\n%+v", x, y)
		}
		for i := range x.Volumes {
			v, w := &x.Volumes[i], &y.Volumes[i]
			if !v.Reached && w.Reached {
				rt.Fatalf("%s reaches only the larger", v.Type)
			}
			if w.Reached && v.Setting.Month > w.Setting.Month*most {
				rt.Fatalf("%s costs less:\n%+v\n%+v", v.Type, v, w)
			}
		}
	})
}

// TestMemoryCaches: memory above the least saves posting reads, and never costs.
func TestMemoryCaches(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := request()
		r.Recall = rapid.Float64Range(0.5, MostRecall).Draw(rt, "recall")
		least, err := Make(r, prices(t))
		if err != nil {
			rt.Fatal(err)
		}
		last := least.PerQuery.Reads
		for _, times := range []int64{1, 2, 8, 200} {
			r.MemoryLimit = least.MemoryBytes * times
			p, err := Make(r, prices(t))
			if err != nil {
				rt.Fatal(err)
			}
			if p.PerQuery.Reads > last || p.PerQuery.Reads < p.PerQuery.RecordReads {
				rt.Fatalf("%d times the memory: %.2f reads after %.2f", times, p.PerQuery.Reads, last)
			}
			last = p.PerQuery.Reads
		}
		if last > least.PerQuery.RecordReads {
			rt.Fatalf("everything cached, and still %.2f reads", last)
		}
	})
}
