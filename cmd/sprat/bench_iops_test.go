package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/bench/scaling"
	"github.com/spratdb/sprat/internal/realdata"
)

// TestBenchIOPS measures one setting for a moment, refuses to go on with another
// experiment, and reports again without measuring.
func TestBenchIOPS(t *testing.T) {
	f := writeSet(t, realdata.Text(), 1500)
	out := filepath.Join(t.TempDir(), "out")
	line := words("bench iops --metric cosine --volumes as-is --engines pread --clients 2 --search-probe 4 --rescore-limit 20 --stop-rules on " +
		"--warmup 0 --memory-limit 128MiB --input " + f.base + " --queries " + f.queries + " --out " + out)
	short := append(slices.Clone(line), "--seconds", "0.2")
	r := mustJSON(t, short...)
	mustHave(t, r, "schema_version runs flat predicted.judged experiment.vectors experiment.machine command throttle notes")
	if runs, _ := r["runs"].([]any); len(runs) != 1 {
		t.Fatalf("%d runs: %v", len(runs), r)
	}
	command, _ := r["command"].(string)
	if !strings.HasPrefix(command, "sprat bench iops ") || !strings.Contains(command, "--input base.fbin") || strings.Contains(command, string(filepath.Separator)+"out") {
		t.Errorf("made by %q", command)
	}
	for _, name := range words("scaling.json scaling.csv scaling.md scaling.html scaling.svg runs.jsonl") {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var whole scaling.Report
	content, err := os.ReadFile(filepath.Join(out, "scaling.json"))
	if err == nil {
		err = json.Unmarshal(content, &whole)
	}
	if err != nil || len(whole.Runs) != 1 || whole.Runs[0].Load.Queries == 0 {
		t.Fatalf("scaling.json: %v, %+v", err, whole)
	}
	// One run tells neither of what is expected.
	o := execute(append(short, "--expect")...)
	if o.code != exitBelow || !strings.Contains(o.stderr, "no two runs tell") {
		t.Errorf("--expect: exit %d: %s", o.code, o.stderr)
	}
	if !strings.Contains(o.stdout, "1,500 x 384") {
		t.Errorf("the text does not name the set:\n%s", o.stdout)
	}
	o = execute(append(slices.Clone(line), "--seconds", "0.3")...)
	if o.code != exitUsage || !strings.Contains(o.stderr, "window_seconds is 0.3, was 0.2") {
		t.Errorf("another experiment: exit %d: %s", o.code, o.stderr)
	}
}

func TestBenchIOPSUsage(t *testing.T) {
	base := "bench iops --out o --queries q --input i --metric cosine "
	for _, c := range []struct{ line, want string }{
		{"bench iops --queries q --input i --metric cosine", `required flag(s) "out" not set`},
		{"bench iops --out o --queries q", "at least one of the flags in the group [data input] is required"},
		{"bench iops --out o --queries q --data d", "[data index]"},
		{base + "--data d --index b/i", "[data input] were all set"},
		{base + "--full --compact", "[compact full] were all set"},
		{base + "--volumes 3000", "want IOPS/MiBps like 3000/125, or as-is"},
		{base + "--volumes 3000/125,3000/125", "comes twice"},
		{base + "--engines aio", `engine "aio", want io_uring, pread or mmap`},
		{base + "--clients 0", "clients of 0"},
		{base + "--clients 8,8", "comes twice"},
		{base + "--search-probe x", "invalid argument"},
		{base + "--stop-rules maybe", "want one of on, off, both"},
		{base + "--seconds 0", "--seconds 0"},
		{base + "--warmup -1", "--warmup -1"},
		{base + "--cgroup-memory 0", "want more than 0 bytes"},
		{"bench iops --out o --queries q --input i", "vectors without a metric"},
	} {
		o := execute(words(c.line)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, c.want) {
			t.Errorf("sprat %s: exit %d, want 2 with %q\n%s", c.line, o.code, c.want, o.stderr)
		}
		oneErrorLine(t, c.line, o)
	}
}

// TestBenchIOPSConfig: what the flags ask for, and what they ask for by default.
func TestBenchIOPSConfig(t *testing.T) {
	parse := func(line string) scaling.Config {
		t.Helper()
		c := &cli{stderr: &strings.Builder{}}
		f := benchIOPSFlags{k: 10, rules: oneOf("both", "on", "off", "both")}
		cmd := &cobra.Command{Use: "iops"}
		f.add(cmd)
		if err := cmd.ParseFlags(words(line)); err != nil {
			t.Fatal(err)
		}
		cfg, err := f.config(c)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := parse("")
	if cfg.Store.CacheBytes != -1 || cfg.Window != 10*time.Second || cfg.Warmup != 3*time.Second || cfg.K != 10 || cfg.Axes.Full || len(cfg.Axes.StopRules) != 2 {
		t.Errorf("by default %+v", cfg)
	}
	if n := len(cfg.Axes.Settings()); n != 96 {
		t.Errorf("%d settings by default", n)
	}
	cfg = parse("--volumes 3000/125,as-is --engines pread --clients 4,8 --search-probe 16 --rescore-limit 50,60 --stop-rules off --full --seconds 0.5 " +
		"--warmup 0 --cgroup-memory 512MiB --cache auto --bits 2 -k 5 --fresh")
	want := scaling.Axes{Volumes: []scaling.Volume{{IOPS: 3000, MiBps: 125}, {}}, Engines: []string{"pread"}, Clients: []int{4, 8},
		SearchProbe: []int{16}, RescoreLimit: []int{50, 60}, StopRules: []bool{false}, Full: true}
	got, err := json.Marshal(cfg.Axes)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(want); err != nil || string(got) != string(text) {
		t.Errorf("axes %s, want %s (%v)", got, text, err)
	}
	if cfg.Window != 500*time.Millisecond || cfg.Warmup != -1 || cfg.CgroupMemory != 512<<20 || cfg.Store.CacheBytes != 0 || cfg.Parameters.Bits != 2 ||
		cfg.K != 5 || !cfg.Fresh {
		t.Errorf("%+v", cfg)
	}
}
