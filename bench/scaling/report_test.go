package scaling

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/bench"
)

// rendered is every file of a report by its name.
func rendered(t rapid.TB, r *Report, dir string) map[string]string {
	t.Helper()
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range []string{"scaling.json", "scaling.csv", "scaling.md", "scaling.html", "scaling.svg"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(content)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	out["scaling.txt"] = text.String()
	return out
}

// TestReportGolden holds how a report looks.
func TestReportGolden(t *testing.T) {
	for name, got := range rendered(t, smallReport(), t.TempDir()) {
		path := filepath.Join("testdata", "report", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not as in testdata; go test -run TestReportGolden -update writes it anew, then look at it", name)
		}
	}
}

// wellFormed parses a document strictly: every element closed, every attribute
// quoted, every entity one of XML.
func wellFormed(doc string) error {
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var noNumber = regexp.MustCompile(`NaN|[+-]Inf\b|\bInf\b|%!`)

// checkFiles are the promises that hold for every report.
func checkFiles(t rapid.TB, files map[string]string) {
	for name, content := range files {
		if bad := noNumber.FindString(content); bad != "" {
			t.Fatalf("%s has %s", name, bad)
		}
	}
	for _, name := range []string{"scaling.html", "scaling.svg"} {
		if err := wellFormed(files[name]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, load := range []string{"src=", "url(", "@import", "<script", "<link"} {
			if strings.Contains(files[name], load) {
				t.Fatalf("%s may load something: %s", name, load)
			}
		}
	}
	if rows, err := csv.NewReader(strings.NewReader(files["scaling.csv"])).ReadAll(); err != nil || len(rows[0]) != len(csvColumns()) {
		t.Fatalf("CSV: %v", err)
	}
	columns := 0
	for line := range strings.SplitSeq(files["scaling.md"], "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(line, "|") - strings.Count(line, `\|`)
		if columns != 0 && n != columns {
			t.Fatalf("a row of another width: %s", line)
		}
		columns = n
	}
}

// TestAnyReport renders reports of any axes and of any figures, among them runs
// without answers, without samples, without load and with figures that are no numbers.
func TestAnyReport(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string, of ...int) []int {
			return slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom(of), 0, 3).Draw(t, name))))
		}
		a := Axes{Clients: some("clients", 1, 32, 128), SearchProbe: some("probe", 1, 64, 4096), RescoreLimit: some("rescore", 10, 1000),
			Engines: []string{"pread", "mmap"}, StopRules: []bool{rapid.Bool().Draw(t, "rules")},
			Volumes: []Volume{rapid.SampledFrom([]Volume{{}, {3000, 125}, {80_000, 2000}}).Draw(t, "volume")}}
		r := fakeReport(a, rapid.IntRange(0, 3).Draw(t, "seconds"))
		r.Runs = r.Runs[:rapid.IntRange(0, min(len(r.Runs), 5)).Draw(t, "runs")]
		if rapid.Bool().Draw(t, "judge") {
			r.Flat, r.Predicted = flat(r.Runs), summarise(r.Runs)
		}
		for i := range r.Runs {
			switch rapid.IntRange(0, 5).Draw(t, "damage") {
			case 0:
				r.Runs[i].Load = &bench.WorkloadReport{}
			case 1:
				r.Runs[i].Samples, r.Runs[i].Prediction = nil, nil
			case 2:
				r.Runs[i].Load.Recall = nil
			case 3:
				r.Runs[i].Limit, r.Runs[i].Setting.SearchProbe = Limit{}, 0
			}
		}
		checkFiles(t, rendered(t, r, dir))
	})
}

// TestNoNumbers: what is no number shows as unknown wherever a text is made.
func TestNoNumbers(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		r := smallReport()
		for i := range r.Runs {
			x := &r.Runs[i]
			*x.Load.Recall, x.Load.QPS, x.Load.CPUMSPerQuery, x.Load.Latency.P99, x.Load.ReadsPerQuery = v, v, v, v, v
			x.IOPS, x.ShareOfLimit, x.InFlight, x.Limit.IOPS, x.Samples[0].ReadIOPS, x.Samples[1].Second = v, v, v, v, v, v
			if x.Prediction != nil {
				x.Prediction.QPS, x.Prediction.Error, x.Prediction.Ceiling = v, v, v
			}
		}
		r.Flat[0].Ratio = v
		if err := r.WriteFiles(t.TempDir()); err == nil {
			t.Error("JSON holds", v)
		}
		for name, write := range map[string]func(io.Writer) error{"csv": r.WriteCSV, "md": r.WriteMarkdown, "html": r.WriteHTML, "svg": r.WriteSVG, "text": r.Text} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if bad := noNumber.FindString(b.String()); bad != "" {
				t.Errorf("%s has %s for %v", name, bad, v)
			}
		}
	}
	empty := &Report{}
	empty.Runs = append(empty.Runs, Result{}) // not even a load
	for _, r := range []*Report{{}, empty} {
		checkFiles(t, rendered(t, r, t.TempDir()))
	}
}

