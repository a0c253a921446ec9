package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Command lines that are wrong by themselves: exit 2, one line, nothing done.
func TestBadUsage(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	rows := put(t, "rows.fbin", fbin([]float32{1, 2}, []float32{3, 4}))
	build := "build --data " + store + " --input " + rows
	query := "query --data " + store + " --index b/i --queries " + rows
	for _, c := range []struct{ line, want string }{
		{"frobnicate", `unknown command "frobnicate"`},
		{"buld", "Did you mean this?; build"},
		{"bench", "name an experiment: ann"},
		{"bench frobnicate", `unknown command "frobnicate"`},
		{"demo extra", `unknown command "extra"`},
		{"demo --frobnicate", "unknown flag: --frobnicate"},
		{build + " --index b/i", `required flag(s) "metric" not set`},
		{build + " --metric cosine", `required flag(s) "index" not set`},
		{build + " --metric l2 --index b/i", "want one of cosine, euclidean, dot"},
		{build + " --metric cosine --index b", "want the names of a bucket and an index"},
		{build + " --metric cosine --index b/i/j", "want the names of a bucket and an index"},
		{build + " --metric cosine --index /i", "want the names of a bucket and an index"},
		{build + " --metric cosine --index b/i --bits 9", "bits: want 1 to 8, got 9"},
		{build + " --metric cosine --index b/i --copies 0", "want a whole number from 1"},
		{build + " --metric cosine --index b/i --copies 9", "copies: want 1 to 8, got 9"},
		{build + " --metric cosine --index b/i --posting-bytes 1KiB", "postingBytes: want 4 KiB to 64 KiB"},
		{build + " --metric cosine --index b/i --memory-limit lots", "want a size like 512MiB"},
		{build + " --metric cosine --index b/i --memory-limit 0", "want more than 0 bytes"},
		{build + " --metric cosine --index b/i --io-engine aio", "want one of auto, io_uring, pread, mmap"},
		{build + " --metric cosine --index b/i --direct yes", "want one of auto, on, off"},
		{build + " --metric cosine --index b/i --adaptive no", "want one of on, off"},
		{build + " --metric cosine --index b/i --cache -1", "want auto, 0 or a size"},
		{build + " --metric cosine --index b/i --log-level loud", "want one of debug, info, warn, error"},
		{query + " -k 0", "want a whole number from 1"},
		{query + " -k x", "want a whole number from 1"},
		{query + " --search-probe 0", "want a whole number from 1"},
		{query + " --rescore-limit -1", "want a whole number from 1"},
		{query + " --max-reads 0", "want a whole number from 1"},
		{query + " --recall-target 1", "want a number above 0 and below 1"},
		{query + " --recall-target 0.9 --search-probe 3", "[recall-target search-probe] were all set"},
		{query + " --deadline 0s", "want a time above 0"},
		{query + " --deadline soon", "want a time above 0"},
		{query + " --clients 0", "want a whole number from 1"},
		{query + " --duration 1s --passes 2", "[duration passes] were all set"},
		{query + " --addr 127.0.0.1:7700", "[addr data] were all set"},
		{"query --addr 127.0.0.1:7700 --index b/i --queries q --cache 0", "[addr cache] were all set"},
		{"query --addr 127.0.0.1:7700 --index b/i --queries q --server-cert c", "[server-cert server-key]"},
		{"put --index b/i --input a", "at least one of the flags in the group [data addr] is required"},
		{"truth --input a --queries b --metric dot", "at least one of the flags in the group [truth truth-dist] is required"},
		{"trace --data " + store + " --index b/i --queries " + rows + " --row -1", "want a whole number from 0"},
		{"bench ann --sets a --out b --recalls 0.9,2", "want a number above 0 and below 1"},
		{"verify", `required flag(s) "data" not set`},
		{"demo --config " + filepath.Join(store, "none"), "--config"},
	} {
		o := execute(words(c.line)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, c.want) {
			t.Errorf("sprat %s: exit %d, want 2 with %q\n%s", c.line, o.code, c.want, o.stderr)
		}
		oneErrorLine(t, c.line, o)
	}
	// Parameters of an index are checked by the store, which is open by then.
	must(t, "stats", "--data", store)
}

