package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewritePlans = flag.Bool("rewrite-plans", false, "rewrite the golden files of plan")

const planLine = "plan --vectors 1e7 --dimension 768 --metric cosine --recall 0.95 --qps 1000"

// TestPlanText pins what people read.
func TestPlanText(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		code int
	}{
		"least":       {planLine, exitDone},
		"cached":      {planLine + " --memory 8GiB --like text-lsa384 --clients 32 --cores 4", exitDone},
		"own":         {planLine + " --reads 5 --kib 60 --cpu-ms 0.5 --metadata-bytes 200", exitDone},
		"striped":     {planLine + " --max-volumes 16", exitDone},
		"not-reached": {strings.Replace(planLine, "--qps 1000", "--qps 50000", 1), exitBelow},
	} {
		o := execute(words(c.line)...)
		if o.code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s", name, o.code, c.code, o.stderr)
		}
		file := filepath.Join("testdata", "plan-"+name+".txt")
		if *rewritePlans {
			if err := os.WriteFile(file, []byte(o.stdout), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if o.stdout != string(want) {
			t.Errorf("%s differs from %s; go test ./cmd/sprat -run TestPlanText -rewrite-plans, and read the difference\n%s",
				c.line, file, o.stdout)
		}
	}
}

func TestPlanJSON(t *testing.T) {
	o := mustJSON(t, words(planLine)...)
	mustHave(t, o, "schema_version request.vectors request.recall bytes_per_vector.disk per_query.reads per_query.source "+
		"memory_bytes disk_bytes cache_bytes rows prices.date notes")
	below := execute(words(strings.Replace(planLine, "1000", "50000", 1) + " --json")...)
	if below.code != exitBelow || !strings.HasPrefix(below.stdout, "{") || !strings.Contains(below.stderr, "reaches 50,000 QPS") {
		t.Errorf("exit %d, want 3 with a plan and a reason: %s%s", below.code, below.stderr, below.stdout)
	}
}

// TestPlanCalibration: what calibrate printed takes the place of the model.
func TestPlanCalibration(t *testing.T) {
	file := put(t, "calibration.json", []byte(`{"schema_version":1,"index":{"name":"b/i","dimension":768,"vectors":300000,"k":10,
		"grid":[{"own":true,"cold":{"reads":40,"bytes":409600,"cpu_seconds":0.002}}]}}`))
	o := mustJSON(t, words(planLine+" --calibration "+file)...)
	cost, _ := o["per_query"].(map[string]any)
	if cost["reads"] != 40.0 || cost["kib"] != 400.0 || cost["cpu_ms"] != 2.0 {
		t.Errorf("got %v", cost)
	}
}

func TestPlanUsage(t *testing.T) {
	list := put(t, "prices.json", []byte(`{"schema_version": 2}`))
	for _, c := range []struct{ line, want string }{
		{"plan --dimension 768", `required flag(s) "metric", "qps", "recall", "vectors" not set`},
		{planLine + " --prices " + list + " extra", `unknown command "extra"`},
		{planLine + " --vectors 1.5", "--vectors: want a whole number"},
		{planLine + " --vectors -1", "want a number above 0"},
		{planLine + " --vectors 1e10", "vectors: want 1 to 4000000000, got 10000000000"},
		{planLine + " --recall 0.9999", "recall: want above 0, at most 0.997, got 0.9999"},
		{planLine + " --metric l2", "want one of cosine, euclidean, dot"},
		{planLine + " --memory 64MiB", "memory: want at least"},
		{planLine + " --like nothing", "like: want one of"},
		{planLine + " --prices " + list, "want a value, got none"},
		{planLine + " --prices " + list + ".none", "--prices:"},
		{planLine + " --calibration " + list, "--calibration " + list + ": calibration cannot be planned with: schema_version"},
		{planLine + " --calibration " + list + ".none", "--calibration: open"},
		{planLine + " --calibration " + list + " --reads 3", "[calibration reads] were all set"},
		{planLine + " --qps inf", "want a number above 0"},
	} {
		o := execute(words(c.line)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, c.want) {
			t.Errorf("sprat %s: exit %d, want 2 with %q\n%s", c.line, o.code, c.want, o.stderr)
		}
		oneErrorLine(t, c.line, o)
	}
}
