package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spratdb/sprat/fio"
)

// Command lines that cannot be carried out: exit 2, one line, nothing measured.
func TestCalibrateBadUsage(t *testing.T) {
	dir := t.TempDir()
	queries := put(t, "queries.fbin", fbin([]float32{1, 2}))
	line := "calibrate --fio off --data " + dir
	for _, c := range []struct{ line, want string }{
		{"calibrate", `required flag(s) "data" not set`},
		{line + " --file x --size 1GiB", "[file size] were all set"},
		{line + " --size 0", "want more than 0 bytes"},
		{line + " --size 4KiB", "want at least 1 MiB"},
		{line + " --expect-iops 0", "want a whole number from 1"},
		{line + " --sustained 0s", "want a time above 0"},
		{line + " --search-probes 1,x", "invalid argument"},
		{line + " --qps 5", "need --index"},
		{line + " --queries " + queries, "need --index"},
		{line + " --index b/i", "holds no store"},
		{line + " --index b/i --queries " + queries, "holds no store"},
		{line + " --index b/i --search-probes 0", "a cap of 0"},
	} {
		o := execute(words(c.line)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, c.want) || strings.Count(o.stderr, "\n") != 1 || o.stdout != "" {
			t.Errorf("%s: exit %d, %q, want %q", c.line, o.code, o.stderr, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What cannot be had is a failure.
func TestCalibrateFails(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ line, want string }{
		{"calibrate --fio off --data " + filepath.Join(dir, "missing"), "no such file"},
		{"calibrate --fio /nowhere/fio --data " + dir, "/nowhere/fio"},
		{"calibrate --fio off --data " + dir + " --index b/i --queries " + filepath.Join(dir, "none"), "no such file"},
	} {
		if o := execute(words(c.line)...); o.code != exitFailed || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: exit %d, %q, want %q", c.line, o.code, o.stderr, c.want)
		}
	}
}

// An interrupt ends it, at whatever moment it comes, and leaves nothing.
func TestCalibrateInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(200*time.Millisecond, cancel).Stop()
	o := executeContext(ctx, "calibrate", "--data", dir, "--fio", "off", "--size", "4MiB", "--memory-limit", "256MiB")
	if o.code != exitFailed || o.stdout != "" || !strings.Contains(o.stderr, "interrupted") {
		t.Errorf("exit %d, %q, %q", o.code, o.stdout, o.stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCalibrateExpected(t *testing.T) {
	var below *belowError
	r := &fio.Report{}
	if err := expected(r); err != nil {
		t.Error(err)
	}
	r.Expectation = &fio.Expectation{}
	if err := expected(r); err != nil {
		t.Error(err)
	}
	r.Expectation.Below = []string{"2000 IOPS of the 3000 expected", "50 MiB/s of the 125 expected"}
	if err := expected(r); !errors.As(err, &below) || (&cli{began: true}).exitCode(err) != exitBelow ||
		err.Error() != "calibrate: 2000 IOPS of the 3000 expected; 50 MiB/s of the 125 expected" {
		t.Errorf("error %v", err)
	}
}