// TestHostileNames: names of sets and whatever else comes from outside stand for
// themselves.
func TestHostileNames(t *testing.T) {
	hostile := "</title><script>alert('x')</script>|a*b_ \"q\" & \x00\x1b\xff\n# head\u2028`code` [l](javascript:x)"
	r := smallReport()
	e := &r.Experiment
	e.Set, e.Metric, e.Parameters, e.Machine.CPU = "clustered768"+hostile, hostile, hostile, hostile
	r.Command, r.Throttle, r.Notes = hostile, hostile, []string{hostile}
	for i := range r.Runs {
		x := &r.Runs[i]
		x.Setting.Engine, x.IOEngine, x.Cold = hostile, hostile, hostile
		if x.Prediction != nil {
			x.Prediction.From, x.Prediction.Binds = hostile, hostile
		}
	}
	r.Flat[0].Engine = hostile
	files := rendered(t, r, t.TempDir())
	checkFiles(t, files)
	if !strings.Contains(files["scaling.html"], "&lt;script&gt;alert") || !strings.Contains(files["scaling.svg"], "&lt;script&gt;alert") {
		t.Error("the name is not shown")
	}
	for line := range strings.SplitSeq(files["scaling.md"], "\n") {
		if strings.HasPrefix(line, "# ") && line != "# IOPS scaling" || strings.Contains(line, "<script") || strings.Contains(line, "\x1b") {
			t.Errorf("Markdown line %q", line)
		}
	}
	if strings.ContainsAny(files["scaling.txt"], "\x00\x1b") {
		t.Error("control characters reach the terminal")
	}
}

// TestStableOrder: tables and plots do not depend on the order of the runs; memory
// over time, which follows it, is left out.
func TestStableOrder(t *testing.T) {
	r := fakeReport(Axes{}, 2)
	before := rendered(t, r, t.TempDir())
	figures := r.figures()
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(r.Runs), func(i, j int) { r.Runs[i], r.Runs[j] = r.Runs[j], r.Runs[i] })
	after := rendered(t, r, t.TempDir())
	for _, name := range []string{"scaling.md", "scaling.csv", "scaling.svg", "scaling.txt"} {
		if before[name] != after[name] {
			t.Errorf("%s depends on the order of the runs", name)
		}
	}
	for i, f := range r.figures() {
		if f.id != "memory" && f.svg("") != figures[i].svg("") {
			t.Errorf("figure %s depends on the order of the runs", f.id)
		}
	}
}

// TestSizeOfPage: the page stays small with every combination and long windows.
func TestSizeOfPage(t *testing.T) {
	var b bytes.Buffer
	if err := fakeReport(Axes{Full: true}, 300).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 2_500<<10 {
		t.Errorf("the page has %d bytes", b.Len())
	}
}

func TestFindings(t *testing.T) {
	r := smallReport()
	f := r.Findings()
	if f.Within != 2 || f.Predictions != 2 || f.FlatQPS != 0.99 {
		t.Errorf("predictions and flatness: %+v", f)
	}
	// The least is of pread: 280 x 10 of 3,000.
	if f.SaturatedRuns != 4 || f.Saturation != 0.9333 {
		t.Errorf("saturation: %+v", f)
	}
	if len(f.Best) != 2 || f.Best[1].AtLeast != 0.97 || f.Best[1].QPS != 290 || f.Best[1].Setting.SearchProbe != 64 {
		t.Errorf("best: %+v", f.Best)
	}
	// A run that the processors bound, one of few clients and one of mmap say nothing
	// about the volume.
	r.Runs[0].Load.CPUMSPerQuery = 15
	r.Runs[1].Setting.Clients = 8
	r.Runs[3].Setting.Engine = "mmap"
	if f = r.Findings(); f.SaturatedRuns != 1 || f.Saturation != 0.957 {
		t.Errorf("saturation without the others: %+v", f)
	}
	if f = (&Report{}).Findings(); f.SaturatedRuns != 0 || f.Saturation != 0 || f.FlatQPS != 0 || f.Best == nil {
		t.Errorf("of nothing: %+v", f)
	}
}

// TestReferenceTable: only the reference's set stands beside the reference.
func TestReferenceTable(t *testing.T) {
	r := smallReport()
	table := r.referenceTable()
	if table == nil || len(table.Rows) != len(referenceRuns) {
		t.Fatalf("table %v", table)
	}
	// At recall 0.975 the run of probe 64 with 290 QPS, at 0.987 only that of 128.
	if row := table.Rows[1]; row[7] != "64 / 100, on" || row[9] != "290" || row[13] != "9.32 x" {
		t.Errorf("row %q", row)
	}
	if row := table.Rows[2]; row[7] != "128 / 100, on" {
		t.Errorf("row %q", row)
	}
	if row := table.Rows[5]; row[7] != "no run" || len(row) != len(table.Head) {
		t.Errorf("row %q", row)
	}
	for _, change := range []func(*Experiment){func(e *Experiment) { e.Set = "glove100" }, func(e *Experiment) { e.Vectors-- },
		func(e *Experiment) { e.Dimension = 384 }} {
		other := smallReport()
		change(&other.Experiment)
		if other.referenceTable() != nil {
			t.Errorf("compared with %+v", other.Experiment)
		}
	}
}

// TestReportJSON: what is written can be read again, whole.
func TestReportJSON(t *testing.T) {
	r := fakeReport(Axes{Volumes: []Volume{{3000, 125}}}, 2)
	var back Report
	if err := json.Unmarshal([]byte(rendered(t, r, t.TempDir())["scaling.json"]), &back); err != nil {
		t.Fatal(err)
	}
	first, _ := json.Marshal(r)
	second, _ := json.Marshal(&back)
	if !bytes.Equal(first, second) {
		t.Error("another report comes back")
	}
}
