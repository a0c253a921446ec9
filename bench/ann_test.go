package bench

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/internal/realdata"
)

var rewrite = flag.Bool("rewrite", false, "rewrite golden files")

// point is a measurement with these figures; KiB are ten times the reads.
func point(reads, recall float64) ANNPoint {
	return ANNPoint{WorkloadReport: WorkloadReport{Recall: &recall, ReadsPerQuery: reads, KiBPerQuery: 10 * reads}}
}

func TestFrontier(t *testing.T) {
	unscored := ANNPoint{WorkloadReport: WorkloadReport{ReadsPerQuery: 1}}
	points := []ANNPoint{point(9, 0.9), unscored, point(4, 0.8), point(4, 0.7), point(6, 0.8), point(2, 0.5), point(12, 0.89)}
	var got []string
	for _, p := range frontier(points) {
		got = append(got, fmt.Sprint(p.ReadsPerQuery, " ", p.recall()))
	}
	if want := []string{"2 0.5", "4 0.8", "9 0.9"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInterpolate(t *testing.T) {
	points := []ANNPoint{point(2, 0.5), point(4, 0.8), point(9, 0.9)}
	for _, c := range []struct {
		recall, reads    float64
		reached, exceeds bool
	}{
		{0.4, 2, true, true},
		{0.5, 2, true, false},
		{0.65, 3, true, false},
		{0.8, 4, true, false},
		{0.85, 6.5, true, false},
		{0.95, 0, false, false},
	} {
		at := interpolate(points, c.recall)
		if math.Abs(at.ReadsPerQuery-c.reads) > 1e-9 || at.Reached != c.reached || at.Exceeds != c.exceeds || at.Best != 0.9 {
			t.Errorf("recall %v: got %+v, want %+v", c.recall, at, c)
		}
		if math.Abs(at.KiBPerQuery-10*at.ReadsPerQuery) > 1e-9 {
			t.Errorf("recall %v: %v KiB for %v reads, want ten times as many", c.recall, at.KiBPerQuery, at.ReadsPerQuery)
		}
	}
	if at := interpolate(nil, 0.5); at.Reached {
		t.Errorf("no points: got %+v", at)
	}
}

// More recall never costs less, and no interpolated cost is outside the points.
func TestInterpolateIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
		var points []ANNPoint
		for range rapid.IntRange(1, 8).Draw(t, "points") {
			points = append(points, point(1+100*number("reads"), number("recall")))
		}
		points = frontier(points)
		a, b := number("a"), number("b")
		lo, hi := interpolate(points, min(a, b)), interpolate(points, max(a, b))
		if hi.Reached && !lo.Reached || hi.Reached && hi.ReadsPerQuery < lo.ReadsPerQuery-1e-9 {
			t.Fatalf("recall %v costs %+v, recall %v costs %+v", lo.Recall, lo, hi.Recall, hi)
		}
		least, most := points[0].ReadsPerQuery, points[len(points)-1].ReadsPerQuery
		if hi.Reached && (hi.ReadsPerQuery < least-1e-9 || hi.ReadsPerQuery > most+1e-9) {
			t.Fatalf("%v reads are outside %v to %v", hi.ReadsPerQuery, least, most)
		}
	})
}

// sampleReport is a report with made-up figures.
func sampleReport() *ANNReport {
	r := &ANNReport{Machine: Machine{CPU: "a processor", Cores: 2, Kernels: "generic", System: "a system", Go: "go1"},
		K: 10, Recalls: []float64{0.9, 0.95, 0.99}}
	for i, name := range []string{"glove100", "own-set"} {
		s := &ANNResult{Name: name, Vectors: int64(340_479 - i), Dimension: 100, Metric: Cosine, Queries: 1000,
			IOEngine: "io_uring", DirectIO: i == 0,
			Build: Built{VectorsPerSecond: 12_345, Postings: 5_000, ReplicasMean: 4, MemoryPeakMiB: 200,
				DiskBytesPerVector: 600, RawBytesPerVector: 400, MemoryBytesPerVector: 7.5},
			Open:    Opening{Milliseconds: 123, Cold: i == 0},
			Sweep:   []ANNPoint{point(10, 0.85), point(20, 0.92), point(float64(50+10*i), 0.96)},
			Targets: []ANNPoint{point(100, 0.985)},
			Repeats: ANNRepeats{SearchProbe: 32, QPS: []float64{100, 110, 105}, Spread: 0.095}}
		s.Targets[0].RecallTarget = 0.99
		points := frontier(slices.Concat(s.Sweep, s.Targets))
		for _, recall := range r.Recalls {
			s.At = append(s.At, interpolate(points, recall))
		}
		r.Sets = append(r.Sets, s)
	}
	return r
}

