package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/internal/realdata"
)

// outcome is what one command line did.
type outcome struct {
	code           int
	stdout, stderr string
}

func execute(args ...string) outcome { return executeContext(context.Background(), args...) }

func executeContext(ctx context.Context, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := runContext(ctx, modest(args), &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// modest gives commands that open a store a memory limit if they have none: what
// a store sets aside by the machine's memory takes time on every opening.
func modest(args []string) []string {
	opens := []string{"demo", "build", "query", "stats", "trace", "verify", "drop"}
	if len(args) == 0 || !slices.Contains(opens, args[0]) || slices.Contains(args, "--memory-limit") || slices.Contains(args, "--addr") {
		return args
	}
	return append(slices.Clone(args), "--memory-limit", "256MiB")
}

// words splits a command line at spaces.
func words(line string) []string { return strings.Fields(line) }

// must executes a command line that has to succeed, and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	o := execute(args...)
	if o.code != exitDone {
		t.Fatalf("sprat %s: exit %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

// mustJSON is must for a command with --json: its output is one object.
func mustJSON(t *testing.T, args ...string) map[string]any {
	t.Helper()
	text := must(t, append(args, "--json")...)
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&object); err != nil || decoder.More() {
		t.Fatalf("sprat %s: not one JSON object (%v): %s", strings.Join(args, " "), err, text)
	}
	return object
}

// mustHave checks that an object has fields; "a.b" is field b of object a.
func mustHave(t *testing.T, object map[string]any, fields string) {
	t.Helper()
	for _, field := range words(fields) {
		outer, inner, nested := strings.Cut(field, ".")
		value, ok := object[outer]
		if nested {
			m, _ := value.(map[string]any)
			_, ok = m[inner]
		}
		if !ok {
			t.Errorf("no field %q in %v", field, object)
		}
	}
}

// put writes a file into the test's own folder and returns its path.
func put(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// le encodes fixed-size values one after another.
func le(values ...any) []byte {
	var b []byte
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

// fbin is the content of an .fbin file with these rows.
func fbin(rows ...[]float32) []byte {
	b := le(uint32(len(rows)), uint32(len(rows[0])))
	for _, row := range rows {
		b = append(b, le(row)...)
	}
	return b
}

// files are a real set on disk.
type files struct{ base, queries, keys string }

// setQueries is how many queries writeSet writes.
const setQueries = 40

// writeSet writes the first rows of a real set into a folder of the test.
func writeSet(t *testing.T, set realdata.Set, rows int) files {
	t.Helper()
	dir := t.TempDir()
	f := files{filepath.Join(dir, "base.fbin"), filepath.Join(dir, "query.fbin"), filepath.Join(dir, "keys.txt")}
	matrix := func(values []float32) *bench.Matrix {
		return &bench.Matrix{Rows: len(values) / set.Dim, Cols: set.Dim, Values: values}
	}
	err := errors.Join(bench.WriteFBin(f.base, matrix(set.Rows[:rows*set.Dim])), bench.WriteFBin(f.queries, matrix(set.Queries[:setQueries*set.Dim])),
		os.WriteFile(f.keys, []byte(strings.Join(set.Keys[:rows], "\n")+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
