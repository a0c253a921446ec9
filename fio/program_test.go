package fio

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spratdb/sprat/iopath"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// TestParseProgram reads what fio 3.33 has written.
func TestParseProgram(t *testing.T) {
	files, err := filepath.Glob("testdata/fio-*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var all strings.Builder
	for _, f := range files {
		out, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parseProgram(out)
		text, merr := json.Marshal(p)
		if merr != nil {
			t.Fatal(merr)
		}
		all.WriteString(filepath.Base(f) + ": ")
		if err != nil {
			if !errors.Is(err, ErrProgram) {
				t.Errorf("%s: %v", f, err)
			}
			text = []byte(err.Error())
		}
		all.WriteString(string(text) + "\n")
	}
	golden(t, "parsed.golden", all.String())
}

func TestParseProgramRefuses(t *testing.T) {
	for _, out := range []string{
		"", "fio: no such engine", "{", `{"jobs":[]}`, `{"jobs":[{},{}]}`, `{"jobs":[{"error":22,"read":{"total_ios":5}}]}`,
		`{"jobs":[{"read":{"iops":5}}]}`, `{"jobs":[{"read":{"iops":-5,"total_ios":5}}]}`, `{"jobs":{}}`,
	} {
		if p, err := parseProgram([]byte(out)); !errors.Is(err, ErrProgram) {
			t.Errorf("%q: %+v, %v", out, p, err)
		}
	}
}

func FuzzParseProgram(f *testing.F) {
	files, _ := filepath.Glob("testdata/fio-*.json")
	for _, name := range files {
		out, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out)
	}
	f.Add([]byte(`{"jobs":[{"usr_cpu":1e308,"sys_cpu":1e308,"read":{"iops":1,"total_ios":1,"runtime":9223372036854775807}}]}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		p, err := parseProgram(out)
		if err != nil {
			if !errors.Is(err, ErrProgram) {
				t.Errorf("error %v", err)
			}
			return
		}
		if _, err := json.Marshal(p); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	})
}

// TestProgramArguments: it must never be able to write, and a colon in a name is
// no separator.
func TestProgramArguments(t *testing.T) {
	j := programJob{engine: "libaio", file: "/data/a:b c", direct: true, depth: 64, bytes: 4096,
		ramp: 50 * time.Millisecond, window: time.Second}
	args := j.arguments()
	for _, want := range []string{"--readonly", "--rw=randread", `--filename=/data/a\:b c`, "--direct=1", "--iodepth=64",
		"--runtime=1000ms", "--ramp_time=50ms", "--ioengine=libaio"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q misses %s", args, want)
		}
	}
	if got := j.command("/usr/bin/fio"); !strings.Contains(got, `'--filename=/data/a\:b c'`) {
		t.Errorf("command %s", got)
	}
}

// script makes a program of a shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fio")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindProgram(t *testing.T) {
	good := script(t, "echo fio-3.33\n")
	for _, c := range []struct {
		name, choice, path string // $PATH is the folder of path
		want               string
		fails              bool
	}{
		{"off", ProgramOff, good, "", false},
		{"in PATH", ProgramAuto, good, good, false},
		{"missing", ProgramAuto, "/nowhere/fio", "", false},
		{"by path", good, "/nowhere/fio", good, false},
		{"missing by path", "/nowhere/fio", good, "", true},
		{"another program", script(t, "echo hello\n"), good, "", true},
		{"a program that fails", script(t, "exit 3\n"), good, "", true},
	} {
		t.Setenv("PATH", filepath.Dir(c.path))
		path, version, err := findProgram(t.Context(), c.choice)
		if path != c.want || (err != nil) != c.fails || c.fails && !errors.Is(err, ErrProgram) {
			t.Errorf("%s: %q, %v", c.name, path, err)
		}
		if path != "" && version != "fio-3.33" {
			t.Errorf("%s: version %q", c.name, version)
		}
	}
}

// TestProgramSweep falls back to the engine that works, and says what fio said
// when none does.
func TestProgramSweep(t *testing.T) {
	out, err := filepath.Abs("testdata/fio-libaio.json")
	if err != nil {
		t.Fatal(err)
	}
	path := script(t, `case "$*" in
*io_uring*) echo "no such engine" >&2; exit 1;;
esac
cat `+out+"\n")
	j := programJob{file: "/data/f", bytes: 4096, ramp: time.Millisecond, window: time.Millisecond}
	p, err := programSweep(t.Context(), path, []string{"io_uring", "libaio"}, j, []int{1, 64}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if p.Engine != "libaio" || len(p.Points) != 2 || p.Points[1].Depth != 64 || p.Points[1].IOPS <= 0 {
		t.Errorf("%+v", p)
	}
	_, err = programSweep(t.Context(), path, []string{"io_uring"}, j, []int{1}, func(int) {})
	if !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), "no such engine") {
		t.Errorf("error %v", err)
	}
}

// TestCalibrateWithProgram has the figures of the program in the report, and goes
// on without when it fails.
func TestCalibrateWithProgram(t *testing.T) {
	out, err := filepath.Abs("testdata/fio-libaio.json")
	if err != nil {
		t.Fatal(err)
	}
	version := "test $1 = --version && echo fio-3.33 && exit\n"
	cfg := small(t.TempDir())
	cfg.Program = script(t, version+"cat "+out+"\n")
	r, err := calibrate(t.Context(), cfg, shortTiming)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Program; p == nil || p.Version != "fio-3.33" || len(p.Points) != 1 || p.Points[0].IOPS < 90_000 ||
		!strings.Contains(p.Command, testName) {
		t.Errorf("%+v", p)
	}
	cfg.Program = script(t, version+"echo broken >&2; exit 1\n")
	r, err = calibrate(t.Context(), cfg, shortTiming)
	if err != nil || r.Program != nil || !strings.Contains(strings.Join(r.Notes, " "), "broken") {
		t.Errorf("%+v, %v", r, err)
	}
	t.Setenv("PATH", t.TempDir())
	cfg.Program = ProgramAuto
	r, err = calibrate(t.Context(), cfg, shortTiming)
	if err != nil || r.ProgramHint != InstallHint {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCause says why an engine is missing.
func TestCause(t *testing.T) {
	step := iopath.Step{Engine: iopath.IOUring, Direct: true, Err: errors.New("not permitted"), Hint: "seccomp"}
	err := fmt.Errorf("open: %w", &iopath.ModeError{Engine: iopath.IOUring, Steps: []iopath.Step{step}})
	if got := causeOf(err); got != step.String() {
		t.Errorf("cause %q", got)
	}
	if got := causeOf(errFull); got != errFull.Error() {
		t.Errorf("cause %q", got)
	}
}

// TestProgramEnds interrupts a program that would run for ever.
func TestProgramEnds(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	if err := os.WriteFile(started, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	path := script(t, "echo x >"+started+"; exec sleep 1000\n")
	ended := make(chan error)
	go func() {
		_, err := programJob{file: "/data/f"}.run(ctx, path)
		ended <- err
	}()
	for {
		if b, err := os.ReadFile(started); err == nil && len(b) > 0 {
			break
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