func TestMarkdownGolden(t *testing.T) {
	var b strings.Builder
	if err := sampleReport().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "ann.md")
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("differs from %s, see -rewrite:\n%s", path, b.String())
	}
}

func TestOverBudget(t *testing.T) {
	got := sampleReport().OverBudget()
	want := []string{"glove100: 42.5 reads at recall 0.95, the budget is 40", "glove100: recall 0.99 was not reached (best 0.9850)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -999: "-999", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	r := sampleReport()
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "ann.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"<svg", "glove100", "own-set", "340,479 x 100", "reads per query", "recall@10", ">0.95<", ">100<"} {
		if !strings.Contains(string(svg), text) {
			t.Errorf("the plot does not hold %q", text)
		}
	}
	png, err := os.ReadFile(filepath.Join(dir, "ann.png"))
	if err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("ann.png: %v, %.8q", err, png)
	}
	var back ANNReport
	text, err := os.ReadFile(filepath.Join(dir, "ann.json"))
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || len(back.Sets) != 2 || *back.Sets[1].Sweep[2].Recall != 0.96 {
		t.Errorf("ann.json: %v, %s", err, text)
	}
	if err := (&ANNReport{K: 10}).WriteFiles(dir); err == nil {
		t.Error("a report without points: no error")
	}
}

