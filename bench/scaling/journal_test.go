package scaling

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/bench"
)

// sampleRun is a finished run of a setting.
func sampleRun(s Setting, qps float64) *Result {
	recall := 0.95
	return &Result{Setting: s, Load: &bench.WorkloadReport{Queries: 100, Clients: s.Clients, Seconds: 10, QPS: qps, Recall: &recall,
		ReadsPerQuery: 20, KiBPerQuery: 800, WavesPerQuery: 3, CPUMSPerQuery: 1}, Limit: Limit{IOPS: 3000, MiBps: 125}, Samples: []Sample{{Second: 1, QPS: qps}}}
}

var sampleExperiment = Experiment{Set: "text", Vectors: 3000, Dimension: 384, Metric: "cosine", Queries: 100, K: 10, WindowSeconds: 10}

// writeJournal keeps runs and returns the file's content.
func writeJournal(t interface{ Fatal(...any) }, dir string, runs ...*Result) []byte {
	j, _, err := openJournal(dir, sampleExperiment)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if err := j.add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func threeRuns() []*Result {
	return []*Result{sampleRun(Setting{Clients: 8}, 1), sampleRun(Setting{Clients: 32}, 2), sampleRun(Setting{Clients: 128}, 3)}
}

// TestJournalTorn cuts the file anywhere: all whole lines are there again, and what
// is written next makes a sound file.
func TestJournalTorn(t *testing.T) {
	whole := writeJournal(t, t.TempDir(), threeRuns()...)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		cut := rapid.IntRange(0, len(whole)).Draw(t, "cut")
		if err := os.WriteFile(filepath.Join(dir, journalName), whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, runs, err := openJournal(dir, sampleExperiment)
		if err != nil {
			t.Fatal(err)
		}
		want := max(strings.Count(string(whole[:cut]), "\n")-1, 0)
		if len(runs) != want || j.begun != (strings.Count(string(whole[:cut]), "\n") == 0) {
			t.Fatalf("%d runs of a file cut at %d, want %d; begun %v", len(runs), cut, want, j.begun)
		}
		if err := errors.Join(j.add(threeRuns()[0]), j.close()); err != nil {
			t.Fatal(err)
		}
		j, runs, err = openJournal(dir, sampleExperiment)
		if err != nil || len(runs) != want+1 || runs[want].Load.QPS != 1 {
			t.Fatalf("after one more: %d runs, %v", len(runs), err)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestJournalOfOther(t *testing.T) {
	dir := t.TempDir()
	writeJournal(t, dir, threeRuns()...)
	other := sampleExperiment
	other.WindowSeconds, other.Set = 5, "glove"
	_, _, err := openJournal(dir, other)
	var differs *OtherError
	if !errors.As(err, &differs) || !errors.Is(err, ErrOther) {
		t.Fatalf("another experiment: %v", err)
	}
	for _, want := range []string{"window_seconds is 5, was 10", "set is glove, was text", "--fresh"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error says %q, not %q", err, want)
		}
	}
	if err := errors.Join(removeJournal(dir), removeJournal(dir)); err != nil {
		t.Fatal(err)
	}
	j, runs, err := openJournal(dir, other)
	if err != nil || len(runs) != 0 {
		t.Fatalf("after a fresh beginning: %d runs, %v", len(runs), err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}

func TestJournalDamaged(t *testing.T) {
	lines := strings.SplitAfter(string(writeJournal(t, t.TempDir(), threeRuns()...)), "\n")
	mark, err := sampleExperiment.fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content string
		line    int
	}{
		"not JSON":            {"x\n", 1},
		"another version":     {strings.Replace(lines[0], `"schema_version":1`, `"schema_version":2`, 1), 1},
		"no experiment":       {`{"schema_version":1}` + "\n", 1},
		"changed experiment":  {strings.Replace(lines[0], "text", "glove", 1), 1},
		"run of another":      {lines[0] + strings.Replace(lines[1], mark, "0011223344556677", 1), 2},
		"no run":              {lines[0] + `{"fingerprint":"` + mark + `"}` + "\n", 2},
		"run without figures": {lines[0] + `{"fingerprint":"` + mark + `","run":{}}` + "\n", 2},
		"line in the middle":  {lines[0] + lines[1][:40] + "\n" + lines[2], 2},
	} {
		_, _, _, err := readJournal([]byte(c.content))
		var damage *RecordError
		if !errors.As(err, &damage) || !errors.Is(err, ErrRecord) || damage.Line != c.line {
			t.Errorf("%s: %v, want an error in line %d", name, err, c.line)
		}
	}
}

// FuzzJournal: whatever the file holds, reading ends; what is accepted is whole
// lines, and they are read again as the same.
func FuzzJournal(f *testing.F) {
	content := writeJournal(f, f.TempDir(), threeRuns()...)
	f.Add(content)
	f.Add(content[:len(content)-7])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		e, runs, end, err := readJournal(content)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if end > len(content) || end > 0 && content[end-1] != '\n' || (e == nil) != (end == 0) {
			t.Fatalf("%d of %d bytes are whole, experiment %v", end, len(content), e)
		}
		_, again, _, err := readJournal(content[:end])
		if err != nil || len(again) != len(runs) {
			t.Fatalf("read again: %d runs, then %d (%v)", len(runs), len(again), err)
		}
	})
}