// oneErrorLine checks that standard error is one line of the program's and
// standard output is empty.
func oneErrorLine(t *testing.T, line string, o outcome) {
	t.Helper()
	if o.stdout != "" {
		t.Errorf("sprat %s: failed with results on standard output: %s", line, o.stdout)
	}
	if !strings.HasPrefix(o.stderr, "sprat: ") || strings.Count(o.stderr, "\n") != 1 || !strings.HasSuffix(o.stderr, "\n") {
		t.Errorf("sprat %s: want one line that begins with sprat:, got %q", line, o.stderr)
	}
}

func TestHelpAndVersion(t *testing.T) {
	var out, errs strings.Builder
	if code := run([]string{"--version"}, &out, &errs); code != exitDone || errs.Len() > 0 {
		t.Errorf("--version: exit %d: %s", code, errs.String())
	}
	if got := out.String(); !strings.HasPrefix(got, "sprat ") || strings.Count(got, "\n") != 1 {
		t.Errorf("--version prints %q", got)
	}
	help := must(t, "--help")
	for _, name := range words("demo build query truth stats trace verify drop snapshot restore bench") {
		if !strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("--help does not name %s:\n%s", name, help)
		}
		if text := must(t, name, "--help"); !strings.Contains(text, "Usage:\n  sprat "+name) {
			t.Errorf("%s --help says\n%s", name, text)
		}
	}
}

// The flags that benchmarks and checks give.
func TestCommonFlags(t *testing.T) {
	for command, flags := range map[string]string{
		"demo":   "io-engine direct memory-limit cache adaptive log-level config json",
		"build":  "data index input keys metadata metric posting-bytes copies bits seed io-engine direct memory-limit cache adaptive log-level config json",
		"query":  "data index queries truth truth-dist keys k search-probe rescore-limit recall-target max-reads deadline filter addr clients duration passes warmup io-engine direct memory-limit cache adaptive log-level config json",
		"truth":  "input queries metric k truth truth-dist config json",
		"stats":  "data index io-engine direct memory-limit cache adaptive log-level config json",
		"trace":  "data index queries row k search-probe rescore-limit recall-target max-reads deadline filter io-engine direct memory-limit cache adaptive log-level config json",
		"verify": "data index io-engine direct memory-limit cache adaptive log-level config json",
	} {
		help := must(t, command, "--help")
		for _, flag := range words(flags) {
			if !strings.Contains(help, "--"+flag+" ") {
				t.Errorf("%s has no flag --%s:\n%s", command, flag, help)
			}
		}
	}
	if help := must(t, "bench", "ann", "--help"); !strings.Contains(help, "--sets") || !strings.Contains(help, "--expect") {
		t.Errorf("bench ann --help says\n%s", help)
	}
}

// A command that is interrupted removes what it has begun.
func TestInterrupted(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := filepath.Join(t.TempDir(), "store")
	rows := put(t, "rows.fbin", fbin([]float32{1, 2}, []float32{3, 4}))
	for _, line := range []string{
		"demo",
		"build --data " + store + " --index b/i --metric dot --input " + rows,
		"truth --metric dot --input " + rows + " --queries " + rows + " --truth " + filepath.Join(temporary, "truth.ibin"),
	} {
		o := executeContext(ctx, words(line)...)
		if o.code != exitFailed || o.stderr != "sprat: interrupted\n" {
			t.Errorf("sprat %s: exit %d: %s", line, o.code, o.stderr)
		}
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
	if got := mustJSON(t, "stats", "--data", store); got["indexes"] != nil {
		t.Errorf("an interrupted build has left %v", got["indexes"])
	}
}