func TestReadTicks(t *testing.T) {
	labels := func(lo, hi float64) (list []string) {
		for _, tick := range readTicks(lo, hi) {
			if tick.Value < lo || tick.Value > hi {
				t.Errorf("%v is outside %v to %v", tick.Value, lo, hi)
			}
			if tick.Label != "" {
				list = append(list, tick.Label)
			}
		}
		return list
	}
	if got, want := labels(3, 300), []string{"5", "10", "20", "50", "100", "200"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := labels(3.5, 17), []string{"4", "5", "6", "8", "10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// makeSet writes a set of real vectors into a folder as OpenANNSet reads it.
func makeSet(t *testing.T, set realdata.Set, metric string) string {
	t.Helper()
	dir := t.TempDir()
	matrix := func(values []float32) *Matrix {
		return &Matrix{Rows: len(values) / set.Dim, Cols: set.Dim, Values: values}
	}
	queries := slices.Collect(slices.Chunk(set.Queries, set.Dim))
	_, distances, err := Truth(t.Context(), TruthConfig{
		Base:    func() (Reader, error) { return NewMemoryReader(set.Dim, set.Rows) },
		Queries: queries, Metric: set.Metric, K: 20,
	})
	if err == nil {
		err = errors.Join(WriteFBin(filepath.Join(dir, "base.fbin"), matrix(set.Rows)),
			WriteFBin(filepath.Join(dir, "query.fbin"), matrix(set.Queries)),
			WriteFBin(filepath.Join(dir, "gtdist.fbin"), distances),
			os.WriteFile(filepath.Join(dir, "info.json"), fmt.Appendf(nil, `{"name":%q,"metric":%q,"n":1}`, set.Name, metric), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRunANN(t *testing.T) {
	work := t.TempDir()
	steps := map[string]bool{}
	r, err := RunANN(t.Context(), ANNConfig{
		Sets: []string{makeSet(t, realdata.Fashion(), "l2")}, Work: work,
		Recalls: []float64{0.9}, Targets: []float64{0.9}, Probes: []int{1, 8, 1 << 20, 1 << 21}, Repeats: 2,
		Progress: func(set, step string, _, _ int64) { steps[set+": "+step] = true },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Sets[0]
	if s.Name != "fashion" || s.Vectors != 2000 || s.Dimension != 784 || s.Metric != Euclidean || s.Queries != 50 {
		t.Errorf("the set is described as %+v", s)
	}
	if len(s.Sweep) != 3 || s.Sweep[2].SearchProbe != 1<<20 {
		t.Fatalf("%d points, want the sweep to end with the first probe past the number of postings", len(s.Sweep))
	}
	for i := 1; i < len(s.Sweep); i++ {
		if a, b := &s.Sweep[i-1], &s.Sweep[i]; b.recall() < a.recall() || b.ReadsPerQuery < a.ReadsPerQuery {
			t.Errorf("search probe %d has recall %v at %v reads, %d has %v at %v", a.SearchProbe, a.recall(),
				a.ReadsPerQuery, b.SearchProbe, b.recall(), b.ReadsPerQuery)
		}
	}
	if at := s.At[0]; !at.Reached || at.ReadsPerQuery <= 0 || at.CPUMSPerQuery <= 0 {
		t.Errorf("recall 0.9 is not found: %+v", at)
	}
	b := s.Build
	if b.VectorsPerSecond <= 0 || b.Postings < 2 || b.ReplicasMean < 1 || b.MemoryPeakMiB <= 0 ||
		b.DiskBytesPerVector <= b.RawBytesPerVector || b.RawBytesPerVector != 4*784 || b.MemoryBytesPerVector <= 0 {
		t.Errorf("the build is described as %+v", b)
	}
	if s.Open.Milliseconds <= 0 || len(s.Repeats.QPS) != 2 || s.IOEngine == "" || len(s.Targets) != 1 {
		t.Errorf("opening %+v, repeats %+v, engine %q, targets %d", s.Open, s.Repeats, s.IOEngine, len(s.Targets))
	}
	for _, step := range []string{"fashion: search probe 8", "fashion: recall target 0.9", "fashion: repeat 2 of 2"} {
		if !steps[step] {
			t.Errorf("no progress of %q", step)
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

func TestOpenANNSetFails(t *testing.T) {
	good := func() map[string][]byte {
		return map[string][]byte{
			"info.json": []byte(`{"name":"x","metric":"cos"}`), "base.fbin": le(uint32(1), uint32(1), float32(1)),
			"query.fbin": le(uint32(1), uint32(1), float32(1)), "gtdist.fbin": le(uint32(1), uint32(1), float32(0)),
		}
	}
	for _, c := range []struct {
		name   string
		change func(files map[string][]byte)
		want   error
	}{
		{"nothing", func(f map[string][]byte) {}, nil},
		{"other files", func(f map[string][]byte) { f["base.txt"] = nil }, nil},
		{"no info", func(f map[string][]byte) { delete(f, "info.json") }, os.ErrNotExist},
		{"no JSON", func(f map[string][]byte) { f["info.json"] = []byte("x") }, ErrFormat},
		{"metric", func(f map[string][]byte) { f["info.json"] = []byte(`{"metric":"jaccard"}`) }, ErrMetric},
		{"no base", func(f map[string][]byte) { delete(f, "base.fbin") }, os.ErrNotExist},
		{"no queries", func(f map[string][]byte) { f["query.fbin"] = le(uint32(0), uint32(1)) }, ErrFormat},
		{"short truth", func(f map[string][]byte) { f["gtdist.fbin"] = le(uint32(0), uint32(1)) }, ErrFormat},
		{"no truth", func(f map[string][]byte) { delete(f, "gtdist.fbin") }, os.ErrNotExist},
	} {
		files, dir := good(), t.TempDir()
		c.change(files)
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if set, err := OpenANNSet(dir); !errors.Is(err, c.want) || err == nil && set.Name != "x" {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	two := t.TempDir()
	for name, content := range good() {
		_ = os.WriteFile(filepath.Join(two, name), content, 0o600)
	}
	_ = os.WriteFile(filepath.Join(two, "base.npy"), nil, 0o600)
	if _, err := OpenANNSet(two); err == nil || !strings.Contains(err.Error(), "base.npy") {
		t.Errorf("two files of vectors: %v", err)
	}
}
